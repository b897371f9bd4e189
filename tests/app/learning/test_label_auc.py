"""AUC, interval and permutation test of labelled rows, against loops."""

import itertools

import numpy as np
import pytest

from oddshot.app.learning.label_auc import (
    auc_interval,
    describe_missing,
    label_auc,
    missing_labels,
    permutation_p_value,
)


def naive_auc(scores, labels):
    pairs = [(a, n) for a in scores[labels == 1] for n in scores[labels == 0]]
    return sum(1.0 if a > n else 0.5 if a == n else 0.0 for a, n in pairs) / len(pairs)


def naive_variance(auc, n_normal, n_anomaly):
    """Hanley and McNeil's, with the mean of both numbers of rows as Newcombe's method 5 has it."""
    q1, q2, n_star = auc / (2 - auc), 2 * auc**2 / (1 + auc), (n_normal + n_anomaly) / 2 - 1
    return (auc * (1 - auc) + n_star * (q1 - auc**2) + n_star * (q2 - auc**2)) / (n_normal * n_anomaly)


@pytest.mark.parametrize("seed", range(5))
def test_auc_is_the_share_of_pairs_ranked_right(seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], [7, 4]).astype(np.int8)
    scores = rng.integers(0, 6, 11).astype(float)
    found = label_auc(scores, labels)
    assert found.auc == pytest.approx(naive_auc(scores, labels))
    assert found.to_json()["pairs"] == 28


@pytest.mark.parametrize("auc", [0.0, 0.3, 0.5, 0.875, 0.99, 1.0])
@pytest.mark.parametrize("sizes", [(5, 2), (20, 4), (100, 100)])
def test_the_interval_is_where_the_auc_lies_within_its_standard_errors(auc, sizes):
    low, high = auc_interval(auc, *sizes)
    grid = np.linspace(1e-6, 1 - 1e-6, 200_001)
    inside = grid[(auc - grid) ** 2 <= 1.959964**2 * naive_variance(grid, *sizes)]
    np.testing.assert_allclose([low, high], [inside.min(), inside.max()], atol=2e-5)
    assert 0 <= low <= auc <= high <= 1
    assert low < high


@pytest.mark.parametrize("auc", [0.7, 0.95])
def test_the_interval_holds_the_true_auc_in_about_95_of_100_samples(auc):
    from scipy.stats import norm

    rng, shift, held = np.random.default_rng(0), np.sqrt(2) * norm.ppf(auc), 0
    labels = np.repeat([0, 1], [15, 5]).astype(np.int8)
    for _ in range(1000):
        found = label_auc(rng.normal(size=20) + shift * labels, labels)
        held += found.low <= auc <= found.high
    assert 0.92 <= held / 1000 <= 0.99


def test_missing_labels_are_named():
    assert missing_labels(np.array([0, 0, 0, 1], np.int8)) == (2, 1)
    assert describe_missing(np.array([0, 0, 0, 1], np.int8)).startswith(
        "Label 2 more normal rows and 1 more anomaly to"
    )
    assert describe_missing(np.array([0] * 9, np.int8)).startswith("Label 2 more anomalies to")
    assert missing_labels(np.array([0] * 5 + [1] * 2, np.int8)) == (0, 0)


def naive_p_value(a, b, labels):
    """All exchanges of the two ranks of each row."""
    from scipy.stats import rankdata

    ra, rb = rankdata(a), rankdata(b)
    seen = abs(naive_auc(ra, labels) - naive_auc(rb, labels))
    exchanges = list(itertools.product([False, True], repeat=len(labels)))
    count = 0
    for exchange in exchanges:
        first, second = np.where(exchange, rb, ra), np.where(exchange, ra, rb)
        count += abs(naive_auc(first, labels) - naive_auc(second, labels)) >= seen - 1e-12
    return count / len(exchanges)


@pytest.mark.parametrize("seed", range(3))
def test_the_p_value_is_the_share_of_exchanges_with_such_a_difference(seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], [5, 3]).astype(np.int8)
    a, b = rng.normal(size=8) + 2 * labels, rng.normal(size=8)
    assert permutation_p_value(a, b, labels, rng) == pytest.approx(naive_p_value(a, b, labels), abs=0.04)


def test_equal_scores_do_not_differ_and_opposite_ones_do():
    rng, labels = np.random.default_rng(0), np.repeat([0, 1], [20, 10]).astype(np.int8)
    scores = rng.normal(size=30) + 3 * labels
    assert permutation_p_value(scores, 2 * scores + 1, labels, rng) == 1.0
    assert permutation_p_value(scores, -scores, labels, rng) < 0.01
