import numpy as np
import pytest

from oddshot.score.context import MAX_ABS_VALUE, Context
from oddshot.score.rows import LabelledRows, spaced
from tests.score.tasks import draw, make


def test_joined_rows_are_the_normal_ones_then_the_anomalies():
    rows = LabelledRows(draw(0, 2, 5, 3), draw(1, 2, 4, 3))
    assert (rows.n_normal, rows.n_anomaly) == (5, 4)
    np.testing.assert_array_equal(rows.joined()[:, :5], rows.normal)
    np.testing.assert_array_equal(rows.joined()[:, 5:], rows.anomaly)


@pytest.mark.parametrize(("n", "most"), [(0, 3), (1, 3), (3, 3), (4, 3), (2001, 2000), (10**6, 64)])
def test_spaced_places_differ_and_reach_both_ends(n, most):
    places = spaced(n, most)
    assert len(places) == min(n, most)
    assert len(set(places.tolist())) == len(places)
    if n > most:
        assert (places[0], places[-1]) == (0, n - 1)
        assert np.ptp(np.diff(places)) <= 1
    else:
        assert places.tolist() == list(range(n))


def test_the_rows_of_a_task_are_anomalies_then_normal_then_unlabelled_ones():
    tasks = make(4, 2, 3)
    context = tasks.context
    sizes = context.n_anomaly, context.n_normal, context.n_labelled, context.n_rows, context.n_background
    assert sizes == (2, 4, 6, 9, 7)
    np.testing.assert_array_equal(np.swapaxes(context.x, -1, -2), tasks.rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_beyond_the_largest_are_taken_as_it(dtype):
    normal, anomaly = (rows.astype(dtype) for rows in (draw(0, 4, 3), draw(1, 2, 3)))
    found = Context.of(LabelledRows(normal * dtype(1e30), anomaly))
    np.testing.assert_array_equal(found.x[:, 2:], dtype(MAX_ABS_VALUE) * np.sign(normal).T)
    np.testing.assert_array_equal(found.x[:, :2], anomaly.T)
    assert all(np.isfinite(part).all() for part in (found.squares, found.lengths, found.anomaly_direction))


@pytest.mark.parametrize("a", [0, 1, 3])
def test_the_other_anomalies_are_those_of_a_loop(a):
    tasks = make(4, a)
    context = tasks.context
    means, directions = context.other_mean_anomaly(), context.other_anomaly_direction()
    assert means.shape == directions.shape == (2, 3, 4, a)
    for r, t, k in np.ndindex(2, 3, a):
        task = tasks.reference(r, t)
        mean = task.mean_anomaly(k)
        np.testing.assert_allclose(means[r, t, :, k], mean, rtol=1e-9, atol=1e-12)
        towards = mean - task.center
        np.testing.assert_allclose(directions[r, t, :, k], towards / task.length(towards) / task.width, atol=1e-12)
