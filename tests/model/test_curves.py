"""Values seen in their columns: the knots, what is said at each, and where values lie among them."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot.model.curves import N_COLUMN_FEATURES, N_KNOTS, N_VALUE_FEATURES, ColumnCurves
from oddshot.model.relations import TaskContext
from tests import relation_references
from tests.model.test_relations import (
    SIZES,
    TASKS,
    assert_near,
    changed,
    draw,
    loops,
    make,
    padded,
    reordered,
    seeds,
    sizes,
)

SIGNED = [0, 2]  # of what is said at a knot: how far the value and the anomalies are off, with sign
EVERY_KNOT = torch.arange(N_KNOTS, dtype=torch.float64)


def at_every_knot(columns, direction=None):
    """[R, 7, T, M, N_KNOTS]."""
    knots = EVERY_KNOT.expand(*columns.context.column_mask.shape, -1)
    return columns.value_features(knots, columns.anomaly_offset if direction is None else direction)


def values_at(columns, places):
    """The values that lie at these places: [R, T, M, N]."""
    mean, spread = columns.moments
    return mean + spread * torch.tensor([relation_references.offset_at(place) for place in places])


def leave_one_out(columns):
    """Of all labelled rows: [R, T, M, K]."""
    return columns.offset_of_others(torch.arange(columns.context.n_labelled))


def take(direction, k):
    return type(direction)(*(part[..., k : k + 1] for part in direction))


def test_the_references_have_as_many_knots_as_the_source():
    assert relation_references.KNOTS == N_KNOTS


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_every_knot_is_described_as_by_loops(n, a, u):
    columns = ColumnCurves(make(n, a, u))
    ours, anomaly = at_every_knot(columns), columns.column_features(columns.anomaly_offset)
    for (r, t), m in itertools.product(TASKS, range(4)):
        task = loops(columns.context, r, t)
        assert_near(ours[r, :, t, m].T, [task.knot(m, knot) for knot in range(N_KNOTS)])
        assert_near(anomaly[r, :, t, m, 0], task.anomaly_column(m))


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_knots_are_described_for_support_rows_as_by_loops_that_leave_out_the_row_itself(n, a, u):
    columns = ColumnCurves(make(n, a, u))
    anomaly = columns.column_features(leave_one_out(columns))
    for k in range(n + a):
        ours = at_every_knot(columns, take(leave_one_out(columns), k))
        for (r, t), m in itertools.product(TASKS, range(4)):
            task = loops(columns.context, r, t)
            knots = range(0, N_KNOTS, 9)
            assert_near(ours[r, :, t, m, ::9].T, [task.knot(m, knot, k) for knot in knots])
            assert_near(anomaly[r, :, t, m, k], task.anomaly_column(m, k))


@pytest.mark.parametrize(("n", "a", "u"), SIZES)
def test_places_are_as_by_loops(n, a, u):
    columns, x = ColumnCurves(make(n, a, u)), draw(1, 2, 3, 4, 6) * torch.tensor([0.01, 0.1, 1.0, 5.0, 20.0, 80.0])
    place = columns.knot_position(x)
    for (r, t), m, k in itertools.product(TASKS, range(4), range(6)):
        assert_near(place[r, t, m, k], loops(columns.context, r, t).place(m, float(x[r, t, m, k])))


@pytest.mark.parametrize("a", [0, 1, 2])
def test_shapes(a):
    columns, x = ColumnCurves(make(5, a, 3)), draw(1, 2, 3, 4, 6)
    assert columns.knot_position(x).shape == (2, 3, 4, 6)
    assert columns.value_features(columns.knot_position(x).floor(), columns.anomaly_offset).shape == (
        2,
        N_VALUE_FEATURES,
        3,
        4,
        6,
    )
    assert columns.column_features(columns.anomaly_offset).shape == (2, N_COLUMN_FEATURES, 3, 4, 1)
    assert columns.column_features(leave_one_out(columns)).shape == (2, N_COLUMN_FEATURES, 3, 4, 5 + a)


@settings(deadline=None, max_examples=50)
@given(sizes, seeds, st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20))
def test_a_larger_value_is_never_placed_lower(size, seed, values):
    columns = ColumnCurves(make(*size, seed=seed))
    x = torch.tensor(sorted(values), dtype=torch.float64).expand(*columns.context.column_mask.shape, -1)
    place = columns.knot_position(x)
    assert (place.diff(dim=-1) >= 0).all()
    assert place.min() >= 0
    assert place.max() <= N_KNOTS - 1


@settings(deadline=None, max_examples=30)
@given(sizes, seeds)
def test_the_value_of_a_knot_is_placed_at_its_number(size, seed):
    columns = ColumnCurves(make(*size, seed=seed))
    place = columns.knot_position(values_at(columns, range(N_KNOTS)))
    torch.testing.assert_close(place, EVERY_KNOT.expand_as(place), rtol=0.0, atol=1e-9)


def test_knots_are_densest_around_the_mean_and_end_at_thirty_spreads():
    columns = ColumnCurves(make(20, 1))
    values = values_at(columns, range(N_KNOTS))
    gaps = (values.diff(dim=-1) / columns.moments[1])[0, 0, 0]
    assert gaps.argmin() == N_KNOTS // 2 - 1
    assert gaps.min() < 0.05
    mean, spread = columns.moments
    for sign, end in ((-1, 0), (1, N_KNOTS - 1)):
        assert (columns.knot_position(mean + sign * 31 * spread) == end).all()
        assert (columns.knot_position(mean + sign * 1e9 * spread) == end).all()
        torch.testing.assert_close(columns.knot_position(mean + sign * 30 * spread), torch.full_like(mean, end))
        assert ((columns.knot_position(mean + sign * 29 * spread) - end).abs() > 0.1).all()


@settings(deadline=None, max_examples=30)
@given(sizes, seeds, st.randoms(use_true_random=False))
def test_a_column_does_not_depend_on_the_others_or_on_the_order_of_rows(size, seed, random):
    relations, x = make(*size, seed=seed), draw(seed + 1, 2, 3, size[-1], 5)
    order = random.sample(range(size[-1]), size[-1])
    expected = ColumnCurves(relations)
    others = ColumnCurves(changed(reordered(relations, random)[0], lambda rows: padded(rows[..., order])))
    place = others.knot_position(padded(x[:, :, order].mT).mT)
    torch.testing.assert_close(place[:, :, : size[-1]], expected.knot_position(x)[:, :, order])
    torch.testing.assert_close(at_every_knot(others)[:, :, :, : size[-1]], at_every_knot(expected)[:, :, :, order])


@settings(deadline=None, max_examples=30)
@given(sizes, seeds)
def test_a_column_with_another_sign_is_described_backwards_but_for_the_two_signed_entries(size, seed):
    """The column network is told on which side a row and the anomalies are, so a description is not free of signs."""
    relations, x = make(*size, seed=seed), draw(seed + 1, 2, 3, size[-1], 5)
    columns, flipped = ColumnCurves(relations), ColumnCurves(changed(relations, torch.neg))
    torch.testing.assert_close(flipped.knot_position(-x), N_KNOTS - 1 - columns.knot_position(x))
    expected = at_every_knot(columns).flip(-1)
    expected[:, SIGNED] *= -1
    torch.testing.assert_close(at_every_knot(flipped), expected)
    anomaly = columns.column_features(columns.anomaly_offset)
    torch.testing.assert_close(flipped.column_features(flipped.anomaly_offset), anomaly)


@pytest.mark.parametrize("u", [0, 12])
@pytest.mark.parametrize("a", [1, 3])
def test_an_anomaly_hidden_from_itself_sees_columns_as_a_query_of_the_support_without_it(a, u):
    relations = make(4, a, u)
    own = leave_one_out(ColumnCurves(relations))
    for k in range(a):
        rest = [other for other in range(a) if other != k]
        without = ColumnCurves(TaskContext(relations.normal, relations.anomaly[:, :, rest], relations.unlabelled))
        torch.testing.assert_close(take(own, k), without.anomaly_offset)
        torch.testing.assert_close(at_every_knot(ColumnCurves(relations), take(own, k)), at_every_knot(without))
        torch.testing.assert_close(
            ColumnCurves(relations).knot_position(relations.rows.mT), without.knot_position(relations.rows.mT)
        )


def test_normal_rows_see_all_anomalies():
    columns = ColumnCurves(make(4, 3))
    for ours, shared in zip(leave_one_out(columns), columns.anomaly_offset, strict=True):
        torch.testing.assert_close(ours[..., 3:], shared.expand(-1, -1, -1, 4))


def test_ties_count_neither_below_nor_above():
    rows = torch.tensor([1.0, 2.0, 2.0, 5.0], dtype=torch.float64)[None, None, :, None]
    columns = ColumnCurves(TaskContext(rows, rows[:, :, :0]))
    excess = columns.rank_excess(torch.tensor([[[[0.0, 1.0, 1.5, 2.0, 3.0, 5.0, 6.0]]]], dtype=torch.float64))
    assert excess.flatten().tolist() == [-4, -3, -2, 0, 2, 3, 4]
    share = (-columns.log_tail(excess)).exp().flatten()
    np.testing.assert_allclose(share, np.array([0.5, 1.0, 1.5, 2.5, 1.5, 1.0, 0.5]) / 5)
