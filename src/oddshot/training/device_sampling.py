"""Sampling of episodes on the device that holds the rows: on a GPU this is as fast as the training step."""

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.training.cuda_graphs import replacement_generator


class DeviceSampler:
    """Random episodes of the tasks of R replicas, with the same distribution as those of `draw_episode`.

    X: [n, M], the rows of all replicas. first_row: the position in X of each replica's first row. matrices: the mixing
    matrices of all tasks, [R, T, M, M], or None if tasks are not mixed. generator: on the device of X.
    """

    def __init__(
        self,
        X: Tensor,
        task_sets: Sequence[TaskSet],
        first_row: Sequence[int],
        sizes: EpisodeSizes,
        matrices: Tensor | None,
        generator: torch.Generator,
    ) -> None:
        self.X, self.sizes, self.matrices, self.generator = X, sizes, matrices, generator

        def on_device(arrays: Sequence[np.ndarray]) -> Tensor:
            return torch.from_numpy(np.stack(arrays)).to(X.device)

        self.order = torch.from_numpy(
            np.concatenate([tasks.order + first for tasks, first in zip(task_sets, first_row, strict=True)])
        ).to(X.device)
        offsets = np.cumsum([0] + [len(tasks.order) for tasks in task_sets])[:-1]
        self.start = on_device(
            [
                np.stack([tasks.normal_start, tasks.anomaly_start], axis=1) + offset
                for tasks, offset in zip(task_sets, offsets, strict=True)
            ]
        )  # [R, T, 2]
        self.count = on_device([np.stack([tasks.normal_count, tasks.anomaly_count], axis=1) for tasks in task_sets])
        self.replicas = torch.arange(len(task_sets), device=X.device)[:, None]

    def __call__(self, tasks: Tensor) -> Tensor:
        """Draw one episode of each task. tasks: [R, B], indices.

        Returns [R, B, n, M]: normal support rows, anomalous support rows, normal query rows, anomalous query rows.
        """
        sizes = self.sizes
        start, count = self.start[self.replicas, tasks], self.count[self.replicas, tasks]
        normal = start[..., :1] + draw_without_replacement(count[..., 0], sizes.normal, self.generator)
        anomaly = start[..., 1:] + draw_without_replacement(count[..., 1], sizes.anomaly, self.generator)
        n, a = sizes.support_normal, sizes.support_anomaly
        positions = torch.cat([normal[..., :n], anomaly[..., :a], normal[..., n:], anomaly[..., a:]], dim=-1)
        rows = self.X[self.order[positions]]
        return rows if self.matrices is None else rows @ self.matrices[self.replicas, tasks]

    def subset(self, which: Tensor) -> "DeviceSampler":
        """Episodes of some replicas. which: [n], their indices, on the device."""
        chosen = copy.copy(self)
        chosen.start, chosen.count = self.start[which], self.count[which]
        chosen.matrices = None if self.matrices is None else self.matrices[which]
        chosen.replicas = self.replicas[: len(which)]
        return chosen

    def replace_generator(self) -> None:
        """Draw from another generator after a CUDA graph of this sampler could not be captured."""
        self.generator = replacement_generator(self.generator)


def draw_without_replacement(count: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """`size` different numbers from 0 to count - 1 in random order. count: [...], each at least size -> [..., size].

    Floyd's algorithm, as in `data.episodes`, for all counts at once.
    """
    uniform = torch.rand(2, size, *count.shape, dtype=torch.float64, device=count.device, generator=generator)
    places = torch.arange(size, device=count.device).view(-1, *[1] * count.dim())
    last = count - size + places  # [size, ...]
    candidates = (uniform[0] * (last + 1)).long()
    chosen = candidates.clone()
    for k in range(1, size):  # few operations: on a GPU the time is that of their launches
        is_taken = (chosen[:k] == candidates[k]).any(0)
        torch.where(is_taken, last[k], candidates[k], out=chosen[k])
    # Floyd's algorithm makes all sets equally likely, but not all orders.
    return chosen.gather(0, uniform[1].argsort(0)).movedim(0, -1)
