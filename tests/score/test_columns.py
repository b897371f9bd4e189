"""Values seen in their columns: the knots, what is said at each, and where values lie among them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot.score.arrays import signed_rank_count, swap
from oddshot.score.columns import (
    N_COLUMN_FEATURES,
    N_KNOTS,
    N_VALUE_FEATURES,
    column_features,
    column_statistics,
    knot_position,
    log_tail,
    value_features,
)
from oddshot.score.context import Context
from oddshot.score.rows import LabelledRows
from tests import relation_references
from tests.score.tasks import SIZES, TASKS, assert_near, assert_same, draw, make, padded, seeds, sizes

SIGNED = [0, 2]  # of what is said at a knot: how far the value and the anomalies are off, with sign
EVERY_KNOT = np.arange(N_KNOTS, dtype=np.float64)


def statistics_of(tasks):
    return column_statistics(tasks.context)


def of_all(columns):
    """Where the mean of all anomalies lies."""
    return columns.offsets.at(slice(-1, None))


def of_others(columns, k):
    """Where the mean of the anomalies without this one lies."""
    return columns.offsets.at(slice(k, k + 1))


def at_every_knot(columns, anomaly=None):
    """[..., 7, M, N_KNOTS]."""
    knots = np.broadcast_to(EVERY_KNOT, (*columns.mean.shape[:-1], N_KNOTS))
    return value_features(columns, knots, of_all(columns) if anomaly is None else anomaly)


def values_at(columns, places):
    """The values that lie at these places: [..., M, N]."""
    return columns.mean + columns.spread * np.array([relation_references.offset_at(place) for place in places])


def test_the_references_have_as_many_knots_as_the_source():
    assert relation_references.KNOTS == N_KNOTS


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_every_knot_is_described_as_by_loops(n, a, u):
    tasks = make(n, a, u)
    columns = statistics_of(tasks)
    ours, anomaly = at_every_knot(columns), column_features(columns, of_all(columns))
    for (r, t), m in itertools.product(TASKS, range(4)):
        task = tasks.reference(r, t)
        assert_near(ours[r, t, :, m].T, [task.knot(m, knot) for knot in range(N_KNOTS)])
        assert_near(anomaly[r, t, :, m, 0], task.anomaly_column(m))


@pytest.mark.parametrize(("n", "a", "u"), [size for size in SIZES if size[1] > 0])
def test_knots_are_described_for_anomalies_as_by_loops_that_leave_out_the_row_itself(n, a, u):
    tasks = make(n, a, u)
    columns = statistics_of(tasks)
    anomaly = column_features(columns, columns.offsets)
    for k in range(a):
        ours = at_every_knot(columns, of_others(columns, k))
        for (r, t), m in itertools.product(TASKS, range(4)):
            task = tasks.reference(r, t)
            knots = range(0, N_KNOTS, 9)
            assert_near(ours[r, t, :, m, ::9].T, [task.knot(m, knot, k) for knot in knots])
            assert_near(anomaly[r, t, :, m, k], task.anomaly_column(m, k))


@pytest.mark.parametrize("u", [0, 40])
def test_many_values_are_described_as_few(u):
    """Ranks in long columns come from a search, those in short ones from comparisons with every value."""
    tasks = make(30, 2, u)
    columns = statistics_of(tasks)
    ours = at_every_knot(columns)
    for (r, t), m in itertools.product(TASKS, range(4)):
        task = tasks.reference(r, t)
        assert_near(ours[r, t, :, m].T, [task.knot(m, knot) for knot in range(N_KNOTS)])


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_places_are_as_by_loops(n, a, u):
    tasks, x = make(n, a, u), draw(1, 2, 3, 4, 6) * np.array([0.01, 0.1, 1.0, 5.0, 20.0, 80.0])
    place = knot_position(statistics_of(tasks), x)
    for (r, t), m, k in itertools.product(TASKS, range(4), range(6)):
        assert_near(place[r, t, m, k], tasks.reference(r, t).place(m, x[r, t, m, k]))


@pytest.mark.parametrize("a", [0, 1, 2])
def test_shapes(a):
    columns, x = statistics_of(make(5, a, 3)), draw(1, 2, 3, 4, 6)
    assert knot_position(columns, x).shape == (2, 3, 4, 6)
    of_values = value_features(columns, np.floor(knot_position(columns, x)), of_all(columns))
    assert of_values.shape == (2, 3, N_VALUE_FEATURES, 4, 6)
    assert column_features(columns, of_all(columns)).shape == (2, 3, N_COLUMN_FEATURES, 4, 1)
    assert column_features(columns, columns.offsets).shape == (2, 3, N_COLUMN_FEATURES, 4, a + 1)


@settings(deadline=None, max_examples=50)
@given(sizes, seeds, st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20))
def test_a_larger_value_is_never_placed_lower(size, seed, values):
    columns = statistics_of(make(*size, seed=seed))
    x = np.broadcast_to(np.sort(values), (*columns.mean.shape[:-1], len(values)))
    place = knot_position(columns, x)
    assert (np.diff(place, axis=-1) >= 0).all()
    assert place.min() >= 0
    assert place.max() <= N_KNOTS - 1


@settings(deadline=None, max_examples=30)
@given(sizes, seeds)
def test_the_value_of_a_knot_is_placed_at_its_number(size, seed):
    columns = statistics_of(make(*size, seed=seed))
    place = knot_position(columns, values_at(columns, range(N_KNOTS)))
    np.testing.assert_allclose(place, np.broadcast_to(EVERY_KNOT, place.shape), rtol=0, atol=1e-9)


def test_knots_are_densest_around_the_mean_and_end_at_thirty_spreads():
    columns = statistics_of(make(20, 1))
    gaps = (np.diff(values_at(columns, range(N_KNOTS)), axis=-1) / columns.spread)[0, 0, 0]
    assert gaps.argmin() == N_KNOTS // 2 - 1
    assert gaps.min() < 0.05
    mean, spread = columns.mean, columns.spread
    for sign, end in ((-1, 0), (1, N_KNOTS - 1)):
        assert (knot_position(columns, mean + sign * 31 * spread) == end).all()
        assert (knot_position(columns, mean + sign * 1e9 * spread) == end).all()
        assert_same(knot_position(columns, mean + sign * 30 * spread), np.full_like(mean, end))
        assert (np.abs(knot_position(columns, mean + sign * 29 * spread) - end) > 0.1).all()


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.randoms(use_true_random=False))
def test_a_column_does_not_depend_on_the_others_or_on_the_order_of_rows(size, seed, random):
    tasks, x = make(*size, seed=seed), draw(seed + 1, 2, 3, size[-1], 5)
    order = random.sample(range(size[-1]), size[-1])
    expected = statistics_of(tasks)
    others = statistics_of(tasks.reordered(random)[0].changed(lambda rows: padded(rows[..., order])))
    place = knot_position(others, swap(padded(swap(x[:, :, order]))))
    assert_same(place[:, :, : size[-1]], knot_position(expected, x)[:, :, order])
    assert_same(at_every_knot(others)[..., : size[-1], :], at_every_knot(expected)[..., order, :])


@settings(deadline=None, max_examples=30)
@given(sizes, seeds)
def test_a_column_with_another_sign_is_described_backwards_but_for_the_two_signed_entries(size, seed):
    """The column network is told on which side a row and the anomalies are, so a description is not free of signs."""
    tasks, x = make(*size, seed=seed), draw(seed + 1, 2, 3, size[-1], 5)
    columns, flipped = statistics_of(tasks), statistics_of(tasks.changed(np.negative))
    assert_same(knot_position(flipped, -x), N_KNOTS - 1 - knot_position(columns, x))
    expected = at_every_knot(columns)[..., ::-1].copy()
    expected[..., SIGNED, :, :] *= -1
    assert_same(at_every_knot(flipped), expected)
    assert_same(column_features(flipped, of_all(flipped)), column_features(columns, of_all(columns)))


@pytest.mark.parametrize("u", [0, 12])
@pytest.mark.parametrize("a", [1, 3])
def test_an_anomaly_hidden_from_itself_sees_columns_as_a_query_of_the_support_without_it(a, u):
    tasks = make(4, a, u)
    columns = statistics_of(tasks)
    for k in range(a):
        without = statistics_of(tasks.with_anomalies([other for other in range(a) if other != k]))
        for ours, theirs in zip(of_others(columns, k), of_all(without), strict=True):
            assert_same(ours, theirs)
        assert_same(at_every_knot(columns, of_others(columns, k)), at_every_knot(without))
        assert_same(knot_position(columns, swap(tasks.rows)), knot_position(without, swap(tasks.rows)))


@pytest.mark.parametrize("places", [[0, 2], [1]])
def test_offsets_are_taken_by_their_places(places):
    offsets = statistics_of(make(4, 2)).offsets
    for ours, every in zip(offsets.at(np.array(places)), offsets, strict=True):
        np.testing.assert_array_equal(ours, every[..., places])


def test_ties_count_neither_below_nor_above():
    rows = np.array([1.0, 2.0, 2.0, 5.0])[:, None]
    columns = column_statistics(Context.of(LabelledRows(rows, rows[:0])))
    excess = signed_rank_count(columns.ordered, np.array([[0.0, 1.0, 1.5, 2.0, 3.0, 5.0, 6.0]]))
    assert excess.flatten().tolist() == [-4, -3, -2, 0, 2, 3, 4]
    share = np.exp(-log_tail(excess, 4)).flatten()
    np.testing.assert_allclose(share, np.array([0.5, 1.0, 1.5, 2.5, 1.5, 1.0, 0.5]) / 5)
