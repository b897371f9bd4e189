"""Features of a task's support, from which the distribution of its normal scores is predicted.

All of them change little when one row more is given: what the rows of a label tell counts by a weight n / (n + k) that
grows from 0 with their number n.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oddshot.decisions.support_scores import SupportScores

FEW_NORMAL, FEW_ANOMALIES, FEW_UNLABELLED = 8, 4, 20  # so many rows have half of the weight that many have
NORMAL_QUANTILES, UNLABELLED_QUANTILES = (0.5, 0.8, 0.9, 0.95), (0.1, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95)
N_FEATURES = 10 + 3 + len(NORMAL_QUANTILES) + len(UNLABELLED_QUANTILES) + 3
USUAL_SHARE = 0.65  # of the unlabelled rows: higher scores may be anomalies', and count as if they were at its end
UNLABELLED_WEIGHT = 0.25  # of an unlabelled row, beside a normal one
PRIOR_ROWS, PRIOR_SPREAD = 4, 1.2  # what is known of the spread of scores before any row
MAX_ABS_FEATURE = 20.0

FloatArray = NDArray[np.float64]


class SupportFeatures(NamedTuple):
    """values: [T, N_FEATURES], in units of location and spread of the normal rows' scores, [T] each."""

    values: FloatArray
    location: FloatArray
    spread: FloatArray


def support_features(support: SupportScores) -> SupportFeatures:
    """Of T tasks, whose scores have a spread of about 1."""
    location, spread = _location_and_spread(support)

    def relative(scores: FloatArray) -> FloatArray:
        return (scores - location[:, None]) / spread[:, None]

    normal, anomaly, unlabelled = map(relative, (support.normal, support.anomaly, support.unlabelled))
    n, a, u = (part.shape[1] for part in (normal, anomaly, unlabelled))
    of_normal, of_anomaly, of_unlabelled = n / (n + FEW_NORMAL), a / (a + FEW_ANOMALIES), u / (u + FEW_UNLABELLED)
    counts = [of_normal, n**-0.5, 1 / n, of_anomaly, np.log1p(a), of_unlabelled, np.log1p(u), a / (a + n)]
    values = np.column_stack(
        [
            np.tile(counts, (len(normal), 1)),
            np.log(spread),
            np.log(np.maximum(support.n_columns, 1)),
            of_normal * np.column_stack([normal.std(1), normal.mean(1), normal.max(1)]),
            of_normal * _quantiles(normal, NORMAL_QUANTILES),
            of_unlabelled * _quantiles(unlabelled, UNLABELLED_QUANTILES),
            of_anomaly
            * (np.column_stack([anomaly.mean(1), anomaly.min(1), anomaly.std(1)]) if a else _none(anomaly, 3)),
        ]
    )
    return SupportFeatures(np.clip(values, -MAX_ABS_FEATURE, MAX_ABS_FEATURE), location, spread)


def _location_and_spread(support: SupportScores) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the normal and, with less weight, of the usual unlabelled rows: [T] each.

    The standard deviation is shrunk towards PRIOR_SPREAD.
    """
    normal, unlabelled = support.normal, support.unlabelled
    if unlabelled.shape[1]:
        unlabelled = np.minimum(unlabelled, _quantiles(unlabelled, (USUAL_SHARE,)))
    n, weight = normal.shape[1], UNLABELLED_WEIGHT * unlabelled.shape[1]
    location = (normal.sum(1) + UNLABELLED_WEIGHT * unlabelled.sum(1)) / (n + weight)
    squares = ((normal - location[:, None]) ** 2).sum(1)
    # Twice, as the larger deviations are cut off.
    squares += 2 * UNLABELLED_WEIGHT * ((unlabelled - location[:, None]) ** 2).sum(1)
    return location, np.sqrt((PRIOR_ROWS * PRIOR_SPREAD**2 + squares) / (PRIOR_ROWS + n + weight))


def _quantiles(scores: FloatArray, levels: tuple[float, ...]) -> FloatArray:
    """[T, k] -> [T, levels], 0 where there are no rows."""
    if not scores.shape[1]:
        return _none(scores, len(levels))
    found: FloatArray = np.quantile(scores, levels, axis=1).T
    return found


def _none(scores: FloatArray, n: int) -> FloatArray:
    return np.zeros((len(scores), n))
