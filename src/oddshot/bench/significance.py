"""Statistical tests: paired t-test (Table 1), Friedman test, average ranks and Nemenyi's critical difference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

SIGNIFICANCE_LEVEL = 0.05
FloatArray = NDArray[np.float64]


def paired_p_value(a: FloatArray, b: FloatArray) -> float:
    """Two-sided p-value of a paired t-test; 1 where fewer than two pairs allow no test. a, b: [n_splits]."""
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    if len(difference) < 2:
        return 1.0
    # Differences that are equal up to rounding have no variance: the p-value is 1 where they are 0, and 0 otherwise.
    if np.ptp(difference) <= 1e-12:
        return 1.0 if abs(difference[0]) <= 1e-12 else 0.0
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def best_or_equal(scores: Sequence[Mapping[int, float]], level: float = SIGNIFICANCE_LEVEL) -> list[bool]:
    """For each method, whether it is the best or not significantly different from the best (bold in Table 1).

    scores: AUC by split for each method; the test pairs the splits that both methods have. False for methods without
    scores.
    """
    means = [float(np.mean(list(by_split.values()))) if by_split else -np.inf for by_split in scores]
    if not means or max(means) == -np.inf:
        return [False] * len(means)
    best = int(np.argmax(means))
    return [
        index == best or (bool(other) and _is_equal(other, scores[best], level)) for index, other in enumerate(scores)
    ]


def _is_equal(a: Mapping[int, float], b: Mapping[int, float], level: float) -> bool:
    common = sorted(a.keys() & b.keys())
    if len(common) < 2:  # no test is possible
        return bool(common) and a[common[0]] == b[common[0]]
    return paired_p_value(np.array([a[s] for s in common]), np.array([b[s] for s in common])) >= level


@dataclass(frozen=True)
class AverageRanks:
    """Average ranks of k methods over several datasets.

    average: [k], 1 is best. p_value: of the Friedman test. critical_difference: methods whose average ranks differ by
    less are not significantly different (Nemenyi test).
    """

    average: FloatArray
    p_value: float
    critical_difference: float
    n_datasets: int


def rank_methods(auc: FloatArray, level: float = SIGNIFICANCE_LEVEL) -> AverageRanks:
    """Average ranks of the methods; ties share their mean rank. auc: [n_datasets, n_methods]."""
    n_datasets, n_methods = auc.shape
    # AUCs that differ by rounding errors only are ties.
    ranks = stats.rankdata(-auc.round(9), axis=1)
    testable = n_methods > 2 and n_datasets > 1
    p_value = float(stats.friedmanchisquare(*ranks.T).pvalue) if testable else float("nan")
    return AverageRanks(ranks.mean(axis=0), p_value, critical_difference(n_methods, n_datasets, level), n_datasets)


def critical_difference(n_methods: int, n_datasets: int, level: float = SIGNIFICANCE_LEVEL) -> float:
    """Nemenyi's q √(k (k + 1) / 6 N) for k methods on N datasets, q from the studentized range (Demšar, 2006)."""
    q = float(stats.studentized_range.ppf(1 - level, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def confidence_interval(values: FloatArray, level: float = 0.95) -> tuple[float, float, float]:
    """Mean, lower and upper bound of its confidence interval by Student's t. values: [n]; NaN where n is 0."""
    if len(values) == 0:
        return (float("nan"),) * 3
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, mean, mean
    half_width = float(stats.sem(values) * stats.t.ppf((1 + level) / 2, len(values) - 1))
    return mean, mean - half_width, mean + half_width
