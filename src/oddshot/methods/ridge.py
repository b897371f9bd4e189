"""`ridge+nearest`: ridge regression on the support plus the distance to its nearest normal row; nothing is learned."""

from dataclasses import dataclass

from array_api_compat import device

from oddshot.methods.contract import Method, Score
from oddshot.score.arrays import Array, float64, mean_of_smallest, namespace
from oddshot.score.projection import solve_ridge
from oddshot.score.relations import N_NEIGHBOURS
from oddshot.score.rows import LabelledRows


@dataclass(frozen=True)
class RidgeNearestConfig:
    """Nothing to set."""


class RidgeNearest(Method):
    """How far a row lies towards the anomalies, and how far from the normal rows."""

    name = "ridge+nearest"
    config_type = RidgeNearestConfig
    uses_unlabelled = True

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """Ridge on the centred support, λ the mean diagonal of its Gram matrix; without anomalies, distance alone.

        With unlabelled rows the distance is the mean one to the ten nearest of these and the normal rows.
        """
        self.check_support(support)
        xp, rows = namespace(support.normal), float64(support.joined())
        mean = xp.mean(rows, axis=-2, keepdims=True)
        z = rows - mean
        place = xp.arange(z.shape[-2], device=device(z))
        target = xp.astype(place >= support.n_normal, z.dtype)
        ridge = xp.mean(xp.sum(z * z, axis=-1), axis=-1)
        # Divided by ‖w‖ the ridge output is a length in the space of the rows, as the distance is: the two can be added
        # without a scale taken from the queries, so that a row's score does not depend on the rows beside it.
        w = solve_ridge(z, target - xp.mean(target), ridge + xp.astype(ridge == 0, z.dtype))
        length = xp.sqrt(xp.sum(w * w, axis=-1, keepdims=True))
        u = w / xp.where(length > 0, length, xp.ones_like(length))
        background = float64(support.normal)
        if unlabelled is not None:
            background = xp.concat([background, float64(unlabelled)], axis=-2)
        return RidgeNearestScore(u, mean, background, 1 if unlabelled is None else N_NEIGHBOURS)


@dataclass(frozen=True)
class RidgeNearestScore(Score):
    """a(x) = uᵀ (x − μ) + the mean distance to the k nearest rows of a background.

    u: [..., M] of length 1 or 0, mean: [..., 1, M], background: [..., B, M].
    """

    u: Array
    mean: Array
    background: Array
    k: int

    def __call__(self, x: Array) -> Array:
        """x: [..., n, M] -> [..., n] in float64."""
        xp, x = namespace(x), float64(x)
        along = ((x - self.mean) @ self.u[..., None])[..., 0]
        squared = sum(
            (x[..., j][..., None] - self.background[..., None, :, j]) ** 2 for j in range(x.shape[-1])
        )  # exactly: products would cancel for rows far from 0
        return along + mean_of_smallest(xp.sqrt(squared), self.k)
