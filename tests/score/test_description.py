"""Rows described by networks, against loops over single rows; the table of knots against the direct way."""

import gc
import itertools
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot.score import description, relations
from oddshot.score.arrays import swap
from oddshot.score.columns import N_KNOTS
from oddshot.score.description import DescriptionNetworks, describe_task
from oddshot.score.networks import Layers
from oddshot.score.relations import N_ROW_FEATURES, N_TASK_FEATURES
from tests.score.tasks import (
    ANOMALY_FIGURES,
    COLUMN,
    HEADS,
    PAIR,
    SIZES,
    TASKS,
    assert_near,
    assert_same,
    draw,
    make,
    make_networks,
    of_replica,
    padded,
    seeds,
    sizes,
)
from tests.score.test_columns import values_at

COLUMNS = slice(3 * PAIR, 3 * PAIR + (2 + HEADS) * COLUMN)  # where a description tells of the columns
FIGURES = slice(COLUMNS.stop, COLUMNS.stop + 2 * N_ROW_FEATURES)
D = FIGURES.stop + N_TASK_FEATURES


def describe_all(tasks, networks=None, **settings):
    """What describes rows of these tasks, and descriptions of their own."""
    lead = tasks.normal.shape[:-2][:1]
    return describe_task(networks or make_networks(lead), tasks.context, **settings)


def describer(tasks, networks=None):
    return describe_all(tasks, networks)[0]


def one_task(n=5, a=2, u=6, M=4, seed=0, dtype=np.float64):
    """Without and with a table."""
    tasks = make(n, a, u, M, seed, lead=()).changed(lambda rows: rows.astype(dtype))
    layers = (Layers(*(tuple(w.astype(dtype) for w in part) for part in one)) for one in make_networks(())[:3])
    direct, _ = describe_task(DescriptionNetworks(*layers), tasks.context, n_own=a + n)
    assert direct.table is None
    return tasks, direct, direct.with_table()


def described_by_loops(networks, tasks, *place):
    marks = None if networks.embeddings is None else networks.embeddings[place[:1]][..., 0].T
    task, layers = tasks.reference(*place, marks=marks), [of_replica(part, *place[:1]) for part in networks[:3]]
    return task, lambda row, own=None: task.description(layers, row, own)


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
@pytest.mark.parametrize("n_marks", [0, 2])
def test_other_rows_are_described_as_by_loops(n, a, u, n_marks):
    tasks, x = make(n, a, u), draw(1, 2, 3, 4, 4) * np.array([0.1, 1.0, 3.0, 30.0])[:, None]
    networks = make_networks(n_marks=n_marks)
    ours = describer(tasks, networks)(x)
    assert ours.shape == (2, 3, 4, D)
    for r, t in TASKS:
        _, expected = described_by_loops(networks, tasks, r, t)
        for k in range(4):
            assert_near(ours[r, t, k], expected(x[r, t, k]))


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
@pytest.mark.parametrize("n_marks", [0, 2])
def test_own_rows_are_described_as_by_loops_that_leave_out_the_row_itself(n, a, u, n_marks):
    tasks, networks = make(n, a, u), make_networks(n_marks=n_marks)
    _, ours = describe_all(tasks, networks)
    assert ours.shape == (2, 3, a + n + u, D)
    for r, t in TASKS:
        task, expected = described_by_loops(networks, tasks, r, t)
        for k in range(a + n + u):
            assert_near(ours[r, t, k], expected(task.rows[k], k))


@pytest.mark.parametrize("n_marks", [0, 2])
@pytest.mark.parametrize(("n", "a", "u"), [(1, 0, 0), (1, 1, 0), (5, 3, 12), (2, 0, 12)])
def test_many_rows_of_one_task_are_described_as_by_loops(n, a, u, n_marks):
    tasks, networks, x = make(n, a, u, lead=()), make_networks((), n_marks=n_marks), 3 * draw(1, N_KNOTS, 4)
    ours, (_, expected) = describer(tasks, networks).with_table()(x), described_by_loops(networks, tasks)
    for k in range(0, N_KNOTS, 5):
        assert_near(ours[k], expected(x[k]))


@pytest.mark.parametrize("a", [0, 2])
def test_many_own_rows_of_one_task_are_described_as_by_loops(a):
    """By the table, but for the anomalies, whose columns look another way without them."""
    tasks, networks = make(5, a, N_KNOTS, lead=()), make_networks(())
    (describe, ours), (task, expected) = describe_all(tasks, networks), described_by_loops(networks, tasks)
    assert describe.table is not None
    for k in [*range(a + 5), *range(a + 5, a + 5 + N_KNOTS, 9)]:
        assert_near(ours[k], expected(task.rows[k], k))


