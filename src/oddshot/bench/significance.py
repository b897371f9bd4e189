"""Which differences are more than chance: paired t-test (Table 1), Friedman test, average ranks, Nemenyi's distance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

SIGNIFICANCE_LEVEL = 0.05
FloatArray = NDArray[np.float64]


def paired_p_value(a: FloatArray, b: FloatArray) -> float:
    """Two-sided p-value of a paired t-test. a, b: [n], of the same splits; 1 where n < 2 allows no test."""
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    if len(difference) < 2:
        return 1.0
    # Differences that are equal up to rounding have no spread to test against: none at all, or certain.
    if np.ptp(difference) <= 1e-12:
        return 1.0 if abs(difference[0]) <= 1e-12 else 0.0
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def best_or_equal(scores: Sequence[dict[int, float]], level: float = SIGNIFICANCE_LEVEL) -> list[bool]:
    """For each method, whether it is the best, or not different from the best at this level (Table 1's bold).

    scores: a method's AUC by split; pairs are the splits that both have. Methods without any are False.
    """
    means = [float(np.mean(list(by_split.values()))) if by_split else -np.inf for by_split in scores]
    if not means or max(means) == -np.inf:
        return [False] * len(means)
    best = int(np.argmax(means))
    return [place == best or (bool(other) and _equal(other, scores[best], level)) for place, other in enumerate(scores)]


def _equal(a: dict[int, float], b: dict[int, float], level: float) -> bool:
    common = sorted(a.keys() & b.keys())
    if len(common) < 2:  # no test is possible
        return bool(common) and a[common[0]] == b[common[0]]
    return paired_p_value(np.array([a[s] for s in common]), np.array([b[s] for s in common])) >= level


@dataclass(frozen=True)
class AverageRanks:
    """k methods over N datasets. average: [k], 1 is best. p_value: Friedman's. distance: two methods whose average
    ranks differ by less are not told apart (Nemenyi, 5 %)."""

    average: FloatArray
    p_value: float
    distance: float
    n_datasets: int


def rank_methods(auc: FloatArray, level: float = SIGNIFICANCE_LEVEL) -> AverageRanks:
    """auc: [N, k], mean AUC of k methods on N datasets, without gaps; ties share their rank."""
    n, k = auc.shape
    # Means that differ by rounding alone are ties.
    ranks = stats.rankdata(-auc.round(9), axis=1)
    p_value = float(stats.friedmanchisquare(*ranks.T).pvalue) if k > 2 and n > 1 else float("nan")
    return AverageRanks(ranks.mean(axis=0), p_value, critical_difference(k, n, level), n)


def critical_difference(k: int, n: int, level: float = SIGNIFICANCE_LEVEL) -> float:
    """Nemenyi's: q √(k (k + 1) / 6 N), q from the studentized range of k means (Demšar, 2006)."""
    q = float(stats.studentized_range.ppf(1 - level, k, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(k * (k + 1) / (6 * n)))


def confidence_interval(values: FloatArray, level: float = 0.95) -> tuple[float, float, float]:
    """Mean and the two ends of its confidence_interval interval by Student's t. values: [n]; NaN for none."""
    if len(values) == 0:
        return (float("nan"),) * 3
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, mean, mean
    half = float(stats.sem(values) * stats.t.ppf((1 + level) / 2, len(values) - 1))
    return mean, mean - half, mean + half
