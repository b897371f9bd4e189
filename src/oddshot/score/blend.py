"""Distances of several kinds on one scale, the logarithm standardised by the rows of a task, and distances to nearest
neighbours, which need no training on other tasks."""

import math
from dataclasses import dataclass, replace

import numpy as np

from oddshot.score.arrays import (
    Array,
    clip,
    float64,
    matmul,
    mean_of_smallest,
    namespace,
    squared_distances,
    swap,
    with_sign_of,
)
from oddshot.score.context import MAX_ABS_VALUE

MIN_DISTANCE = 1e-3  # added before the logarithm
# What is known of the standard deviation of the logarithms before any row: as much as so many rows tell.
PRIOR_ROWS, PRIOR_SPREAD = 20, 0.35
MIN_SPREAD = 0.1  # of a compressed column: where all rows known are alike, another value is far from them


@dataclass(frozen=True)
class LogStatistics:
    """Mean and standard deviation of the logarithms of distances: [..., 1] each."""

    mean: Array
    spread: Array

    def standardise(self, distance: Array) -> Array:
        """z(log d) in float64, 0 for infinite distances: [..., n] -> [..., n]."""
        xp, logs = namespace(distance), _log(distance)
        z = (logs - self.mean) / self.spread
        return xp.where(xp.isinf(logs), xp.zeros_like(z), z)

    def rescaled(self, location: float, unit: float) -> "LogStatistics":
        """Those with which the standardised logarithm is (z − location) / unit."""
        return LogStatistics(self.mean + location * self.spread, unit * self.spread)


def log_statistics(distance: Array) -> LogStatistics:
    """Of all distances that are finite, [..., n], in float64.

    Few rows hardly tell the standard deviation: it is shrunk towards a usual value.
    """
    xp, logs = namespace(distance), _log(distance)
    is_known = xp.isfinite(logs)
    zero = xp.zeros_like(logs)
    n = xp.sum(xp.astype(is_known, logs.dtype), axis=-1, keepdims=True)
    mean = xp.sum(xp.where(is_known, logs, zero), axis=-1, keepdims=True) / xp.maximum(n, xp.ones_like(n))
    squares = xp.sum(xp.where(is_known, (logs - mean) ** 2, zero), axis=-1, keepdims=True)
    return LogStatistics(mean, xp.sqrt((squares + PRIOR_ROWS * PRIOR_SPREAD**2) / (n + PRIOR_ROWS)))


@dataclass(frozen=True)
class NeighbourDistance:
    """The mean distance d to the k nearest reference rows, as w z(log d). reference: [..., B, M], compressed.

    own: [..., L], the same of the task's own rows, each hidden from itself.
    """

    reference: Array
    k: int
    statistics: LogStatistics
    weight: float

    def __call__(self, compressed: Array) -> Array:
        """Of compressed rows: [..., n, M] -> [..., n]."""
        return self.weight * self.statistics.standardise(mean_distance(compressed, self.reference, self.k))


@dataclass(frozen=True)
class NeighbourScore:
    """The sum of several distances. spread: [..., 1, M], of the background's columns when compressed."""

    spread: Array
    distances: tuple[NeighbourDistance, ...]

    def __call__(self, x: Array) -> Array:
        """x: [..., n, M] -> [..., n] in float64."""
        compressed = compress(x) / self.spread
        first, *others = [distance(compressed) for distance in self.distances]
        return sum(others, start=first)

    def divided(self, unit: float) -> "NeighbourScore":
        """The sum divided by a unit."""
        return NeighbourScore(self.spread, tuple(replace(one, weight=one.weight / unit) for one in self.distances))


def compress(x: Array) -> Array:
    """Values beyond a standard deviation become logarithms: in heavy-tailed columns, the tails would count alone."""
    xp, x = namespace(x), clip(x, -MAX_ABS_VALUE, MAX_ABS_VALUE)
    squares = x * x
    # asinh |x| = log(1 + |x| + x² / (1 + √(1 + x²)))
    return with_sign_of(xp.log1p(xp.abs(x) + squares / (1 + xp.sqrt(1 + squares))), x)


def column_spread(rows: Array) -> Array:
    """The standard deviation of each column, by which differences are divided: [..., n, M] -> [..., 1, M].

    Smaller where columns are constant, so that the mean of squared differences is that over the columns that vary.
    """
    xp = namespace(rows)
    varies = xp.any(rows != rows[..., :1, :], axis=-2, keepdims=True)
    share = xp.mean(xp.astype(varies, rows.dtype), axis=-1, keepdims=True)
    spread = clip(xp.std(rows, axis=-2, keepdims=True), MIN_SPREAD, math.inf)
    return spread * xp.sqrt(xp.where(share > 0, share, xp.ones_like(share)))


def mean_distance(x: Array, reference: Array, k: int, is_itself: Array | None = None) -> Array:
    """Mean distance to the k nearest reference rows, root mean square over columns, in float64.

    x: [..., n, M], reference: [..., B, M] -> [..., n]. is_itself: [..., n, B], true for pairs that are left out.
    """
    xp, squared = namespace(x), _squared_distances(x, reference)
    if is_itself is not None:
        squared = xp.where(is_itself, xp.asarray(math.inf, dtype=squared.dtype), squared)
    distances = xp.sqrt(squared)  # of which a graph does not know that there is one where there is one reference row
    return float64(xp.mean(distances, axis=-1) if k >= reference.shape[-2] else mean_of_smallest(distances, k))


def _squared_distances(x: Array, reference: Array) -> Array:
    """Mean squared differences by one matrix product: [..., n, M], [..., B, M] -> [..., n, B]."""
    if reference.shape[-1] == 1:  # many rows of one column lie so near that products would leave rounding errors only
        return (x - swap(reference)) ** 2
    xp, center = namespace(x), namespace(reference).mean(reference, axis=-2, keepdims=True)
    x, reference = x - center, reference - center  # rows far from 0 would cost digits
    squares = xp.sum(x * x, axis=-1)[..., None], xp.sum(reference * reference, axis=-1)[..., None, :]
    squared = squared_distances(matmul(x, swap(reference)), *squares)
    squared /= reference.shape[-1]
    return squared


def _log(distance: Array) -> Array:
    with np.errstate(divide="ignore"):
        return namespace(distance).log(float64(distance) + MIN_DISTANCE)