def test_every_number_of_a_description_says_something():
    """Else the comparisons with loops would compare nothing but zeros."""
    described = describer(make(5, 2, 6))(draw(1, 2, 3, 50, 4)).reshape(2, 150, D)
    says = described.var(axis=1) > 0
    assert says[:, : FIGURES.stop].mean() > 0.9


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize(("n", "a", "u"), [(1, 0, 0), (1, 1, 1), (5, 2, 6), (30, 1, 200)])
@pytest.mark.parametrize("M", [1, 4, 50])
def test_the_table_gives_what_the_direct_way_gives(n, a, u, M, dtype, rtol):
    _, direct, by_table = one_task(n, a, u, M, dtype=dtype)
    x = (draw(1, 200, M) * np.logspace(-2, 3, 200)[:, None]).astype(dtype)
    found, expected = by_table(x), direct(x)
    assert found.dtype == expected.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dead", [0, 3])
def test_the_table_leaves_out_columns_that_do_not_count(dead):
    tasks, x = make(5, 2, 6, lead=()).changed(lambda rows: rows * (np.arange(4) != dead)), draw(1, 100, 4)
    direct, moved = describer(tasks), x + 5.0 * (np.arange(4) == dead)
    by_table = direct.with_table()
    described = by_table(x)
    assert_same(described, direct(x))
    assert_same(by_table(moved)[:, COLUMNS], described[:, COLUMNS])
    assert not np.allclose(by_table(moved)[:, FIGURES], described[:, FIGURES])


@pytest.mark.parametrize("a", [0, 2])
def test_pairs_and_columns_apart_are_those_of_a_description(a):
    """As prepared scores have them: what is the same for all rows is left out."""
    _, describe, by_table = one_task(a=a)
    x = 5 * draw(1, 30, 4)
    of_rows, of_columns = by_table.parts(x, by_table.table)
    of_task = np.broadcast_to(by_table.of_task(), (30, N_TASK_FEATURES))
    joined = np.concatenate([of_rows[:, : 3 * PAIR], of_columns, of_rows[:, 3 * PAIR :], of_task], axis=1)
    assert_near(joined, describe(x))


@pytest.mark.parametrize("many", [1, N_KNOTS])
@pytest.mark.parametrize("by_table", [False, True])
def test_how_rows_lie_in_memory_does_not_matter(many, by_table):
    describe, x = one_task()[1 + by_table], draw(1, 2 * many, 4)
    whole = np.broadcast_to(x[:1], (many, 4))
    for rows in (np.asfortranarray(x), x[::2], x[::-1], whole, np.broadcast_to(x[:, :1], x.shape)):
        assert_same(describe(rows), describe(rows.copy()))


@pytest.mark.parametrize("n_marks", [0, 2])
@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_first_own_rows_are_described_alone_as_among_all(n, a, u, n_marks):
    """Where only the support is needed, unlabelled rows are not described."""
    tasks, networks = make(n, a, u), make_networks(n_marks=n_marks)
    _, every = describe_all(tasks, networks)
    _, support = describe_all(tasks, networks, n_own=a + n)
    assert support.shape == (2, 3, a + n, D)
    assert_near(support, every[:, :, : a + n])


