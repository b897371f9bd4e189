"""Trees as they grow, against their rows, and against scikit-learn."""

import numpy as np
import pytest
import scipy.stats
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score

from oddshot.score.tree_growth import (
    MAX_TREES,
    N_FOLDS,
    _hash,
    _seeds,
    _uniform,
    grow_trees,
    left_out_rows,
    order_columns,
)
from tests.score.test_forest import draw, follow, grow


def grown(anomaly, normal):
    """Rows, trees, and which rows each leaves out."""
    rows, a = np.concatenate([anomaly, normal], axis=1), anomaly.shape[1]
    return rows, *grow_trees(rows, a, rows.shape[1])


def find_left_out(anomaly, normal, n_trees):
    """Which rows, anomalies first, each tree leaves out: [B, K, N]."""
    rows = np.concatenate([anomaly, normal], axis=1)
    order, _ = order_columns(rows, rows.shape[1])
    return left_out_rows(np.take_along_axis(rows, order[:, None], axis=2), anomaly.shape[1], n_trees)


def test_leaves_are_pure_and_nodes_hold_the_share_of_their_rows():
    rows, trees, left_out = grown(draw(0, 8, shift=0.5), draw(1, 40))
    is_anomaly = np.arange(48) < 8
    for b, k in ((0, 0), (1, 5), (1, MAX_TREES - 1)):
        for row, label, is_out in zip(rows[b], is_anomaly, left_out[b, k], strict=True):
            if not is_out:  # the rows that a tree has seen are in leaves of their own label
                assert follow(trees, b, k, row) == float(label)
        seen = ~left_out[b, k]
        assert trees.share[b, k, 0] == pytest.approx((is_anomaly & seen).sum() / seen.sum())


def test_splits_lie_between_the_values_of_their_rows():
    rows, trees, left_out = grown(draw(0, 4, shift=1), draw(1, 20))

    def check(b, k, node, inside):
        left = trees.left[b, k, node]
        if left == node:
            return 0
        values, threshold = rows[b, :, trees.column[b, k, node]], trees.threshold[b, k, node]
        assert values[inside].min() <= threshold < values[inside].max()
        is_right = values > threshold
        return 1 + check(b, k, left, inside & ~is_right) + check(b, k, left + 1, inside & is_right)

    assert all(check(0, k, 0, ~left_out[0, k]) > 0 for k in range(0, MAX_TREES, 7))


def test_every_row_is_left_out_of_one_fold_of_the_trees():
    left_out = find_left_out(draw(0, 3), draw(1, 21), 64)
    assert left_out.shape == (2, 64, 24)
    assert (left_out.sum(1) == 64 // N_FOLDS).all()
    assert (left_out[:, :, 3:].sum(-1) <= -(-21 // N_FOLDS)).all()  # spread evenly
    alone = find_left_out(draw(0, 1), draw(1, 1), 64)
    assert (alone[:, :, 0] == alone[:, :, 1]).all()  # no tree has seen the anomaly only


def test_grown_trees_say_which_rows_they_leave_out():
    anomaly, normal = draw(0, 2, shift=1), draw(1, 9)
    _, trees, left_out = grown(anomaly, normal)
    np.testing.assert_array_equal(left_out, find_left_out(anomaly, normal, trees.left.shape[1]))


@pytest.mark.parametrize(("n_normal", "n_anomaly", "M"), [(20, 4, 10), (100, 20, 30)])
def test_it_ranks_as_well_as_scikit_learn(n_normal, n_anomaly, M):
    ours, theirs = [], []
    for seed in range(12):
        shift = np.zeros(M)
        shift[:3] = 1.2
        anomaly, normal = draw(seed, n_anomaly, M, shift, 1), draw(100 + seed, n_normal, M, 0, 1)
        x = np.concatenate([draw(200 + seed, 150, M, shift, 1), draw(300 + seed, 150, M, 0, 1)], axis=1)
        truth = np.repeat([1, 0], 150)
        ours.append(roc_auc_score(truth, grow(anomaly, normal).mean_share(x)[0]))
        rows, labels = np.concatenate([anomaly, normal], axis=1)[0], np.repeat([1, 0], [n_anomaly, n_normal])
        forest = ExtraTreesClassifier(MAX_TREES, random_state=seed).fit(rows, labels)
        theirs.append(roc_auc_score(truth, forest.predict_proba(x[0])[:, 1]))
    assert np.mean(ours) > np.mean(theirs) - 0.015


def test_random_numbers_are_uniform_and_independent():
    bits = _hash(
        _seeds(np.repeat(np.arange(50), 40), 3, np.tile(np.arange(40), 50))[:, None] + np.arange(20, dtype="u8")
    )
    for shift in (0, 24, 40):
        numbers = _uniform(bits >> np.uint64(shift))
        assert scipy.stats.kstest(numbers.ravel(), "uniform").pvalue > 1e-3
        assert np.abs(np.corrcoef(numbers.T) - np.eye(20)).max() < 0.12
