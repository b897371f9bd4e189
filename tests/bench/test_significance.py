import math

import numpy as np
import pytest
from scipy import stats

from oddshot.bench.significance import (
    best_or_equal,
    confidence_interval,
    critical_difference,
    paired_p_value,
    rank_methods,
)


def naive_t(a, b):
    d = [x - y for x, y in zip(a, b, strict=True)]
    mean = sum(d) / len(d)
    variance = sum((x - mean) ** 2 for x in d) / (len(d) - 1)
    return mean / math.sqrt(variance / len(d))


@pytest.mark.parametrize("seed", range(5))
def test_paired_t_test(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=10), rng.normal(0.5, size=10)
    assert paired_p_value(a, b) == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert paired_p_value(a, b) == pytest.approx(2 * stats.t.sf(abs(naive_t(a, b)), 9))
    assert paired_p_value(a, b) == paired_p_value(b, a)


def test_differences_without_spread():
    a = np.array([0.9, 0.8, 0.7])
    assert paired_p_value(a, a) == 1
    assert paired_p_value(a, a - 0.1) == 0
    assert paired_p_value(a[:1], a[:1] - 0.1) == 1


def test_best_and_what_is_not_different_from_it():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.6, 0.9, 10)
    scores = [base, base + rng.normal(0, 0.05, 10) - 0.005, base - 0.2 + rng.normal(0, 0.01, 10)]
    by_split = [dict(enumerate(row.tolist())) for row in scores]
    means = [row.mean() for row in scores]
    best = int(np.argmax(means))
    expected = [i == best or stats.ttest_rel(row, scores[best]).pvalue >= 0.05 for i, row in enumerate(scores)]
    assert best_or_equal(by_split) == expected == [True, True, False]


def test_pairs_are_the_splits_that_both_have():
    assert best_or_equal([{0: 0.9, 1: 0.8, 2: 0.95}, {1: 0.81, 2: 0.94, 7: 0.1}, {}]) == [True, True, False]
    assert best_or_equal([{0: 0.9}, {0: 0.89}, {0: 0.9}]) == [True, False, True]
    assert best_or_equal([{}, {}]) == [False, False]


def test_ranks_by_counting():
    rng = np.random.default_rng(1)
    auc = rng.uniform(size=(12, 5)).round(1)  # with ties
    expected = np.zeros(5)
    for row in auc:
        for j, value in enumerate(row):
            expected[j] += 1 + sum(other > value for other in row) + (sum(other == value for other in row) - 1) / 2
    ranks = rank_methods(auc)
    np.testing.assert_allclose(ranks.average, expected / 12)
    assert ranks.p_value == pytest.approx(stats.friedmanchisquare(*(-auc).T).pvalue)
    assert ranks.n_datasets == 12


def test_friedman_by_its_formula():
    auc = np.random.default_rng(2).uniform(size=(9, 4))
    n, k = auc.shape
    R = rank_methods(auc).average
    chi = 12 * n / (k * (k + 1)) * (sum(R**2) - k * (k + 1) ** 2 / 4)
    assert rank_methods(auc).p_value == pytest.approx(stats.chi2.sf(chi, k - 1))


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_nemenyi_as_in_demsars_table(k, q):
    assert critical_difference(k, 14) == pytest.approx(q * math.sqrt(k * (k + 1) / (6 * 14)), rel=1e-3)


def test_confidence_interval():
    values = np.random.default_rng(3).normal(size=10)
    low, high = stats.t.interval(0.95, 9, loc=values.mean(), scale=stats.sem(values))
    assert confidence_interval(values) == pytest.approx((values.mean(), low, high))
    assert confidence_interval(values[:1]) == (values[0],) * 3
    assert all(math.isnan(x) for x in confidence_interval(values[:0]))
