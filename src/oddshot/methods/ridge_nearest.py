"""`ridge+nearest`: ridge regression on the support plus the distance to its nearest normal row; nothing is learned."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from oddshot.methods.contract import Method, LabelledRows, ScoreFunction
from oddshot.methods.r2d2 import solve_ridge

NEIGHBOURS = 10  # among unlabelled and normal rows, where there are unlabelled ones


@dataclass(frozen=True)
class RidgeNearestConfig:
    """Nothing to set."""


@dataclass(frozen=True)
class RidgeNearestScore:
    """a(x) = uᵀ (x − μ) + the mean distance to the k nearest rows of a background.

    u: [R, T, M] of length 1 or 0, mean: [R, T, M], background: [R, T, b, M].
    """

    u: Tensor
    mean: Tensor
    background: Tensor
    k: int = 1

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M]. Returns [R, T, N] in float64."""
        x = x.double()
        along = ((x - self.mean.unsqueeze(2)) @ self.u.unsqueeze(-1)).squeeze(-1)
        exact = "donot_use_mm_for_euclid_dist"  # the faster way cancels for rows far from 0
        distance = torch.cdist(x, self.background, compute_mode=exact)
        return along + distance.topk(self.k, dim=-1, largest=False).values.mean(-1)


class RidgeNearest(Method):
    """How far a row lies towards the anomalies, and how far from the normal rows."""

    name = "ridge+nearest"
    config_type = RidgeNearestConfig

    def __init__(self, n_attributes: int, config: Any, replicas: int = 1) -> None:
        super().__init__(n_attributes, config, replicas)

    def adapt(self, support: LabelledRows) -> ScoreFunction:
        """Ridge on the centred support, λ the mean diagonal of its Gram matrix; without anomalies, distance alone."""
        return self.adapt_with(support, None)

    def adapt_with(self, support: LabelledRows, unlabelled: Tensor | None) -> ScoreFunction:
        """With unlabelled rows the distance is the mean one to the ten nearest of these and the normal rows."""
        self.check_support(support)
        rows = support.joined().double()
        mean = rows.mean(2)
        z = rows - mean.unsqueeze(2)
        target = z.new_zeros(z.shape[2])
        target[support.normal.shape[2] :] = 1.0
        ridge = z.square().sum(-1).mean(-1)
        # Divided by ‖w‖ the ridge output is a length in the space of the rows, as the distance is: the two can be added
        # without a scale taken from the queries, so that a row's score does not depend on the rows beside it.
        w = solve_ridge(z, target - target.mean(), ridge + (ridge == 0))
        length = torch.linalg.vector_norm(w, dim=-1, keepdim=True)
        u = w / torch.where(length > 0, length, 1.0)
        if unlabelled is None:
            return RidgeNearestScore(u, mean, support.normal.double())
        background = torch.cat([support.normal, unlabelled], dim=2).double()
        return RidgeNearestScore(u, mean, background, min(NEIGHBOURS, background.shape[2]))
