"""Forests as arrays, against loops over rows and nodes."""

import numpy as np
import pytest

from oddshot.score.forest import Forest
from oddshot.score.tree_growth import MAX_TREES, TREES_PER_ANOMALY


def draw(seed, n, M=4, shift=0.0, tasks=2):
    return np.random.default_rng(seed).normal(size=(tasks, n, M)) + shift


def grow(anomaly, normal, others=None):
    rows = np.concatenate([anomaly, normal, *([] if others is None else [others])], axis=-2)
    return Forest.grow(rows, anomaly.shape[-2], anomaly.shape[-2] + normal.shape[-2])


def follow(trees, b, k, row):
    """The share of anomalies in the leaf that a row reaches, node by node."""
    node = 0
    while trees.left[b, k, node] != node:
        node = trees.left[b, k, node] + int(row[trees.column[b, k, node]] > trees.threshold[b, k, node])
    return float(trees.share[b, k, node])


@pytest.mark.parametrize(("n_normal", "n_anomaly"), [(1, 1), (5, 1), (5, 2), (30, 6)])
def test_evaluation_follows_the_nodes(n_normal, n_anomaly):
    forest, x = grow(draw(0, n_anomaly, shift=1), draw(1, n_normal)), draw(2, 6)
    n_trees = min(TREES_PER_ANOMALY * n_anomaly, MAX_TREES)
    assert forest.trees.left.shape[:2] == (2, n_trees)
    shares = forest.shares(x)
    for b, i in np.ndindex(2, 6):
        expected = [follow(forest.trees, b, k, x[b, i]) for k in range(n_trees)]
        np.testing.assert_allclose(shares[b, i], expected, rtol=1e-6)
    np.testing.assert_allclose(forest.mean_share(x), shares.mean(-1), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_normal", "n_anomaly", "M"), [(1, 1, 1), (5, 1, 4), (40, 8, 100), (60, 12, 2)])
def test_depth_by_depth_it_gives_the_same(n_normal, n_anomaly, M, dtype):
    forest = grow(*(rows.astype(dtype) for rows in (draw(0, n_anomaly, M, 1, 1), draw(1, n_normal, M, 0, 1))))
    x = draw(2, 50, M, tasks=1).astype(dtype)
    found = forest.levels()(x[0])
    assert found.dtype == dtype
    # float32: a sum of hundreds of splits, each rounded, against a mean of shares
    np.testing.assert_allclose(found, forest.mean_share(x)[0], rtol=1e-9 if dtype == np.float64 else 1e-4, atol=1e-6)


def test_depth_by_depth_a_forest_without_a_split_gives_the_share_of_anomalies():
    rows = np.zeros((1, 6, 3))
    levels = Forest.grow(rows, 2, 6).levels()
    assert levels.splits == ()
    np.testing.assert_allclose(levels(np.ones((4, 3))), Forest.grow(rows, 2, 6).mean_share(np.ones((1, 4, 3)))[0])


@pytest.mark.parametrize("lead", [(), (1,), (2, 3)])
def test_leading_dimensions_are_those_of_the_rows(lead):
    rng = np.random.default_rng(0)
    rows, x = rng.normal(size=(*lead, 9, 4)), rng.normal(size=(*lead, 5, 4))
    rows[..., :2, :] += 1
    forest = Forest.grow(rows, 2, 8)
    shares, own = forest.mean_share(x), forest.own_shares(rows, 2)
    assert (shares.shape, own.shape) == ((*lead, 5), (*lead, 9))
    for place in np.ndindex(lead):
        alone = Forest.grow(rows[place], 2, 8)
        np.testing.assert_array_equal(alone.mean_share(x[place]), shares[place])
        np.testing.assert_array_equal(alone.own_shares(rows[place], 2), own[place])


def test_rows_that_are_not_labelled_have_the_mean_of_all_trees():
    anomaly, normal, others = draw(0, 2, shift=1), draw(1, 9), draw(2, 5)
    forest = grow(anomaly, normal, others)
    own = forest.own_shares(np.concatenate([anomaly, normal, others], axis=1), 2)
    np.testing.assert_allclose(own[:, 11:], forest.mean_share(others), rtol=1e-12)


def test_rows_score_by_the_trees_that_have_not_seen_them():
    anomaly, normal = draw(0, 2, shift=1), draw(1, 9)
    forest, rows = grow(anomaly, normal), np.concatenate([anomaly, normal], axis=1)
    found, shares = forest.own_shares(rows, 2), forest.shares(rows)
    for b, j in np.ndindex(2, 11):
        assert found[b, j] == pytest.approx(shares[b, j][forest.is_left_out[b, :, j]].mean())


def test_the_only_normal_row_does_not_look_like_an_anomaly():
    anomaly, normal = draw(0, 4, shift=5), draw(1, 1)
    found = grow(anomaly, normal).own_shares(np.concatenate([anomaly, normal], axis=1), 4)
    np.testing.assert_allclose(found[:, 4], 4 / 5)  # the share of all rows: no other tells


def test_units_and_offsets_of_columns_do_not_matter():
    scale, offset, difference = np.array([1e-6, 1.0, 64.0, 1e6]), np.array([0.0, 5.0, -3.0, 0.0]), []
    for seed in range(0, 60, 3):
        anomaly, normal, x = draw(seed, 3, shift=1), draw(seed + 1, 10), draw(seed + 2, 50)
        moved = grow(anomaly * scale + offset, normal * scale + offset).mean_share(x * scale + offset)
        difference.append(np.abs(moved - grow(anomaly, normal).mean_share(x)).mean())
    assert np.mean(difference) < 0.02  # the order of rows may change folds


def test_one_unit_for_all_columns_changes_no_tree():
    anomaly, normal, x = draw(0, 3, shift=1), draw(1, 10), draw(2, 50)
    moved = grow(anomaly * 1024, normal * 1024).mean_share(x * 1024)
    np.testing.assert_array_equal(moved, grow(anomaly, normal).mean_share(x))


@pytest.mark.parametrize("value", [0.0, 1e9])
def test_equal_rows_give_the_share_of_anomalies(value):
    forest = grow(np.full((1, 2, 3), value), np.full((1, 6, 3), value))
    shares = forest.mean_share(draw(0, 5, 3, tasks=1))
    np.testing.assert_allclose(shares, shares[0, 0])
    assert 0 < shares[0, 0] < 0.5
    assert forest.trees.depth == 0


def test_columns_that_are_constant_among_the_rows_are_not_tried():
    """One of forty columns tells, the others are constant: every tree finds it."""
    anomaly, normal, x = np.zeros((1, 2, 40)), np.zeros((1, 10, 40)), np.zeros((1, 2, 40))
    anomaly[:, :, 17] = x[0, 0, 17] = 1
    assert grow(anomaly, normal).mean_share(x)[0].tolist() == [1, 0]


def test_the_order_of_rows_and_other_tasks_do_not_matter():
    anomaly, normal, x = draw(0, 5, shift=1), draw(1, 30), draw(2, 20)
    expected = grow(anomaly, normal).mean_share(x)
    np.testing.assert_allclose(grow(anomaly[:, ::-1], normal[:, ::-1]).mean_share(x), expected, rtol=1e-12)
    np.testing.assert_allclose(grow(anomaly[1:], normal[1:]).mean_share(x[1:]), expected[1:], rtol=1e-12)


@pytest.mark.parametrize("M", [6, 90])
def test_the_order_of_columns_and_constant_ones_do_not_matter(M):
    anomaly, normal, x = draw(0, 3, M, shift=0.5), draw(1, 12, M), draw(2, 40, M)
    order = np.random.default_rng(0).permutation(M + 3)

    def moved(rows):
        return np.concatenate([rows, np.full((*rows.shape[:2], 3), 7.0)], axis=2)[:, :, order]

    found, expected = grow(moved(anomaly), moved(normal)), grow(anomaly, normal)
    np.testing.assert_array_equal(found.mean_share(moved(x)), expected.mean_share(x))
    own = np.concatenate([anomaly, normal], axis=1)
    np.testing.assert_array_equal(found.own_shares(moved(own), 3), expected.own_shares(own, 3))


def test_columns_that_are_alike_in_the_labelled_rows_are_told_apart_by_others():
    anomaly, normal, x = draw(0, 1), draw(1, 5), draw(2, 20)
    others, order = draw(3, 30), np.array([2, 0, 3, 1])
    for rows in (anomaly, normal):
        rows[..., 1:] = rows[..., :1]
    found = grow(*(rows[..., order] for rows in (anomaly, normal, others)))
    np.testing.assert_array_equal(found.mean_share(x[..., order]), grow(anomaly, normal, others).mean_share(x))


def test_tasks_with_other_constant_columns_are_grown_together_as_alone():
    anomaly, normal, x = draw(0, 3, shift=1), draw(1, 12), draw(2, 20)
    for rows in (anomaly, normal):
        rows[1, :, :2] = 0
    alone = grow(anomaly[1:], normal[1:]).mean_share(x[1:])
    np.testing.assert_allclose(alone, grow(anomaly, normal).mean_share(x)[1:], rtol=1e-12)
