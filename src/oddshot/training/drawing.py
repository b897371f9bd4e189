"""Rows drawn at random where the data lies: on a GPU the draws are as fast as the training step that waits for them."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.training.stepping import renewed


class Drawing:
    """Random episodes of the tasks of R replicas, the same distribution as `draw_episode`'s.

    X: the rows of all replicas. first_row: where in X each replica's block begins. matrices: [R, T, M, M], or None
    where tasks are not mixed. noise: on X's device.
    """

    def __init__(
        self,
        X: Tensor,
        pools: Sequence[TaskSet],
        first_row: Sequence[int],
        sizes: EpisodeSizes,
        matrices: Tensor | None,
        noise: torch.Generator,
    ) -> None:
        self.X, self.sizes, self.matrices, self.noise = X, sizes, matrices, noise

        def on_device(arrays: Sequence[np.ndarray]) -> Tensor:
            return torch.from_numpy(np.stack(arrays)).to(X.device)

        self.order = torch.from_numpy(
            np.concatenate([pool.order + first for pool, first in zip(pools, first_row, strict=True)])
        ).to(X.device)
        begins = np.cumsum([0] + [len(pool.order) for pool in pools])[:-1]
        self.start = on_device(
            [
                np.stack([pool.normal_start, pool.anomaly_start], axis=1) + begin
                for pool, begin in zip(pools, begins, strict=True)
            ]
        )  # [R, T, 2]
        self.count = on_device([np.stack([pool.normal_count, pool.anomaly_count], axis=1) for pool in pools])
        self.replicas = torch.arange(len(pools), device=X.device)[:, None]

    def __call__(self, tasks: Tensor) -> Tensor:
        """tasks: [R, B]. Returns [R, B, n, M]: support normal, support anomalous, query normal, query anomalous."""
        sizes = self.sizes
        start, count = self.start[self.replicas, tasks], self.count[self.replicas, tasks]
        normal = start[..., :1] + draw_without_replacement(count[..., 0], sizes.normal, self.noise)
        anomaly = start[..., 1:] + draw_without_replacement(count[..., 1], sizes.anomaly, self.noise)
        n, a = sizes.support_normal, sizes.support_anomaly
        places = torch.cat([normal[..., :n], anomaly[..., :a], normal[..., n:], anomaly[..., a:]], dim=-1)
        rows = self.X[self.order[places]]
        return rows if self.matrices is None else rows @ self.matrices[self.replicas, tasks]

    def renew_noise(self) -> None:
        """After a recording of this broke."""
        self.noise = renewed(self.noise)


def draw_without_replacement(count: Tensor, size: int, noise: torch.Generator) -> Tensor:
    """`size` different numbers below each count, in random order. count: [...], none below size -> [..., size].

    Floyd's algorithm, as in `data.episodes`, over all counts at once.
    """
    uniform = torch.rand(*count.shape, size, 2, dtype=torch.float64, device=count.device, generator=noise)
    chosen = torch.full((*count.shape, size), -1, device=count.device)
    for k in range(size):
        last = count - size + k
        candidate = (uniform[..., k, 0] * (last + 1)).long()
        taken = (chosen == candidate.unsqueeze(-1)).any(-1)
        chosen[..., k] = torch.where(taken, last, candidate)
    # Floyd gives every set the same chance, but not every order.
    return chosen.gather(-1, uniform[..., 1].argsort(-1))
