"""The proposed method written down straightforwardly: a loop over tasks, and `eigh` of J × J matrices (Eqs. 1-9)."""

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

SUPPORT, QUERY = (5, 1), (25, 5)  # normal and anomalous rows


def network(sizes: list[int], bias: bool = True) -> nn.Sequential:
    """Linear layers with ReLU and dropout between them."""
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out, bias=bias), nn.ReLU(), nn.Dropout(0.1)]
    return nn.Sequential(*layers[:-2])


class Reference(nn.Module):
    """f, g, φ, a centre and η; one task at a time."""

    def __init__(self, n_attributes: int, units: int = 256) -> None:
        super().__init__()
        self.f = network([n_attributes + 1, units, units])
        self.g = network([units, units, units])
        self.phi = network([n_attributes + units, units, units, units], bias=False)
        self.log_eta = nn.Parameter(torch.zeros(()))
        self.center = torch.zeros(units)

    def loss(self, support: Tensor, query: Tensor) -> Tensor:
        """Minus the smooth AUC of the queries (Eq. 9); normal rows come first."""
        labels = torch.tensor([0.0] * SUPPORT[0] + [1.0] * SUPPORT[1])
        r = self.g(self.f(torch.cat([support, labels[:, None]], dim=1)).mean(0))
        z = self.embed(support, r)
        w = self.projection(z[: SUPPORT[0]], z[SUPPORT[0] :])
        scores = (self.embed(query, r) @ w).square()
        return -torch.sigmoid(scores[QUERY[0] :, None] - scores[None, : QUERY[0]]).mean()

    def embed(self, x: Tensor, r: Tensor) -> Tensor:
        """φ([x, r]) − c: [n, J]."""
        z: Tensor = self.phi(torch.cat([x, r.expand(len(x), -1)], dim=1)) - self.center
        return z

    def projection(self, z_normal: Tensor, z_anomaly: Tensor) -> Tensor:
        """The top eigenvector of S_N⁻¹ S_A (Eqs. 3-6), of length 1."""
        J = z_normal.shape[1]
        S_N = z_normal.T @ z_normal / len(z_normal) + self.log_eta.exp() * torch.eye(J)
        S_A = z_anomaly.T @ z_anomaly / len(z_anomaly)
        L = torch.linalg.cholesky(S_N)
        half = torch.linalg.solve_triangular(L, S_A, upper=False)
        whitened = torch.linalg.solve_triangular(L, half.T, upper=False)
        v = torch.linalg.eigh(whitened).eigenvectors[:, -1:]
        w: Tensor = torch.linalg.solve_triangular(L.T, v, upper=True).squeeze(1)
        unit: Tensor = w / w.norm()
        return unit


def train_step(
    model: Reference,
    optimizer: torch.optim.Optimizer,
    X: NDArray[np.float64],
    y: NDArray[np.int8],
    matrices: NDArray[np.float64],
    rng: np.random.Generator,
) -> None:
    """One step over a batch of tasks. matrices: [T, M, M], what mixes the rows of each task."""
    optimizer.zero_grad()
    for A in matrices:
        mixed = X @ A
        mixed = (mixed - mixed.mean(0)) / mixed.std(0)
        drawn = [rng.permutation(np.flatnonzero(y == label)) for label in (0, 1)]
        ends = [(0, *np.cumsum([SUPPORT[label], QUERY[label]])) for label in (0, 1)]
        support, query = (
            np.concatenate([rows[end[k] : end[k + 1]] for rows, end in zip(drawn, ends, strict=True)]) for k in (0, 1)
        )
        loss = model.loss(*(torch.from_numpy(mixed[rows]).float() for rows in (support, query)))
        (loss / len(matrices)).backward()
    optimizer.step()
