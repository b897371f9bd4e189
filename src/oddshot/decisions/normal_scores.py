"""The distribution of the scores of a task's normal rows, as one rising curve: which score has which normal quantile.

What was learned on other tasks counts like some rows; the task's own normal rows, scored by leave-one-out, count beside
it, so that the curve is theirs where they are many. All thresholds and rates are read off the same curve.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from oddshot.score.arrays import Array, clip, namespace
from oddshot.score.auc import sigmoid

N_SHAPE = 4  # numbers that determine an expected distribution
KNOTS = np.linspace(-4.0, 6.0, 101)  # normal quantiles at which it is computed
PRIOR_ROWS = 20.0  # as many as what was learned on other tasks counts like
FEW_ROWS = 5.0  # so many own rows have half of their weight each: scores of very few rows are not those of new ones
MIN_SKEWNESS = 1e-4  # smaller ones cannot be told from it
MAX_SKEWNESS, MAX_TAIL, MAX_LOG_SPREAD = 1.5, 0.5, 4.0
MIN_STEP = 1e-9  # between scores, so that the curve rises

FloatArray = NDArray[np.float64]


def expected_quantiles(shape: Array, z: Array) -> Array:
    """Scores at normal quantiles z: [T, N_SHAPE], [K] -> [T, K], rising in z.

    shape: median, logarithm of the spread, and skewness and weight of the tails of Tukey's g-and-h distribution.
    """
    xp = namespace(shape)
    median, spread, skewness, tail = (shape[:, k, None] for k in range(N_SHAPE))
    g, h = MAX_SKEWNESS * xp.tanh(skewness), MAX_TAIL * sigmoid(tail)
    g = xp.where(xp.abs(g) < MIN_SKEWNESS, xp.full_like(g, MIN_SKEWNESS), g)
    spread = xp.exp(clip(spread, -MAX_LOG_SPREAD, MAX_LOG_SPREAD))
    return median + spread * xp.expm1(g * z) / g * xp.exp(h * z * z / 2)


@dataclass(frozen=True)
class NormalScores:
    """scores: [K] and their normal quantiles: [K], both rising."""

    scores: FloatArray
    quantiles: FloatArray

    @classmethod
    def combine(cls, expected: FloatArray, own: FloatArray) -> "NormalScores":
        """expected: [KNOTS], scores at these quantiles, rising; own: [n], leave-one-out scores of normal rows."""
        weight = len(own) / (len(own) + FEW_ROWS)
        different, counts = np.unique(own, return_counts=True)
        scores = np.union1d(expected, different)
        above = normal_share_above(np.interp(scores, expected, KNOTS))
        if len(own):
            share = 1 - (counts.cumsum() - counts / 2) / len(own)
            of_own = np.interp(scores, different, share, left=1.0)
            of_own *= np.minimum(above / above[scores == different[-1]], 1)  # a tail like the expected one
            above = (PRIOR_ROWS * above + weight * len(own) * of_own) / (PRIOR_ROWS + weight * len(own))
        return cls(scores, normal_quantile(above))

    def score_at(self, quantile: float) -> float:
        """The score of this normal quantile, at least the lowest; beyond the highest, scores grow exponentially."""
        beyond = np.expm1(max(quantile - self.quantiles[-1], 0.0))
        return float(np.interp(quantile, self.quantiles, self.scores) + self._unit * beyond)

    def quantile_of(self, scores: FloatArray) -> FloatArray:
        """The normal quantiles of scores: [n] -> [n]."""
        low, high = self.scores[0], self.scores[-1]
        beyond = np.log1p(np.maximum(scores - high, 0) / self._unit) - np.log1p(
            np.maximum(low - scores, 0) / self._unit
        )
        quantiles: FloatArray = np.interp(scores, self.scores, self.quantiles) + beyond
        return quantiles

    @property
    def _unit(self) -> float:
        """Of scores beyond the ends: the distance from the median to the score that one in twenty rows lies above."""
        median, high = np.interp(normal_quantile(np.array([0.5, 0.05])), self.quantiles, self.scores)
        return max(float(high - median), MIN_STEP)

    def rescaled(self, location: float, unit: float) -> "NormalScores":
        """The same for scores (s − location) / unit."""
        return NormalScores((self.scores - location) / unit, self.quantiles)


def normal_quantile(share_above: FloatArray) -> FloatArray:
    """The normal quantile that this share lies above: [n] -> [n]."""
    found: FloatArray = -ndtri(share_above)
    return found


def normal_share_above(quantile: FloatArray) -> FloatArray:
    """The share of a normal distribution above a quantile: [n] -> [n]."""
    found: FloatArray = ndtr(-quantile)
    return found
