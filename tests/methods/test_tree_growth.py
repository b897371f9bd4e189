"""Trees as they grow, against their rows, and against scikit-learn."""

import numpy as np
import pytest
import scipy.stats
import torch
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.metrics import roc_auc_score

from oddshot.methods.tree_growth import (
    MAX_DEPTH,
    MAX_TREES,
    N_FOLDS,
    _hash,
    _seeds,
    _uniform,
    grow_forest,
    left_out_rows,
    order_columns,
)
from tests.model.test_forest import draw, follow


def find_left_out(anomaly, normal, n_trees):
    """Which rows, anomalies first, each tree leaves out: [B, K, N]."""
    rows = torch.cat([anomaly, normal], dim=1).numpy()
    order, _ = order_columns(rows, rows.shape[1])
    rows = np.take_along_axis(rows, order[:, None], axis=2)
    return torch.from_numpy(left_out_rows(rows, anomaly.shape[1], n_trees))


def test_leaves_are_pure_and_nodes_hold_the_share_of_their_rows():
    anomaly, normal = draw(0, 8, shift=0.5), draw(1, 40)
    forest, left_out = grow_forest(anomaly, normal), find_left_out(anomaly, normal, MAX_TREES)
    rows, is_anomaly = torch.cat([anomaly, normal], dim=1), torch.arange(48) < 8
    for b, k in ((0, 0), (1, 5), (1, MAX_TREES - 1)):
        for row, label, is_out in zip(rows[b], is_anomaly, left_out[b, k], strict=True):
            if not is_out:  # the rows that a tree has seen are in leaves of their own label
                assert follow(forest, b, k, row) == float(label)
        seen = ~left_out[b, k]
        assert float(forest.share[b, k, 0]) == pytest.approx(float((is_anomaly & seen).sum() / seen.sum()))


def test_splits_lie_between_the_values_of_their_rows():
    anomaly, normal = draw(0, 4, shift=1), draw(1, 20)
    forest, left_out = grow_forest(anomaly, normal), find_left_out(anomaly, normal, MAX_TREES)
    rows = torch.cat([anomaly, normal], dim=1)

    def check(b, k, node, inside):
        left = int(forest.left[b, k, node])
        if left == node:
            return
        values = rows[b, inside, int(forest.column[b, k, node])]
        threshold = float(forest.threshold[b, k, node])
        assert float(values.min()) <= threshold < float(values.max())
        is_right = rows[b, :, int(forest.column[b, k, node])] > threshold
        check(b, k, left, inside & ~is_right)
        check(b, k, left + 1, inside & is_right)

    for k in range(0, MAX_TREES, 7):
        check(0, k, 0, ~left_out[0, k])


