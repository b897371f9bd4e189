"""The rows of many tasks on one device, and episodes of them as tensors: here the NumPy data meets torch."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from oddshot.data.episodes import EpisodeSizes, Ints, Rule, TaskSet, draw_episode
from oddshot.methods.contract import Rows

MIXING_BYTES = 256 * 2**20  # of mixing matrices at a time, however many attributes there are


class Episodes:
    """The rows of the tasks of R replicas on one device, and episodes of them as tensors."""

    def __init__(self, pools: Sequence[TaskSet], sizes: EpisodeSizes, rule: Rule, device: torch.device) -> None:
        blocks = list({id(pool.X): pool.X for pool in pools}.values())
        starts = np.cumsum([0] + [len(block) for block in blocks])
        self.first_row = [int(starts[next(i for i, b in enumerate(blocks) if b is pool.X)]) for pool in pools]
        self.X = torch.from_numpy(np.concatenate(blocks)).to(device)
        self.pools, self.sizes, self.rule = pools, sizes, rule
        self._mixed: Tensor | None = None  # [R, T, n, M], every task's rows where they never change

    def draw(self, tasks: Sequence[Ints], rngs: Sequence[np.random.Generator]) -> tuple[Rows, Rows]:
        """Support and query of one episode a task. tasks: R arrays [T] of task numbers."""
        rows = self._fixed_rows(tasks) if self.rule == "published" else self._drawn_rows(tasks, rngs)
        sizes = self.sizes
        parts = rows.split(
            [sizes.support_normal, sizes.support_anomaly, sizes.query_normal, sizes.query_anomaly], dim=2
        )
        return Rows(parts[0], parts[1]), Rows(parts[2], parts[3])

    def _fixed_rows(self, tasks: Sequence[Ints]) -> Tensor:
        """[R, T, n, M] where every episode of a task has the same rows: they are mixed only once."""
        if self._mixed is None:
            everyone = [np.arange(len(pool)) for pool in self.pools]
            unused = [np.random.default_rng(0) for _ in self.pools]
            chunks = zip(*(np.array_split(numbers, -(-len(numbers) // 32)) for numbers in everyone), strict=True)
            self._mixed = torch.cat([self._drawn_rows(chunk, unused) for chunk in chunks], dim=1)
        replicas = torch.arange(len(tasks), device=self.X.device)[:, None]
        return self._mixed[replicas, torch.from_numpy(np.stack(tasks)).to(self.X.device)]

    def _drawn_rows(self, tasks: Sequence[Ints], rngs: Sequence[np.random.Generator]) -> Tensor:
        """[R, T, n, M]: support normal, support anomalous, query normal, query anomalous rows of new episodes."""
        drawn = [
            np.concatenate(draw_episode(pool, chosen, self.sizes, self.rule, rng), axis=1) + first
            for pool, chosen, rng, first in zip(self.pools, tasks, rngs, self.first_row, strict=True)
        ]
        rows = self.X[torch.from_numpy(np.stack(drawn)).to(self.X.device)]
        if any(pool.mixing is None for pool in self.pools):
            return rows
        M = rows.shape[-1]
        step = max(1, MIXING_BYTES // (len(tasks) * M * M * rows.element_size()))
        starts = range(0, len(tasks[0]), step)
        parts = [rows[:, i : i + step] @ self._mixing([chosen[i : i + step] for chosen in tasks]) for i in starts]
        return torch.cat(parts, dim=1)

    def _mixing(self, tasks: Sequence[Ints]) -> Tensor:
        """[R, T, M, M]."""
        matrices = [pool.mixing(chosen) for pool, chosen in zip(self.pools, tasks, strict=True) if pool.mixing]
        return torch.from_numpy(np.stack(matrices)).to(self.X.device)


def validation_episodes(
    pools: Sequence[TaskSet],
    sizes: EpisodeSizes,
    rule: Rule,
    device: torch.device,
    streams: Sequence[np.random.SeedSequence],
    least: int = 64,
) -> tuple[Rows, Rows]:
    """Fixed episodes, at least `least` in all: several a task where there are few tasks and rows are drawn."""
    repeats = 1 if rule == "published" else -(-least // len(pools[0]))
    tasks = [np.tile(np.arange(len(pool)), repeats) for pool in pools]
    return Episodes(pools, sizes, rule, device).draw(tasks, [np.random.default_rng(stream) for stream in streams])