@pytest.mark.parametrize("size", [1, N_KNOTS - 1, N_KNOTS, 150])
@pytest.mark.parametrize("by_table", [False, True])
def test_a_row_is_described_whatever_rows_are_beside_it(size, by_table):
    describe, x = one_task()[1 + by_table], draw(1, 200, 4)
    alone = np.concatenate([describe(x[k : k + 1]) for k in range(size)])
    np.testing.assert_allclose(describe(x[:size]), alone, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("by_table", [False, True])
def test_the_curve_is_continuous_at_every_knot(by_table):
    """A step would show: from one knot to the next the description changes by far more than from side to side."""
    describe = one_task()[1 + by_table]
    x = swap(values_at(describe.columns, range(N_KNOTS)))  # a row for each knot, at it in all columns
    below, at, above = (describe(x + side)[:, COLUMNS] for side in (-1e-9, 0.0, 1e-9))
    np.testing.assert_allclose(below, at, rtol=0, atol=1e-6)
    np.testing.assert_allclose(above, at, rtol=0, atol=1e-6)
    assert (np.abs(np.diff(at, axis=0)).max(-1) > 1e-4).all()


@pytest.mark.parametrize("by_table", [False, True])
@pytest.mark.parametrize("share", [0.25, 0.5])
def test_curves_and_their_powers_are_straight_between_knots(share, by_table):
    describe = one_task()[1 + by_table]

    def described(offset):
        out = describe(swap(values_at(describe.columns, np.arange(N_KNOTS) + offset)))[:, COLUMNS]
        return np.concatenate([out[:, :-COLUMN], out[:, -COLUMN:] ** 4], axis=-1)

    at_knots, between = described(0.0), described(share)[:-1]
    np.testing.assert_allclose(between, (1 - share) * at_knots[:-1] + share * at_knots[1:], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("by_table", [False, True])
def test_values_beyond_thirty_spreads_tell_of_their_column_what_the_end_tells(by_table):
    describe = one_task()[1 + by_table]
    mean, spread = swap(describe.columns.mean), swap(describe.columns.spread)
    for sign in (-1.0, 1.0):
        sizes = np.array([29.0, 30.0, 31.0, 1e3, 1e9, 1e20])[:, None]
        described = describe(mean + sign * sizes * spread)[:, COLUMNS]
        np.testing.assert_allclose(described[2:], described[[1] * 4], rtol=1e-9, atol=1e-9)
        assert not np.allclose(described[0], described[1], rtol=1e-4)


@pytest.mark.parametrize("by_table", [False, True])
def test_rows_beyond_the_largest_are_taken_as_it(by_table):
    describe, x = one_task()[1 + by_table], np.sign(draw(1, 4, 4)) * 2.0**30
    assert_same(describe(x * 1e21), describe(x))
    assert not np.allclose(describe(x * 0.9), describe(x), rtol=1e-4)
    tasks = make(5, 2, 6, lead=())
    largest, beyond = (tasks.changed(lambda rows, size=size: np.sign(rows) * size) for size in (2.0**30, 1e30))
    assert_same(describe_all(beyond)[1], describe_all(largest)[1])


@pytest.mark.parametrize("size", [1e3, 1e6])
def test_attention_of_any_size_is_a_mean_over_columns(size):
    """Where one column has all of it, what columns tell is what that one tells."""
    tasks, x, networks = make(5, 2, 6), draw(1, 2, 3, 4, 4), make_networks()
    strong = networks.attention._replace(weights=tuple(size * weight for weight in networks.attention.weights))
    describe, own = describe_all(tasks, networks._replace(attention=strong))
    weights = describe.weights[:, :, 1:]
    np.testing.assert_allclose(weights.sum(-2), 1.0, rtol=1e-12)
    assert (weights.max(-2) > 1 - 1e-9).mean() > 0.9
    assert np.isfinite(describe(x)).all()
    assert np.isfinite(own).all()


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.randoms(use_true_random=False))
def test_order_of_columns_and_rows_does_not_matter(size, seed, random):
    tasks, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    order = random.sample(range(size[-1]), size[-1])
    moved, labelled = tasks.changed(lambda rows: rows[..., order]).reordered(random)
    (describe, own), (described_moved, own_moved) = (describe_all(one) for one in (tasks, moved))
    assert_same(described_moved(x[..., order]), describe(x))
    assert_same(own_moved[:, :, : len(labelled)], own[:, :, labelled])


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.integers(1, 5), st.booleans())
def test_padding_with_zeros_does_not_matter(size, seed, pad, by_table):
    tasks, x = make(*size, seed=seed, lead=()), draw(seed + 1, 4, size[-1])
    (wide, own_wide), (narrow, own) = (
        describe_all(one) for one in (tasks.changed(lambda part: padded(part, pad)), tasks)
    )
    assert_same((wide.with_table() if by_table else wide)(padded(x, pad)), narrow(x))
    assert_same(own_wide, own)


@settings(deadline=None, max_examples=30)
@given(sizes, seeds)
def test_signs_of_the_columns_matter_to_what_columns_tell_alone(size, seed):
    tasks, x = make(*size, seed=seed), draw(seed + 1, 2, 3, 4, size[-1])
    rest = [k for k in range(D) if not COLUMNS.start <= k < COLUMNS.stop]
    ours, flipped = describer(tasks)(x), describer(tasks.changed(np.negative))(-x)
    assert_same(flipped[..., rest], ours[..., rest])
    assert not np.allclose(flipped[..., COLUMNS], ours[..., COLUMNS])


@pytest.mark.parametrize("u", [0, 12])
@pytest.mark.parametrize("a", [1, 3])
def test_an_anomaly_hidden_from_itself_is_described_as_a_query_of_the_support_without_it(a, u):
    """Exactly so but for what background rows that do see it find usual, and the share of anomalies."""
    tasks = make(4, a, u)
    _, ours = describe_all(tasks)
    inexact = {FIGURES.start + N_ROW_FEATURES + k for k in ANOMALY_FIGURES} | {FIGURES.stop + 2}
    exact = [k for k in range(D) if k not in inexact]
    for k in range(a):
        without = tasks.with_anomalies([other for other in range(a) if other != k])
        theirs = describer(without)(tasks.anomaly[:, :, k : k + 1])
        assert_same(ours[:, :, k : k + 1, exact], theirs[..., exact])


