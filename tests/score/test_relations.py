"""Rows described by their relation to a task's rows, against loops over single rows, and what must not change them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot.score import relations
from oddshot.score.arrays import swap
from oddshot.score.context import Context
from oddshot.score.relations import (
    N_LABELLED_FEATURES,
    N_PAIR_FEATURES,
    N_ROW_FEATURES,
    N_TASK_FEATURES,
    Relation,
    labelled_features,
    own_relations,
    pair_features,
    row_features,
    row_statistics,
    standardise,
    task_features,
)
from oddshot.score.rows import LabelledRows
from tests.score.tasks import (
    ANOMALY_FIGURES,
    SIZES,
    TASKS,
    assert_near,
    assert_same,
    draw,
    make,
    padded,
    seeds,
    sizes,
)


def descriptions(tasks, x=None):
    """All that is said about rows, by name; without x about the labelled rows, each without itself."""
    context = tasks.context
    statistics, own = row_statistics(own_relations(context))
    if x is None:
        (relation,), figures = own_relations(context, context.n_labelled), own[..., : context.n_labelled]
        sees = np.minimum(relation.n_seen(0, context.n_anomaly), 1)
    else:
        relation, sees = Relation(context, swap(x)), np.array([float(context.n_anomaly > 0)])
        figures = row_features(relation, statistics.bandwidth)
    return {
        "pairs": pair_features(relation),
        "figures": standardise(figures, statistics, context.n_background),
        "facts": task_features(context, sees),
    }


def assert_same_descriptions(ours, theirs):
    for name, value in theirs.items():
        np.testing.assert_allclose(ours[name], value, rtol=1e-7, atol=1e-7, err_msg=name)


def without_self(pairs):
    """A row meets itself at a distance that nothing depends on: it is left out of every sum."""
    pairs = pairs.copy()
    itself = np.arange(pairs.shape[-1])
    assert np.isfinite(pairs).all()
    pairs[..., itself, itself] = 0
    return pairs


def own_descriptions(tasks):
    found = descriptions(tasks)
    return found | {"pairs": without_self(found["pairs"])}


def squared_distances(rows, n_normal):
    """[L, L]: of all rows, of which the last ones are anomalies."""
    context = Context.of(LabelledRows(rows[:n_normal], rows[n_normal:]))
    return Relation(context, context.x).to_labelled ** 2, swap(context.x)


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_other_rows_are_described_as_by_loops(n, a, u):
    tasks, x = make(n, a, u), draw(1, 2, 3, 4, 4)
    ours = descriptions(tasks, x)
    for (r, t), k in itertools.product(TASKS, range(4)):
        task, row = tasks.reference(r, t), x[r, t, k]
        pairs = np.array([task.pair(row, other)[:7] for other in task.support])
        assert_near(ours["pairs"][r, t, :, :, k].T, pairs)
        assert_near(ours["figures"][r, t, :, k], task.described_figures(row))
        assert_near(ours["facts"][r, t, :, 0], task.facts())


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_support_rows_are_described_as_by_loops_that_leave_out_the_row_itself(n, a, u):
    tasks = make(n, a, u)
    ours = descriptions(tasks)
    for (r, t), k in itertools.product(TASKS, range(n + a)):
        task = tasks.reference(r, t)
        row, others = task.support[k], [other for other in range(n + a) if other != k]
        pairs = np.array([task.pair(row, task.support[other])[:7] for other in others]).reshape(-1, 7)
        assert_near(ours["pairs"][r, t, :, others, k], pairs)
        assert_near(ours["figures"][r, t, :, k], task.described_figures(row, k))
        assert_near(ours["facts"][r, t, :, k], task.facts(k))


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_figures_of_all_own_rows_are_as_by_loops_that_leave_out_the_row_itself(n, a, u):
    tasks = make(n, a, u)
    statistics, features = row_statistics(own_relations(tasks.context))
    ours = standardise(features, statistics, n + u)
    for (r, t), k in itertools.product(TASKS, range(n + a + u)):
        task = tasks.reference(r, t)
        assert_near(ours[r, t, :, k], task.described_figures(task.rows[k], k))


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_what_is_usual_is_as_by_loops(n, a, u):
    tasks = make(n, a, u)
    statistics, _ = row_statistics(own_relations(tasks.context))
    for r, t in TASKS:
        task = tasks.reference(r, t)
        assert_near(statistics.bandwidth[r, t, 0], task.bandwidth)
        assert_near(statistics.mean[r, t, :, 0], task.background_features[0])
        assert_near(statistics.spread[r, t, :, 0], task.background_features[1])


@pytest.mark.parametrize(("n", "a"), [(1, 0), (5, 3)])
def test_what_a_labelled_row_tells_by_itself_is_as_by_loops(n, a):
    tasks = make(n, a)
    ours = labelled_features(tasks.context)
    assert ours.shape == (2, 3, N_LABELLED_FEATURES, n + a, 1)
    for (r, t), k in itertools.product(TASKS, range(n + a)):
        task = tasks.reference(r, t)
        assert_near(ours[r, t, :, k, 0], [*task.pair(task.support[0], task.support[k])[7:], float(k < a)])


@pytest.mark.parametrize("u", [0, 7])
def test_shapes(u):
    tasks, x = make(5, 2, u), draw(1, 2, 3, 6, 4)
    shapes = {name: value.shape for name, value in descriptions(tasks, x).items()}
    assert shapes == {
        "pairs": (2, 3, N_PAIR_FEATURES, 7, 6),
        "figures": (2, 3, 2 * N_ROW_FEATURES, 6),
        "facts": (2, 3, N_TASK_FEATURES, 1),
    }
    own = {name: value.shape for name, value in descriptions(tasks).items()}
    assert own == {
        "pairs": (2, 3, N_PAIR_FEATURES, 7, 7),
        "figures": (2, 3, 2 * N_ROW_FEATURES, 7),
        "facts": (2, 3, N_TASK_FEATURES, 7),
    }
    of_references = tasks.reference(0, 0).pair(*x[0, 0, :2])
    assert len(of_references) + 1 == N_PAIR_FEATURES + N_LABELLED_FEATURES  # and the label


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
@pytest.mark.parametrize("most", [1, 20, 45])
def test_own_rows_are_the_same_a_block_at_a_time(n, a, u, most, monkeypatch):
    tasks = make(n, a, u)
    statistics, features = row_statistics(own_relations(tasks.context))
    monkeypatch.setattr(relations, "MAX_DISTANCES", most)
    blocks = own_relations(tasks.context)
    assert sum(block.x.shape[-1] for block in blocks) == n + a + u
    assert most > 1 or len(blocks) == n + a + u
    by_blocks, of_blocks = row_statistics(blocks)
    assert_near(of_blocks, features)
    for ours, theirs in zip(by_blocks, statistics, strict=True):
        assert_near(ours, theirs)


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.randoms(use_true_random=False))
def test_order_of_the_columns_does_not_matter(size, seed, random):
    tasks, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    order = random.sample(range(size[-1]), size[-1])
    moved = tasks.changed(lambda rows: rows[..., order])
    assert_same_descriptions(descriptions(moved, x[..., order]), descriptions(tasks, x))
    assert_same_descriptions(own_descriptions(moved), own_descriptions(tasks))


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.data())
def test_signs_of_the_columns_do_not_matter(size, seed, data):
    tasks, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    signs = np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=size[-1], max_size=size[-1])))
    flipped = tasks.changed(lambda rows: rows * signs)
    assert_same_descriptions(descriptions(flipped, x * signs), descriptions(tasks, x))
    assert_same_descriptions(own_descriptions(flipped), own_descriptions(tasks))


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.integers(1, 5))
def test_padding_with_zeros_does_not_matter(size, seed, pad):
    tasks, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    wide = tasks.changed(lambda rows: padded(rows, pad))
    assert (wide.context.mask.sum(-2) == size[-1]).all()
    assert_same_descriptions(descriptions(wide, padded(x, pad)), descriptions(tasks, x))
    assert_same_descriptions(own_descriptions(wide), own_descriptions(tasks))


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.randoms(use_true_random=False))
def test_order_of_support_and_unlabelled_rows_does_not_matter(size, seed, random):
    tasks, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    moved, labelled = tasks.reordered(random)
    expected, own = descriptions(tasks, x), own_descriptions(tasks)
    expected["pairs"] = expected["pairs"][..., labelled, :]
    own = {name: value[..., labelled] for name, value in own.items()}
    own["pairs"] = own["pairs"][..., labelled, :]
    assert_same_descriptions(descriptions(moved, x), expected)
    assert_same_descriptions(own_descriptions(moved), own)


@pytest.mark.parametrize("u", [0, 12])
@pytest.mark.parametrize("a", [1, 3])
def test_an_anomaly_hidden_from_itself_is_described_as_a_query_of_the_support_without_it(a, u):
    """Exactly so but for two: how unusual its figures of anomalies are is seen among background rows that do see it,
    and the share of anomalies counts it."""
    tasks = make(4, a, u)
    ours = descriptions(tasks)
    exact = [figure for figure in range(2 * N_ROW_FEATURES) if figure - N_ROW_FEATURES not in ANOMALY_FIGURES]
    for k in range(a):
        rest = [other for other in range(a) if other != k]
        theirs = descriptions(tasks.with_anomalies(rest), tasks.anomaly[:, :, k : k + 1])
        others = [*rest, *range(a, a + 4)]
        assert_same(ours["pairs"][:, :, :, others, k : k + 1], theirs["pairs"])
        mine, as_query = ours["figures"][..., k : k + 1], theirs["figures"]
        assert_same(mine[:, :, exact], as_query[:, :, exact])
        assert not np.isclose(mine, as_query, rtol=1e-5)[:, :, N_ROW_FEATURES + ANOMALY_FIGURES[-1]].any()
        assert_same(ours["facts"][:, :, [0, 1, 3], k : k + 1], theirs["facts"][:, :, [0, 1, 3]])


def test_a_normal_row_hidden_from_itself_is_described_nearly_as_a_query_of_the_support_without_it():
    """Exact: distances and what is seen from the origin. Nearly: what goes through the normal rows' mean, the usual
    distance, or what is usual of figures, all of which the row takes part in."""
    n, a, u = 3, 2, 200
    tasks = make(n, a, u)
    without = tasks._replace(normal=tasks.normal[:, :, 1:])
    ours, theirs = descriptions(tasks), descriptions(without, tasks.normal[:, :, :1])
    from_origin, others = [0, 2, 3, 5], [0, 1, 3, 4]
    mine = ours["pairs"][:, :, :, others, a : a + 1]
    assert_same(mine[:, :, from_origin], theirs["pairs"][:, :, from_origin])
    mine, as_query = ours["figures"][..., a : a + 1], theirs["figures"]
    assert_same(mine[:, :, :5], as_query[:, :, :5])
    assert np.abs(mine - as_query)[:, :, [5, 6]].max() < 0.6  # seen from the mean of normal rows, one of three
    np.testing.assert_allclose(mine[:, :, 7:N_ROW_FEATURES], as_query[:, :, 7:N_ROW_FEATURES], rtol=0.02)
    assert np.abs(mine - as_query)[:, :, N_ROW_FEATURES + 7 :].max() < 0.05  # one of 200 rows more or less
    np.testing.assert_allclose(ours["facts"][..., a : a + 1], theirs["facts"], rtol=0, atol=0.12)


def test_soft_minima_leave_out_the_row_itself_and_weigh_the_nearest_most():
    """Two rows at 0 and 1, a third at 5: seen from 0 the nearest is at 1, which is what is usual."""
    rows = np.array([0.0, 1.0, 5.0])[:, None]
    statistics, features = row_statistics(own_relations(Context.of(LabelledRows(rows, rows[:0]))))
    near, wide, narrow, mean = np.expm1(features[7:, 0])
    np.testing.assert_allclose(statistics.bandwidth, 1.0, atol=1e-5)
    np.testing.assert_allclose(near, 1.0, atol=1e-5)
    np.testing.assert_allclose(wide, -np.log((np.exp(-1.0) + np.exp(-5.0)) / 2), atol=1e-5)
    np.testing.assert_allclose(narrow, -np.log((np.exp(-4.0) + np.exp(-20.0)) / 2) / 4, atol=1e-5)
    np.testing.assert_allclose(mean, 3.0, atol=1e-5)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_own", [False, True])
def test_soft_minima_are_those_of_the_formula_however_large_the_distances(size, dtype, is_own):
    rows, x = (size * draw(0, 30, 5)).astype(dtype), (size * draw(1, 20, 5)).astype(dtype)
    context = Context.of(LabelledRows(rows[:2], rows[:0]), rows[2:])
    relation = own_relations(context)[0] if is_own else Relation(context, swap(x))
    statistics, _ = row_statistics(own_relations(context))
    found = np.expm1(row_features(relation, statistics.bandwidth)[7:10].astype(np.float64))
    exact, of = rows.astype(np.float64), rows if is_own else x
    for k, row in enumerate(of.astype(np.float64)):
        seen = np.delete(exact, k, axis=0) if is_own else exact
        distance = np.sqrt(np.mean((seen - row) ** 2, axis=1) + 1e-6) / float(statistics.bandwidth[0])
        least = distance.min()
        soft = [least - np.log(np.mean(np.exp(power * (least - distance)))) / power for power in (1, 4)]
        # float32: what cancels in squared distances, and the logarithm that is taken back here
        np.testing.assert_allclose(found[:, k], [least, *soft], rtol=1e-9 if dtype is np.float64 else 1e-4)


def test_padding_is_a_column_that_is_zero_in_all_rows():
    rows = np.array([[0.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 5.0]])
    context = Context.of(LabelledRows(rows[:2], rows[2:]))
    assert context.mask[:, 0].tolist() == [0.0, 1.0, 1.0]
    assert context.n_columns.tolist() == [2.0]
    assert Context.of(LabelledRows(0 * rows, 0 * rows)).n_columns.tolist() == [1.0]


@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_are_no_distance_apart_however_large_their_numbers(size, dtype):
    ours, rows = squared_distances((size * draw(3, 6, 5)).astype(dtype), 4)
    expected = np.square(rows[:, None] - rows).mean(-1) + 1e-6
    np.testing.assert_allclose(ours, expected, rtol=1e-4)


def test_near_rows_of_one_column_are_as_far_apart_as_they_are():
    ours, rows = squared_distances(np.array([100.0, 100.00003, 100.001, -5.0, 7.0, 3.0], np.float32)[:, None], 4)
    exact = rows[:, 0].astype(np.float64)
    np.testing.assert_allclose(ours, np.square(exact[:, None] - exact) + 1e-6, rtol=1e-6)


@pytest.mark.parametrize("u", [0, 12])
def test_tasks_of_one_column_among_wider_ones_are_described_as_alone(u):
    """Of one column distances are differences, of several they come from products."""
    wide, narrow = make(4, 2, u, lead=()), make(4, 2, u, seed=5, lead=())
    narrow = narrow.changed(lambda rows: rows * np.array([0.0, 1.0, 0.0, 0.0]))
    both = type(wide)(
        *(None if one is None else np.stack([one, other]) for one, other in zip(wide, narrow, strict=True))
    )
    x = draw(6, 2, 7, 4)
    together, own = descriptions(both, x), own_descriptions(both)
    for k, alone in enumerate((wide, narrow)):
        assert_same_descriptions({name: value[k] for name, value in together.items()}, descriptions(alone, x[k]))
        assert_same_descriptions({name: value[k] for name, value in own.items()}, own_descriptions(alone))
    task = both.reference(1)
    for k in range(7):  # a row may have other numbers where the task has none
        assert_near(together["figures"][1, :, k], task.described_figures(x[1, k]))
