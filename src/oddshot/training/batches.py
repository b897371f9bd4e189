"""The rows of many tasks on one device, and episodes of them as tensors: here the NumPy data meets torch."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from oddshot.data.episodes.mixing import IntArray
from oddshot.data.episodes.sampling import EpisodeSizes, SamplingRule, TaskSet, draw_episode
from oddshot.methods.contract import LabelledRows
from oddshot.training.drawing import Drawing
from oddshot.training.stepping import Recordings

MIXING_BYTES = 256 * 2**20  # of mixing matrices at a time, however many attributes there are


class Episodes:
    """The rows of the tasks of R replicas on one device, and episodes of them as tensors.

    noise: draw the rows on its device, which must be the same, and there only: no row number crosses the bus. It pays
    where many episodes are drawn on a GPU; all mixing matrices are kept there for it.
    """

    def __init__(
        self,
        pools: Sequence[TaskSet],
        sizes: EpisodeSizes,
        rule: SamplingRule,
        device: torch.device,
        noise: torch.Generator | None = None,
    ) -> None:
        blocks = list({id(pool.X): pool.X for pool in pools}.values())
        starts = np.cumsum([0] + [len(block) for block in blocks])
        self.first_row = [int(starts[next(i for i, b in enumerate(blocks) if b is pool.X)]) for pool in pools]
        self.X = torch.from_numpy(np.concatenate(blocks)).to(device)
        self.pools, self.sizes, self.rule = pools, sizes, rule
        self._mixed: Tensor | None = None  # [R, T, n, M], every task's rows where they never change
        self._draw_on_device: Callable[[Tensor], Tensor] | None = None
        if noise is not None and rule == "resampled":
            drawing = Drawing(self.X, pools, self.first_row, sizes, self._all_matrices(), noise)
            on_cuda = device.type == "cuda"
            self._draw_on_device = Recordings(drawing, noise, on_refusal=drawing.renew_noise) if on_cuda else drawing

    @property
    def all_tasks(self) -> list[IntArray]:
        """The numbers of all tasks of each replica: R arrays [T]."""
        return [np.arange(len(pool)) for pool in self.pools]

    def draw(self, tasks: Sequence[IntArray], rngs: Sequence[np.random.Generator]) -> tuple[LabelledRows, LabelledRows]:
        """Support and query of one episode a task. tasks: R arrays [T] of task numbers."""
        if self.rule == "published":
            rows = self._fixed_rows(tasks)
        elif self._draw_on_device is not None:
            rows = self._draw_on_device(self._stacked(tasks))
        else:
            rows = self._drawn_rows(tasks, rngs)
        sizes = self.sizes
        parts = rows.split(
            [sizes.support_normal, sizes.support_anomaly, sizes.query_normal, sizes.query_anomaly], dim=2
        )
        return LabelledRows(parts[0], parts[1]), LabelledRows(parts[2], parts[3])

    def _fixed_rows(self, tasks: Sequence[IntArray]) -> Tensor:
        """[R, T, n, M] where every episode of a task has the same rows: they are mixed only once."""
        if self._mixed is None:
            unused = [np.random.default_rng(0) for _ in self.pools]
            self._mixed = self._drawn_rows(self.all_tasks, unused)
        replicas = torch.arange(len(tasks), device=self.X.device)[:, None]
        return self._mixed[replicas, self._stacked(tasks)]

    def _drawn_rows(self, tasks: Sequence[IntArray], rngs: Sequence[np.random.Generator]) -> Tensor:
        """[R, T, n, M]: support normal, support anomalous, query normal, query anomalous rows of new episodes."""
        drawn = [
            np.concatenate(draw_episode(pool, chosen, self.sizes, self.rule, rng), axis=1) + first
            for pool, chosen, rng, first in zip(self.pools, tasks, rngs, self.first_row, strict=True)
        ]
        rows = self.X[self._stacked(drawn)]
        if any(pool.mixing is None for pool in self.pools):
            return rows
        M = rows.shape[-1]
        step = max(1, MIXING_BYTES // (len(tasks) * M * M * rows.element_size()))
        starts = range(0, len(tasks[0]), step)
        parts = [rows[:, i : i + step] @ self._mixing([chosen[i : i + step] for chosen in tasks]) for i in starts]
        return torch.cat(parts, dim=1)

    def _mixing(self, tasks: Sequence[IntArray]) -> Tensor:
        """[R, T, M, M]."""
        chosen = [(pool.mixing, numbers) for pool, numbers in zip(self.pools, tasks, strict=True) if pool.mixing]
        if self.X.device.type == "cpu":
            return torch.from_numpy(np.stack([mixing(numbers) for mixing, numbers in chosen]))
        # The z-score is a product of M x M matrices, by far the larger part of the work: the GPU's.
        matrices = self._stacked([mixing.draw(numbers) for mixing, numbers in chosen])
        spread = (self._stacked([mixing.L for mixing, _ in chosen]).unsqueeze(1) @ matrices).norm(dim=2, keepdim=True)
        return matrices.div_(torch.where(spread > 0, spread, 1.0))

    def _all_matrices(self) -> Tensor | None:
        """[R, T, M, M] of all tasks, made few at a time; None where tasks are not mixed."""
        if any(pool.mixing is None for pool in self.pools):
            return None
        n_tasks, M = len(self.pools[0]), self.X.shape[1]
        out = self.X.new_empty(len(self.pools), n_tasks, M, M)
        step = max(1, MIXING_BYTES // (len(self.pools) * M * M * out.element_size()))
        for start in range(0, n_tasks, step):
            some = np.arange(start, min(start + step, n_tasks))
            out[:, start : start + step] = self._mixing([some] * len(self.pools))
        return out

    def _stacked(self, arrays: Sequence[np.ndarray]) -> Tensor:
        """Equal arrays of the replicas, stacked, on the device."""
        return torch.from_numpy(np.stack(arrays)).to(self.X.device)


def validation_episodes(
    pools: Sequence[TaskSet],
    sizes: EpisodeSizes,
    rule: SamplingRule,
    device: torch.device,
    streams: Sequence[np.random.SeedSequence],
    min_episodes: int = 64,
) -> tuple[LabelledRows, LabelledRows]:
    """Fixed episodes, at least `min_episodes` in all: several a task where there are few tasks and rows are drawn."""
    repeats = 1 if rule == "published" else -(-min_episodes // len(pools[0]))
    tasks = [np.tile(np.arange(len(pool)), repeats) for pool in pools]
    return Episodes(pools, sizes, rule, device).draw(tasks, [np.random.default_rng(stream) for stream in streams])