def test_every_row_is_left_out_of_one_fold_of_the_trees():
    left_out = find_left_out(draw(0, 3), draw(1, 21), 64)
    assert left_out.shape == (2, 64, 24)
    assert (left_out.sum(1) == 64 // N_FOLDS).all()
    assert (left_out[:, :, 3:].sum(-1) <= -(-21 // N_FOLDS)).all()  # spread evenly
    alone = find_left_out(draw(0, 1), draw(1, 1), 64)
    assert (alone[:, :, 0] == alone[:, :, 1]).all()  # no tree has seen the anomaly only


def test_rows_score_by_the_trees_that_have_not_seen_them():
    anomaly, normal = draw(0, 2, shift=1), draw(1, 9)
    forest, left_out = grow_forest(anomaly, normal), find_left_out(anomaly, normal, 128)
    found, shares = forest.out_of_fold(anomaly, normal), forest.shares(torch.cat([anomaly, normal], dim=1))
    for b, j in np.ndindex(2, 11):
        assert float(found[b, j]) == pytest.approx(float(shares[b, j][left_out[b, :, j]].mean()))


def test_the_only_normal_row_does_not_look_like_an_anomaly():
    anomaly, normal = draw(0, 4, shift=5), draw(1, 1)
    found = grow_forest(anomaly, normal).out_of_fold(anomaly, normal)
    np.testing.assert_allclose(found[:, 4], 4 / 5)  # the share of all rows: no other tells


def test_the_order_of_rows_and_other_tasks_do_not_matter():
    anomaly, normal, x = draw(0, 5, shift=1), draw(1, 30), draw(2, 20)
    expected = grow_forest(anomaly, normal)(x)
    torch.testing.assert_close(grow_forest(anomaly.flip(1), normal.flip(1))(x), expected)
    torch.testing.assert_close(grow_forest(anomaly[1:], normal[1:])(x[1:]), expected[1:])


def test_units_and_offsets_of_columns_do_not_matter():
    anomaly, normal, x = draw(0, 3, shift=1), draw(1, 10), draw(2, 50)
    scale, offset = torch.tensor([1e-6, 1.0, 64.0, 1e6]), torch.tensor([0.0, 5.0, -3.0, 0.0])
    moved = grow_forest(anomaly * scale + offset, normal * scale + offset)(x * scale + offset)
    assert float((moved - grow_forest(anomaly, normal)(x)).abs().mean()) < 0.02  # the order of rows may change folds


@pytest.mark.parametrize("value", [0.0, 1e9])
def test_equal_rows_give_the_share_of_anomalies(value):
    anomaly, normal = torch.full((1, 2, 3), value), torch.full((1, 6, 3), value)
    shares = grow_forest(anomaly, normal)(torch.randn(1, 5, 3))
    assert torch.isfinite(shares).all()
    assert (shares < 0.5).all()
    assert grow_forest(anomaly, normal).depth <= MAX_DEPTH


def test_columns_that_are_constant_among_the_rows_are_not_tried():
    """One of forty columns tells, the others are constant: every tree finds it."""
    anomaly, normal = torch.zeros(1, 2, 40), torch.zeros(1, 10, 40)
    anomaly[:, :, 17] = 1
    forest = grow_forest(anomaly, normal)
    x = torch.zeros(1, 2, 40)
    x[0, 0, 17] = 1
    assert forest(x)[0].tolist() == [1, 0]


@pytest.mark.parametrize(("n_normal", "n_anomaly", "M"), [(20, 4, 10), (100, 20, 30)])
def test_it_ranks_as_well_as_scikit_learn(n_normal, n_anomaly, M):
    ours, theirs = [], []
    for seed in range(12):
        shift = torch.zeros(M)
        shift[:3] = 1.2
        anomaly, normal = draw(seed, n_anomaly, M, shift, 1), draw(100 + seed, n_normal, M, 0, 1)
        x = torch.cat([draw(200 + seed, 150, M, shift, 1), draw(300 + seed, 150, M, 0, 1)], dim=1)
        truth = np.repeat([1, 0], 150)
        ours.append(roc_auc_score(truth, grow_forest(anomaly, normal)(x)[0]))
        rows, labels = torch.cat([anomaly, normal], dim=1)[0].numpy(), np.repeat([1, 0], [n_anomaly, n_normal])
        forest = ExtraTreesClassifier(MAX_TREES, random_state=seed).fit(rows, labels)
        theirs.append(roc_auc_score(truth, forest.predict_proba(x[0].numpy())[:, 1]))
    assert np.mean(ours) > np.mean(theirs) - 0.015


@pytest.mark.parametrize("M", [6, 90])
def test_the_order_of_columns_and_constant_ones_do_not_matter(M):
    anomaly, normal, x = draw(0, 3, M, shift=0.5), draw(1, 12, M), draw(2, 40, M)
    order = torch.randperm(M + 3, generator=torch.Generator().manual_seed(0))

    def moved(rows):
        return torch.cat([rows, torch.full((*rows.shape[:2], 3), 7.0)], dim=2)[:, :, order]

    found, expected = grow_forest(moved(anomaly), moved(normal)), grow_forest(anomaly, normal)
    torch.testing.assert_close(found(moved(x)), expected(x), rtol=0, atol=0)
    torch.testing.assert_close(
        found.out_of_fold(moved(anomaly), moved(normal)), expected.out_of_fold(anomaly, normal), rtol=0, atol=0
    )


def test_columns_that_are_alike_in_the_labelled_rows_are_told_apart_by_others():
    anomaly, normal, x = draw(0, 1), draw(1, 5), draw(2, 20)
    others, order = draw(3, 30), torch.tensor([2, 0, 3, 1])
    for rows in (anomaly, normal):
        rows[..., 1:] = rows[..., :1]
    found = grow_forest(*(rows[..., order] for rows in (anomaly, normal, others)))
    torch.testing.assert_close(found(x[..., order]), grow_forest(anomaly, normal, others)(x), rtol=0, atol=0)


def test_tasks_with_other_constant_columns_are_grown_together_as_alone():
    anomaly, normal, x = draw(0, 3, shift=1), draw(1, 12), draw(2, 20)
    for rows in (anomaly, normal):
        rows[1, :, :2] = 0
    torch.testing.assert_close(grow_forest(anomaly[1:], normal[1:])(x[1:]), grow_forest(anomaly, normal)(x)[1:])


def test_random_numbers_are_uniform_and_independent():
    bits = _hash(
        _seeds(np.repeat(np.arange(50), 40), 3, np.tile(np.arange(40), 50))[:, None] + np.arange(20, dtype="u8")
    )
    for shift in (0, 24, 40):
        numbers = _uniform(bits >> np.uint64(shift))
        assert scipy.stats.kstest(numbers.ravel(), "uniform").pvalue > 1e-3
        assert np.abs(np.corrcoef(numbers.T) - np.eye(20)).max() < 0.12
