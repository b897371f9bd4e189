"""`ridge+nearest`: ridge regression on the support plus the distance to its nearest normal row; nothing is learned."""

from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows, Method, Score
from oddshot.model.ridge import solve_ridge

N_NEIGHBOURS = 10  # among unlabelled and normal rows, where there are unlabelled ones


@dataclass(frozen=True)
class RidgeNearestConfig:
    """Nothing to set."""


class RidgeNearest(Method):
    """How far a row lies towards the anomalies, and how far from the normal rows."""

    name = "ridge+nearest"
    config_type = RidgeNearestConfig
    uses_unlabelled = True

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> Score:
        """Ridge on the centred support, λ the mean diagonal of its Gram matrix; without anomalies, distance alone.

        With unlabelled rows the distance is the mean one to the ten nearest of these and the normal rows.
        """
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
        return RidgeNearestScore(u, mean, background, min(N_NEIGHBOURS, background.shape[2]))


@dataclass(frozen=True)
class RidgeNearestScore(Score):
    """a(x) = uᵀ (x − μ) + the mean distance to the k nearest rows of a background.

    u: [R, T, M] of length 1 or 0, mean: [R, T, M], background: [R, T, B, M].
    """

    u: Tensor
    mean: Tensor
    background: Tensor
    k: int = 1

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M] -> [R, T, N] in float64."""
        x = x.double()
        along = ((x - self.mean.unsqueeze(2)) @ self.u.unsqueeze(-1)).squeeze(-1)
        exact = "donot_use_mm_for_euclid_dist"  # the faster way cancels for rows far from 0
        distance = torch.cdist(x, self.background, compute_mode=exact)
        return along + distance.topk(self.k, dim=-1, largest=False).values.mean(-1)
