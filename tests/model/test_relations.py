"""Rows described by their relation to a task's rows, against loops over single rows, and what must not change them."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot.model.relations import N_PAIR_FEATURES, N_ROW_FEATURES, N_TASK_FEATURES, TaskContext
from tests.relation_references import TaskRows

SIZES = [(n, a, u) for n, a, u in itertools.product([1, 2, 5], [0, 1, 3], [0, 1, 12])]
TASKS = [(0, 0), (1, 2)]  # those that are compared with loops
ANOMALY_FIGURES = [2, 3, 6]  # the distance to the nearest anomaly, the times nearer it is, how far towards them

sizes = st.tuples(st.integers(1, 6), st.integers(0, 3), st.integers(0, 12), st.integers(1, 6))
seeds = st.integers(0, 1000)


def draw(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def make(n=5, a=1, u=0, M=4, seed=0, replicas=2, tasks=3):
    """Two replicas of three tasks; u = 0 is no unlabelled rows at all."""
    rows = draw(seed, replicas, tasks, n + a + u, M)
    return TaskContext(rows[:, :, :n], rows[:, :, n : n + a] + 2, rows[:, :, n + a :] if u else None)


def changed(relations, change):
    """The same tasks with something done to all their rows."""
    parts = relations.normal, relations.anomaly, relations.unlabelled
    return TaskContext(*(None if part is None else change(part) for part in parts))


def reordered(relations, random):
    """The same tasks with their rows in another order, and what that is: of the anomalies, of the normal rows."""
    parts = relations.normal, relations.anomaly, relations.unlabelled
    orders = [[] if part is None else random.sample(range(part.shape[2]), part.shape[2]) for part in parts]
    moved = (None if part is None else part[:, :, order] for part, order in zip(parts, orders, strict=True))
    return TaskContext(*moved), orders[1], orders[0]


def padded(rows, pad=3):
    return torch.nn.functional.pad(rows, (0, pad))


def loops(relations, r, t):
    """The same task for the references."""
    nothing = relations.normal[:, :, :0]
    parts = relations.normal, relations.anomaly, nothing if relations.unlabelled is None else relations.unlabelled
    return TaskRows(*(part[r, t].numpy() for part in parts))


def descriptions(relations, x=None):
    """All that is said about rows, by name; without x about the labelled rows, each without itself."""
    view = relations.support_leave_one_out if x is None else relations.query(x)
    sees = (
        (1 - torch.eye(relations.n_labelled)[: relations.n_anomaly].double()).sum(0).gt(0).double()
        if x is None
        else torch.tensor([float(relations.n_anomaly > 0)], dtype=torch.float64)
    )
    return {
        "pairs": view.pair_features(),
        "figures": view.standardised_row_features(),
        "facts": relations.task_features(sees),
    }


def assert_same(ours, theirs):
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, msg=lambda text, name=name: f"{name}: {text}")


def assert_near(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_other_rows_are_described_as_by_loops(n, a, u):
    relations, x = make(n, a, u), draw(1, 2, 3, 4, 4)
    ours = descriptions(relations, x)
    for (r, t), k in itertools.product(TASKS, range(4)):
        task, row = loops(relations, r, t), x[r, t, k].numpy()
        pairs = np.array([task.pair(row, other)[:7] for other in task.support])
        assert_near(ours["pairs"][r, :, t, :, k].T, pairs)
        assert_near(ours["figures"][r, t, :, k], task.described_figures(row))
        assert_near(ours["facts"][r, t, :, 0], task.facts())


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_support_rows_are_described_as_by_loops_that_leave_out_the_row_itself(n, a, u):
    relations = make(n, a, u)
    ours = descriptions(relations)
    for (r, t), k in itertools.product(TASKS, range(n + a)):
        task = loops(relations, r, t)
        row, others = task.support[k], [other for other in range(n + a) if other != k]
        pairs = np.array([task.pair(row, task.support[other])[:7] for other in others]).reshape(-1, 7)
        assert_near(ours["pairs"][r, :, t, others, k].T, pairs)
        assert_near(ours["figures"][r, t, :, k], task.described_figures(row, k))
        assert_near(ours["facts"][r, t, :, k], task.facts(k))


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_what_is_usual_is_as_by_loops(n, a, u):
    relations = make(n, a, u)
    for r, t in TASKS:
        task, (mean, spread) = loops(relations, r, t), relations.background_features
        assert_near(relations.bandwidth[r, t], task.bandwidth)
        assert_near(mean[r, t, :, 0], task.background_features[0])
        assert_near(spread[r, t, :, 0], task.background_features[1])


@pytest.mark.parametrize("u", [0, 7])
def test_shapes(u):
    relations, x = make(5, 2, u), draw(1, 2, 3, 6, 4)
    shapes = {name: tuple(value.shape) for name, value in descriptions(relations, x).items()}
    assert shapes == {
        "pairs": (2, 7, 3, 7, 6),
        "figures": (2, 3, 2 * N_ROW_FEATURES, 6),
        "facts": (2, 3, N_TASK_FEATURES, 1),
    }
    own = {name: tuple(value.shape) for name, value in descriptions(relations).items()}
    assert own == {
        "pairs": (2, 7, 3, 7, 7),
        "figures": (2, 3, 2 * N_ROW_FEATURES, 7),
        "facts": (2, 3, N_TASK_FEATURES, 7),
    }
    assert len(loops(relations, 0, 0).pair(*x[0, 0, :2].numpy())) + 1 == N_PAIR_FEATURES  # and the label


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.randoms(use_true_random=False))
def test_order_of_the_columns_does_not_matter(size, seed, random):
    relations, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    order = random.sample(range(size[-1]), size[-1])
    moved = changed(relations, lambda rows: rows[..., order])
    assert_same(descriptions(moved, x[..., order]), descriptions(relations, x))
    assert_same(descriptions(moved), descriptions(relations))


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.data())
def test_signs_of_the_columns_do_not_matter(size, seed, data):
    relations, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    signs = torch.tensor(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=size[-1], max_size=size[-1])))
    flipped = changed(relations, lambda rows: rows * signs)
    assert_same(descriptions(flipped, x * signs), descriptions(relations, x))
    assert_same(descriptions(flipped), descriptions(relations))


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.integers(1, 5))
def test_padding_with_zeros_does_not_matter(size, seed, pad):
    relations, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    wide = changed(relations, lambda rows: padded(rows, pad))
    assert wide.column_mask.sum(-1).eq(size[-1]).all()
    assert_same(descriptions(wide, padded(x, pad)), descriptions(relations, x))
    assert_same(descriptions(wide), descriptions(relations))


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.randoms(use_true_random=False))
def test_order_of_support_and_unlabelled_rows_does_not_matter(size, seed, random):
    relations, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    moved, anomaly, normal = reordered(relations, random)
    labelled = [*anomaly, *(size[1] + k for k in normal)]
    expected, own = descriptions(relations, x), descriptions(relations)
    expected["pairs"] = expected["pairs"][:, :, :, labelled]
    own = {name: value[..., labelled] for name, value in own.items()}
    own["pairs"] = own["pairs"][:, :, :, labelled]
    assert_same(descriptions(moved, x), expected)
    assert_same(descriptions(moved), own)


@pytest.mark.parametrize("u", [0, 12])
@pytest.mark.parametrize("a", [1, 3])
def test_an_anomaly_hidden_from_itself_is_described_as_a_query_of_the_support_without_it(a, u):
    """Exactly so but for two: how unusual its figures of anomalies are is seen among background rows that do see it,
    and the share of anomalies counts it."""
    relations = make(4, a, u)
    ours = descriptions(relations)
    exact = [figure for figure in range(2 * N_ROW_FEATURES) if figure - N_ROW_FEATURES not in ANOMALY_FIGURES]
    for k in range(a):
        rest = [other for other in range(a) if other != k]
        without = TaskContext(relations.normal, relations.anomaly[:, :, rest], relations.unlabelled)
        theirs = descriptions(without, relations.anomaly[:, :, k : k + 1])
        others = [*rest, *range(a, a + 4)]
        torch.testing.assert_close(ours["pairs"][:, :, :, others, k : k + 1], theirs["pairs"])
        mine, as_query = ours["figures"][..., k : k + 1], theirs["figures"]
        torch.testing.assert_close(mine[:, :, exact], as_query[:, :, exact])
        assert not torch.isclose(mine, as_query)[:, :, N_ROW_FEATURES + ANOMALY_FIGURES[-1]].any()
        torch.testing.assert_close(ours["facts"][:, :, [0, 1, 3], k : k + 1], theirs["facts"][:, :, [0, 1, 3]])


def test_a_normal_row_hidden_from_itself_is_described_nearly_as_a_query_of_the_support_without_it():
    """Exact: distances and what is seen from the origin. Nearly: what goes through the normal rows' mean, the usual
    distance, or what is usual of figures, all of which the row takes part in."""
    n, a, u = 3, 2, 200
    relations = make(n, a, u)
    without = TaskContext(relations.normal[:, :, 1:], relations.anomaly, relations.unlabelled)
    ours, theirs = descriptions(relations), descriptions(without, relations.normal[:, :, :1])
    from_origin, others = [0, 2, 3, 5], [0, 1, 3, 4]
    mine = ours["pairs"][:, :, :, others, a : a + 1]
    torch.testing.assert_close(mine[:, from_origin], theirs["pairs"][:, from_origin])
    mine, as_query = ours["figures"][..., a : a + 1], theirs["figures"]
    torch.testing.assert_close(mine[:, :, :5], as_query[:, :, :5])
    assert (mine - as_query)[:, :, [5, 6]].abs().max() < 0.6  # seen from the mean of normal rows, one of three
    torch.testing.assert_close(mine[:, :, 7:N_ROW_FEATURES], as_query[:, :, 7:N_ROW_FEATURES], rtol=0.02, atol=0.0)
    assert (mine - as_query)[:, :, N_ROW_FEATURES + 7 :].abs().max() < 0.05  # one of 200 rows more or less
    torch.testing.assert_close(ours["facts"][..., a : a + 1], theirs["facts"], rtol=0.0, atol=0.12)


def test_soft_minima_leave_out_the_row_itself_and_weigh_the_nearest_most():
    """Two rows at 0 and 1, a third at 5: seen from 0 the nearest is at 1, which is what is usual."""
    rows = torch.tensor([0.0, 1.0, 5.0], dtype=torch.float64)[None, None, :, None]
    relations = TaskContext(rows, rows[:, :, :0])
    near, wide, narrow, mean = relations.leave_one_out.row_features[0, 0, 7:, 0]
    np.testing.assert_allclose(relations.bandwidth, 1.0, atol=1e-5)
    np.testing.assert_allclose(near, 1.0, atol=1e-5)
    np.testing.assert_allclose(wide, -np.log((np.exp(-1.0) + np.exp(-5.0)) / 2), atol=1e-5)
    np.testing.assert_allclose(narrow, -np.log((np.exp(-4.0) + np.exp(-20.0)) / 2) / 4, atol=1e-5)
    np.testing.assert_allclose(mean, 3.0, atol=1e-5)


def test_queries_beyond_the_largest_are_taken_as_it():
    relations, x = make(), draw(1, 2, 3, 4, 4).sign() * 1e9
    assert_same(descriptions(relations, x * 1e21), descriptions(relations, x))


def test_padding_is_a_column_that_is_zero_in_all_rows():
    rows = torch.tensor([[0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 5.0]], dtype=torch.float64)[None, None]
    relations = TaskContext(rows[:, :, :2], rows[:, :, 2:])
    assert relations.column_mask.tolist() == [[[0.0, 1.0, 1.0]]]
    assert relations.n_columns.tolist() == [[[2.0]]]
    assert TaskContext(0 * rows, 0 * rows).n_columns.tolist() == [[[1.0]]]


@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equal_rows_are_no_distance_apart_however_large_their_numbers(size, dtype):
    rows = (size * draw(3, 1, 1, 6, 5)).to(dtype)
    relations = TaskContext(rows[:, :, :4], rows[:, :, 4:])
    ours = relations.query(relations.rows).squared_distances[0, 0]
    expected = (relations.rows[0, 0, :, None] - relations.rows[0, 0]).square().mean(-1) + 1e-6
    torch.testing.assert_close(ours, expected, rtol=1e-4, atol=0)


def test_near_rows_of_one_column_are_as_far_apart_as_they_are():
    rows = torch.tensor([100.0, 100.00003, 100.001, -5.0, 7.0, 3.0], dtype=torch.float32)[None, None, :, None]
    relations = TaskContext(rows[:, :, :4], rows[:, :, 4:])
    ours = relations.query(relations.rows).squared_distances[0, 0]
    exact = relations.rows[0, 0, :, 0].double()
    torch.testing.assert_close(ours.double(), (exact[:, None] - exact).square() + 1e-6, rtol=1e-6, atol=0)