def test_a_normal_row_hidden_from_itself_is_described_nearly_as_a_query_of_the_support_without_it():
    """Nearly, for it takes part in the normal rows' mean and in the background; not at all as one that sees itself."""
    tasks = make(40, 2, 200)
    describe, own = describe_all(tasks, n_own=42)
    without, row = tasks._replace(normal=tasks.normal[:, :, 1:]), tasks.normal[:, :, :1]
    np.testing.assert_allclose(own[:, :, 2:3], describer(without)(row), rtol=0.05, atol=0.05)
    assert np.abs(own[:, :, 2:3] - describe(row)).max() > 1


@pytest.mark.parametrize("n_marks", [0, 2])
@pytest.mark.parametrize("a", [0, 1, 2])
def test_tasks_and_replicas_do_not_see_each_other(a, n_marks):
    tasks, networks, x = make(5, a, 6), make_networks(n_marks=n_marks), draw(1, 2, 3, 4, 4)
    describe, own = describe_all(tasks, networks)
    described = describe(x)
    for r, t in np.ndindex(2, 3):
        of_one = [Layers(*(tuple(w[r] for w in part) for part in layers)) for layers in networks[:3]]
        embeddings = None if networks.embeddings is None else networks.embeddings[r]
        alone, own_alone = describe_all(
            tasks.changed(lambda rows, r=r, t=t: rows[r, t]), DescriptionNetworks(*of_one, embeddings)
        )
        assert_near(alone(x[r, t]), described[r, t])
        assert_near(own_alone, own[r, t])


@pytest.mark.parametrize("n_marks", [0, 2])
@pytest.mark.parametrize("a", [0, 2])
def test_networks_over_columns_see_some_of_them_as_if_there_were_no_others(a, n_marks):
    tasks, networks, x, seen = make(5, a, 6), make_networks(n_marks=n_marks), draw(1, 2, 3, 4, 4), np.array([3, 1])
    few = networks
    if networks.embeddings is not None:
        few = networks._replace(embeddings=networks.embeddings[:, :, seen])
    describe, own = describe_all(tasks, few, seen_columns=seen)
    of_seen, own_seen = describe_all(tasks.changed(lambda rows: rows[..., seen]), few)
    of_all, own_all = describe_all(tasks, networks)
    rest = [k for k in range(D) if not COLUMNS.start <= k < COLUMNS.stop]
    found = (describe(x), of_seen(x[..., seen]), of_all(x)), (own, own_seen, own_all)
    for ours, from_seen, from_all in found:
        assert_near(ours[..., COLUMNS], from_seen[..., COLUMNS])
        assert_near(ours[..., rest], from_all[..., rest])


@pytest.mark.parametrize("u", [0, 12, 70])
def test_what_relates_own_rows_is_freed_once_they_are_described(u, monkeypatch):
    """It grows with the square of their number."""
    related = []

    def remember(*arguments):
        found = relations.own_relations(*arguments)
        related.extend(map(weakref.ref, found))
        return found

    monkeypatch.setattr(description, "own_relations", remember)
    gc.disable()
    try:
        describe, _ = describe_all(make(5, 1, u, lead=()))
        assert related
        assert all(relation() is None for relation in related)
    finally:
        gc.enable()
    assert np.isfinite(describe(draw(1, 3, 4))).all()


@pytest.mark.parametrize("most", [1, 1000, 2**19])
@pytest.mark.parametrize("a", [0, 1, 3])
def test_many_own_rows_are_described_some_at_a_time_as_all_at_once(a, most, monkeypatch):
    """By the table, in blocks, some of which hold anomalies and normal rows; two of the rows are equal."""
    tasks, networks = make(5, a, 70), make_networks()
    tasks.unlabelled[:, :, 1] = tasks.unlabelled[:, :, 0]
    _, at_once = describe_all(tasks, networks)
    monkeypatch.setattr(relations, "MAX_DISTANCES", most)
    for r, t in itertools.product(range(2), range(3)):
        of_one = [Layers(*(tuple(w[r] for w in part) for part in layers)) for layers in networks[:3]]
        one = tasks.changed(lambda rows, r=r, t=t: rows[r, t])
        describe, found = describe_all(one, DescriptionNetworks(*of_one))
        assert describe.table is not None
        assert_near(found, at_once[r, t])
