"""Episodes of many tasks as tensors on one device: here the NumPy data meets torch."""

import copy
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from oddshot.data.episodes.mixing import IntArray
from oddshot.data.episodes.sampling import EpisodeSizes, SamplingRule, TaskSet, draw_episode
from oddshot.score.rows import LabelledRows
from oddshot.training.cuda_graphs import CudaGraphsByShape
from oddshot.training.device_sampling import DeviceSampler

MAX_MIXING_BYTES = 256 * 2**20  # of the mixing matrices that are computed at a time
MIN_VALIDATION_EPISODES = 64


class Episodes:
    """The rows of the tasks of R replicas on one device, and episodes of them as tensors.

    task_sets: the tasks of each replica. generator: samples the rows on the device, of which it must be a generator,
    without a transfer for each batch. This pays off if many episodes are drawn on a GPU; it keeps all mixing matrices
    in the device's memory.
    """

    def __init__(
        self,
        task_sets: Sequence[TaskSet],
        sizes: EpisodeSizes,
        rule: SamplingRule,
        device: torch.device,
        generator: torch.Generator | None = None,
    ) -> None:
        blocks = list({id(tasks.X): tasks.X for tasks in task_sets}.values())  # replicas may share their rows
        starts = np.cumsum([0] + [len(block) for block in blocks])
        self.first_row = [int(starts[next(i for i, b in enumerate(blocks) if b is tasks.X)]) for tasks in task_sets]
        self.X = torch.from_numpy(np.concatenate(blocks)).to(device)
        self.task_sets, self.sizes, self.rule = task_sets, sizes, rule
        self._published: Tensor | None = None  # [R, T, n, M], the rows of all tasks under the published rule
        self._sample_on_device: Callable[[Tensor], Tensor] | None = None
        self._sampler: DeviceSampler | None = None
        if generator is not None and rule == "resampled":
            matrices = self._all_mixing_matrices()
            self._set_sampler(DeviceSampler(self.X, task_sets, self.first_row, sizes, matrices, generator))

    def subset(self, which: Tensor) -> "Episodes":
        """Episodes of some replicas, with nothing computed anew. which: [n], their indices, on the device."""
        chosen = copy.copy(self)
        indices = which.tolist()
        chosen.task_sets = [self.task_sets[r] for r in indices]
        chosen.first_row = [self.first_row[r] for r in indices]
        chosen._published = None if self._published is None else self._published[which]
        if self._sampler is not None:
            chosen._set_sampler(self._sampler.subset(which))
        return chosen

    def _set_sampler(self, sampler: DeviceSampler) -> None:
        self._sampler = self._sample_on_device = sampler
        if self.X.device.type == "cuda":
            self._sample_on_device = CudaGraphsByShape(
                sampler, sampler.generator, on_capture_failure=sampler.replace_generator
            )

    @property
    def all_tasks(self) -> list[IntArray]:
        """The indices of all tasks of each replica: R arrays [T]."""
        return [np.arange(len(tasks)) for tasks in self.task_sets]

    def draw(self, tasks: Sequence[IntArray], rngs: Sequence[np.random.Generator]) -> tuple[LabelledRows, LabelledRows]:
        """Support and query of one episode of each task. tasks: R arrays [T] of indices; rngs: one of each replica."""
        if self.rule == "published":
            rows = self._published_rows(tasks)
        elif self._sample_on_device is not None:
            rows = self._sample_on_device(self._stacked(tasks))
        else:
            rows = self._sampled_rows(tasks, rngs)
        sizes = self.sizes
        parts = rows.split(
            [sizes.support_normal, sizes.support_anomaly, sizes.query_normal, sizes.query_anomaly], dim=2
        )
        return LabelledRows(parts[0], parts[1]), LabelledRows(parts[2], parts[3])

    def _published_rows(self, tasks: Sequence[IntArray]) -> Tensor:
        """[R, T, n, M] under the published rule: all episodes of a task have the same rows, which are mixed once."""
        if self._published is None:
            unused = [np.random.default_rng(0) for _ in self.task_sets]
            self._published = self._sampled_rows(self.all_tasks, unused)
        replicas = torch.arange(len(tasks), device=self.X.device)[:, None]
        return self._published[replicas, self._stacked(tasks)]

    def _sampled_rows(self, tasks: Sequence[IntArray], rngs: Sequence[np.random.Generator]) -> Tensor:
        """[R, T, n, M]: normal and anomalous support rows, then normal and anomalous query rows, of new episodes."""
        sampled = [
            np.concatenate(draw_episode(task_set, chosen, self.sizes, self.rule, rng), axis=1) + first
            for task_set, chosen, rng, first in zip(self.task_sets, tasks, rngs, self.first_row, strict=True)
        ]
        rows = self.X[self._stacked(sampled)]
        if any(task_set.mixing is None for task_set in self.task_sets):
            return rows
        step = self._tasks_per_mixing_batch()
        starts = range(0, len(tasks[0]), step)
        parts = [rows[:, i : i + step] @ self._mixing([chosen[i : i + step] for chosen in tasks]) for i in starts]
        return torch.cat(parts, dim=1)

    def _mixing(self, tasks: Sequence[IntArray]) -> Tensor:
        """The mixing matrices of these tasks: [R, T, M, M]."""
        chosen = [(each.mixing, indices) for each, indices in zip(self.task_sets, tasks, strict=True) if each.mixing]
        if self.X.device.type == "cpu":
            return torch.from_numpy(np.stack([mixing(indices) for mixing, indices in chosen]))
        # The standard deviations are a product of M x M matrices, by far most of the work: it is done on the GPU.
        matrices = self._stacked([mixing.draw(indices) for mixing, indices in chosen])
        spread = (self._stacked([mixing.L for mixing, _ in chosen]).unsqueeze(1) @ matrices).norm(dim=2, keepdim=True)
        return matrices.div_(torch.where(spread > 0, spread, 1.0))

    def _all_mixing_matrices(self) -> Tensor | None:
        """[R, T, M, M] of all tasks, computed in batches; None if tasks are not mixed."""
        if any(tasks.mixing is None for tasks in self.task_sets):
            return None
        n_tasks, M = len(self.task_sets[0]), self.X.shape[1]
        out = self.X.new_empty(len(self.task_sets), n_tasks, M, M)
        step = self._tasks_per_mixing_batch()
        for start in range(0, n_tasks, step):
            batch = np.arange(start, min(start + step, n_tasks))
            out[:, start : start + step] = self._mixing([batch] * len(self.task_sets))
        return out

    def _tasks_per_mixing_batch(self) -> int:
        """How many tasks of each replica have mixing matrices that fit into MAX_MIXING_BYTES, at least one."""
        return max(1, MAX_MIXING_BYTES // (len(self.task_sets) * self.X.shape[1] ** 2 * self.X.element_size()))

    def _stacked(self, arrays: Sequence[np.ndarray]) -> Tensor:
        """Arrays of the replicas, all of one shape, stacked on the device."""
        return torch.from_numpy(np.stack(arrays)).to(self.X.device)


def validation_episodes(
    task_sets: Sequence[TaskSet],
    sizes: EpisodeSizes,
    rule: SamplingRule,
    device: torch.device,
    streams: Sequence[np.random.SeedSequence],
    min_episodes: int = MIN_VALIDATION_EPISODES,
) -> tuple[LabelledRows, LabelledRows]:
    """Support and query of fixed episodes of all tasks.

    If there are fewer tasks than `min_episodes` and rows are resampled, several episodes of each task are drawn.
    streams: the seed of each replica.
    """
    repeats = 1 if rule == "published" else -(-min_episodes // len(task_sets[0]))
    tasks = [np.tile(np.arange(len(each)), repeats) for each in task_sets]
    return Episodes(task_sets, sizes, rule, device).draw(tasks, [np.random.default_rng(stream) for stream in streams])
