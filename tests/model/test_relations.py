"""Rows described by their relation to a task's rows, against loops over single rows, and what must not change them."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot.model.relations import N_COLUMN, N_FACT, N_FIGURE, N_PAIR, Relations
from tests.relation_references import TaskRows

SIZES = [(n, a, u) for n, a, u in itertools.product([1, 2, 5], [0, 1, 3], [0, 1, 12])]
TASKS = [(0, 0), (1, 2)]  # those that are compared with loops
SIGNED_COLUMNS = [0, 2]  # of `columns`: how far the row and the anomalies are off, with sign


def draw(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def make(n=5, a=1, u=0, M=4, seed=0):
    """Two replicas of three tasks; u = 0 is no unlabelled rows at all."""
    rows = draw(seed, 2, 3, n + a + u, M)
    return Relations(rows[:, :, :n], rows[:, :, n : n + a] + 2, rows[:, :, n + a :] if u else None)


def loops(relations, r, t):
    """The same task for the references."""
    parts = relations.normal, relations.anomaly, relations.background[:, :, relations.normal.shape[2] :]
    return TaskRows(*(part[r, t].numpy() for part in parts))


def descriptions(relations, x=None):
    """All that is said about rows, by name; without x about the support rows, each without itself."""
    hidden = relations.hidden_from_support() if x is None else None
    figures = relations.support_figures() if x is None else relations.figures(x)
    x = relations.support if x is None else x
    return {
        "pairs": relations.pairs(x),
        "columns": relations.columns(x, hidden),
        "anomaly_columns": relations.anomaly_columns(hidden),
        "figures": figures,
        "facts": relations.facts(hidden),
    }


def assert_same(ours, theirs):
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_other_rows_are_described_as_by_loops(n, a, u):
    relations, x = make(n, a, u), draw(1, 2, 3, 4, 4)
    ours = descriptions(relations, x)
    for (r, t), k in itertools.product(TASKS, range(4)):
        task, row = loops(relations, r, t), x[r, t, k].numpy()
        pairs = np.array([task.pair(row, other) for other in task.support])
        np.testing.assert_allclose(ours["pairs"][r, t, k], pairs, rtol=1e-9)
        np.testing.assert_allclose(ours["columns"][r, t, k], task.columns(row), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours["anomaly_columns"][r, t, 0], task.anomaly_columns(), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours["figures"][r, t, k], task.figures(row), rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(ours["facts"][r, t, 0], task.facts(), rtol=1e-9)


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_support_rows_are_described_as_by_loops_that_leave_out_the_row_itself(n, a, u):
    relations = make(n, a, u)
    ours = descriptions(relations)
    for (r, t), k in itertools.product(TASKS, range(n + a)):
        task, row, background = loops(relations, r, t), relations.support[r, t, k].numpy(), k if k < n else None
        np.testing.assert_allclose(ours["columns"][r, t, k], task.columns(row, k), rtol=1e-9, atol=1e-12)
        own = ours["anomaly_columns"][r, t, k if a else 0]
        np.testing.assert_allclose(own, task.anomaly_columns(k), rtol=1e-9, atol=1e-12)
        figures = task.figures(row, k, background)
        np.testing.assert_allclose(ours["figures"][r, t, k], figures, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(ours["facts"][r, t, k], task.facts(k), rtol=1e-9)


@pytest.mark.parametrize("u", [0, 7])
def test_shapes(u):
    relations, x = make(5, 2, u), draw(1, 2, 3, 6, 4)
    shapes = {name: tuple(value.shape) for name, value in descriptions(relations, x).items()}
    assert shapes == {
        "pairs": (2, 3, 6, 7, N_PAIR),
        "columns": (2, 3, 6, 4, N_COLUMN),
        "anomaly_columns": (2, 3, 1, 4, 3),
        "figures": (2, 3, 6, 2 * N_FIGURE),
        "facts": (2, 3, 1, N_FACT),
    }


sizes = st.tuples(st.integers(1, 6), st.integers(0, 3), st.integers(0, 12), st.integers(1, 6))


@settings(deadline=None, max_examples=30)
@given(sizes, st.integers(0, 1000), st.randoms(use_true_random=False))
def test_order_of_the_columns_does_not_matter(size, seed, random):
    relations, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    order = random.sample(range(size[-1]), size[-1])
    others = None if relations.unlabelled is None else relations.unlabelled[..., order]
    moved = descriptions(Relations(relations.normal[..., order], relations.anomaly[..., order], others), x[..., order])
    expected = descriptions(relations, x)
    expected["columns"] = expected["columns"][:, :, :, order]
    expected["anomaly_columns"] = expected["anomaly_columns"][:, :, :, order]
    assert_same(moved, expected)


@settings(deadline=None, max_examples=30)
@given(sizes, st.integers(0, 1000), st.data())
def test_signs_of_the_columns_do_not_matter_but_for_the_two_signed_entries(size, seed, data):
    """The column network is told on which side a row and the anomalies are, so a description is not free of signs."""
    relations, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    signs = torch.tensor(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=size[-1], max_size=size[-1])))
    others = None if relations.unlabelled is None else relations.unlabelled * signs
    flipped = descriptions(Relations(relations.normal * signs, relations.anomaly * signs, others), x * signs)
    expected = descriptions(relations, x)
    expected["columns"][..., SIGNED_COLUMNS] *= signs[:, None]
    assert_same(flipped, expected)


@settings(deadline=None, max_examples=30)
@given(sizes, st.integers(0, 1000), st.integers(1, 5))
def test_padding_with_zeros_does_not_matter(size, seed, pad):
    relations, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])

    def padded(rows):
        return None if rows is None else torch.nn.functional.pad(rows, (0, pad))

    wide = Relations(padded(relations.normal), padded(relations.anomaly), padded(relations.unlabelled))
    ours, expected = descriptions(wide, padded(x)), descriptions(relations, x)
    assert (wide.alive[..., size[-1] :] == 0).all()  # what is said about those columns counts for nothing
    for name in ("columns", "anomaly_columns"):
        ours[name] = ours[name][:, :, :, : size[-1]]
    assert_same(ours, expected)


@settings(deadline=None, max_examples=30)
@given(sizes, st.integers(0, 1000), st.randoms(use_true_random=False))
def test_order_of_support_and_unlabelled_rows_does_not_matter(size, seed, random):
    n, a, u, M = size
    relations, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, M)
    normal, anomaly, others = (random.sample(range(k), k) for k in (n, a, u))
    unlabelled = None if relations.unlabelled is None else relations.unlabelled[:, :, others]
    moved = descriptions(Relations(relations.normal[:, :, normal], relations.anomaly[:, :, anomaly], unlabelled), x)
    expected = descriptions(relations, x)
    expected["pairs"] = expected["pairs"][:, :, :, [*normal, *(n + k for k in anomaly)]]
    assert_same(moved, expected)


@pytest.mark.parametrize("u", [0, 12])
@pytest.mark.parametrize("a", [1, 3])
def test_an_anomaly_hidden_from_itself_is_described_as_a_query_of_the_support_without_it(a, u):
    """Exactly so but for two: its anomaly figures are ranked among those of background rows that do see it, and the
    share of anomalies counts it."""
    n, relations = 4, make(4, a, u)
    for k in range(a):
        rest = [other for other in range(a) if other != k]
        without = Relations(relations.normal, relations.anomaly[:, :, rest], relations.unlabelled)
        ours = descriptions(relations)
        theirs = descriptions(without, relations.anomaly[:, :, k : k + 1])
        ours = {name: value[:, :, n + k : n + k + 1] for name, value in ours.items()}
        ours["pairs"] = ours["pairs"][:, :, :, [*range(n), *(n + other for other in rest)]]
        exact = [figure for figure in range(2 * N_FIGURE) if figure not in (N_FIGURE + 2, N_FIGURE + 3)]
        ours["figures"], theirs["figures"] = ours["figures"][..., exact], theirs["figures"][..., exact]
        ours["facts"], theirs["facts"] = ours["facts"][..., [0, 1, 3]], theirs["facts"][..., [0, 1, 3]]
        assert_same(ours, theirs)


def test_a_normal_row_hidden_from_itself_is_described_nearly_as_a_query_of_the_support_without_it():
    """Exact: distances and what is seen from the origin. Nearly: what goes through the normal rows' mean, the columns'
    spread and ranks, the usual distances and the ranks of figures, all of which the row takes part in."""
    n, a, u = 3, 2, 200
    relations = make(n, a, u)
    without = Relations(relations.normal[:, :, 1:], relations.anomaly, relations.unlabelled)
    ours = descriptions(relations)
    theirs = descriptions(without, relations.normal[:, :, :1])
    torch.testing.assert_close(ours["pairs"][:, :, :1, 1:, :5], theirs["pairs"][..., :5])
    torch.testing.assert_close(ours["figures"][:, :, :1, :5], theirs["figures"][..., :5])
    from_center, neighbours, ranks = [5], slice(6, N_FIGURE), slice(N_FIGURE, None)
    mine, other = ours["figures"][:, :, :1], theirs["figures"]
    assert (mine[..., from_center] - other[..., from_center]).abs().max() < 0.6  # one of three normal rows
    torch.testing.assert_close(mine[..., neighbours], other[..., neighbours], rtol=0.02, atol=0.0)
    ranked_alike = (mine[..., ranks] - other[..., ranks]).abs()
    assert ranked_alike[..., 6:].max() < 0.03  # one of 200 rows more or less
    torch.testing.assert_close(
        ours["columns"][:, :, :1, :, [0, 1]], theirs["columns"][..., [0, 1]], rtol=0.05, atol=0.05
    )
    torch.testing.assert_close(ours["facts"][:, :, :1], theirs["facts"], rtol=0.0, atol=0.12)
