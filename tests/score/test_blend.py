"""Distances to nearest neighbours, and their logarithms on one scale, against loops."""

import math

import numpy as np
import pytest

from oddshot.score.blend import (
    MIN_SPREAD,
    LogStatistics,
    NeighbourDistance,
    NeighbourScore,
    column_spread,
    compress,
    log_statistics,
    mean_distance,
)
from oddshot.score.context import MAX_ABS_VALUE


def spread_of(logs):
    """With what is known before any row: as much as of 20 rows with a standard deviation of 0.35."""
    return math.sqrt((sum((one - np.mean(logs)) ** 2 for one in logs) + 20 * 0.35**2) / (len(logs) + 20))


def test_logarithms_are_standardised_by_what_is_finite():
    distance = np.array([[1.0, 2.0, math.inf, 8.0]])
    logs = np.log(np.array([1.0, 2.0, 8.0]) + 1e-3)
    statistics = log_statistics(distance)
    np.testing.assert_allclose(statistics.mean, [[logs.mean()]])
    np.testing.assert_allclose(statistics.spread, [[spread_of(logs)]])
    expected = (logs - logs.mean()) / spread_of(logs)
    np.testing.assert_allclose(statistics.standardise(distance), [[*expected[:2], 0, expected[2]]])


def test_many_rows_tell_their_spread():
    logs = np.random.default_rng(0).normal(scale=2.0, size=5000)
    assert float(log_statistics(np.exp(logs)).spread[0]) == pytest.approx(logs.std(), rel=0.01)


@pytest.mark.parametrize("distance", [np.zeros(4), np.full(1, math.inf), np.full(3, 7.0, np.float32)])
def test_equal_and_unknown_distances_are_finite(distance):
    statistics = log_statistics(distance)
    assert np.isfinite(statistics.mean).all()
    assert float(statistics.spread[0]) > 0.1
    np.testing.assert_array_equal(statistics.standardise(distance), 0)


def test_no_distance_is_finite():
    found = LogStatistics(np.zeros(1), np.ones(1)).standardise(np.zeros(1))
    assert float(found[0]) == pytest.approx(math.log(1e-3))


def test_rescaled_they_move_and_divide_what_they_standardise():
    distance = np.exp(np.random.default_rng(0).normal(size=(2, 9)))
    statistics = log_statistics(distance)
    found = statistics.rescaled(0.3, 1.7).standardise(distance)
    np.testing.assert_allclose(found, (statistics.standardise(distance) - 0.3) / 1.7, rtol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 40])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 2e-6), (np.float64, 1e-9)])
def test_distances_are_those_of_a_loop(k, dtype, rtol):
    rng = np.random.default_rng(0)
    x, reference = rng.normal(size=(2, 3, 5, 4)).astype(dtype), rng.normal(size=(2, 3, 40, 4)).astype(dtype)
    ours = mean_distance(x, reference, k)
    assert ours.dtype == np.float64
    exact, others = x.astype(np.float64), reference.astype(np.float64)
    for r, t, i in np.ndindex(2, 3, 5):
        distances = sorted(np.sqrt(np.mean((exact[r, t, i] - row) ** 2)) for row in others[r, t])
        np.testing.assert_allclose(ours[r, t, i], np.mean(distances[:k]), rtol=rtol)


def test_a_row_is_not_its_own_neighbour():
    rows = np.array([[0.0], [1.0], [5.0]])
    np.testing.assert_allclose(mean_distance(rows, rows, 1, np.eye(3, dtype=bool)), [1, 1, 4])
    np.testing.assert_allclose(mean_distance(rows, rows, 2, np.eye(3, dtype=bool)), [3, 2.5, 4.5])
    assert float(mean_distance(rows[:1], rows[:1], 1, np.ones((1, 1), bool))[0]) == math.inf


def test_a_row_of_several_columns_is_not_its_own_neighbour():
    rows = np.random.default_rng(0).normal(size=(6, 3))
    ours = mean_distance(rows, rows, 2, np.eye(6, dtype=bool))
    for k in range(6):
        others = sorted(np.sqrt(np.mean((rows[k] - row) ** 2)) for row in np.delete(rows, k, axis=0))
        np.testing.assert_allclose(ours[k], np.mean(others[:2]))


def test_large_values_become_logarithms():
    x = np.array([0.0, 0.01, -0.01, 1e4, -1e4])
    np.testing.assert_allclose(compress(x), [0, 0.01, -0.01, math.log(2e4), -math.log(2e4)], rtol=1e-4)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-6), (np.float64, 1e-14)])
def test_compressed_values_are_those_of_asinh(dtype, rtol):
    x = np.concatenate([np.zeros(1), np.logspace(-12, 9, 200)]).astype(dtype)
    x = np.concatenate([x, -x])
    np.testing.assert_allclose(compress(x), np.arcsinh(x.astype(np.float64)), rtol=rtol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_beyond_the_largest_are_compressed_as_it(dtype):
    found = compress(np.array([1e30, -1e30], dtype))
    np.testing.assert_allclose(found, [math.asinh(MAX_ABS_VALUE), -math.asinh(MAX_ABS_VALUE)], rtol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 10])
def test_equal_rows_are_at_no_distance(k):
    x = (np.random.default_rng(0).normal(size=(40, 5)) * 100).astype(np.float32)
    reference = np.concatenate([x, x + 1])
    exact = reference.astype(np.float64)
    for row, found in zip(exact[:40], mean_distance(x, reference, k), strict=True):
        others = sorted(np.sqrt(np.mean((row - other) ** 2)) for other in exact)
        assert others[0] == 0
        # float32: a square of 1 is what is left of those of hundreds
        assert float(found) == pytest.approx(sum(others[:k]) / k, rel=2e-3, abs=0)


def test_the_spread_of_a_column_has_a_least_value():
    rows = np.array([[1.0, 5.0, 0.0], [3.0, 5.0, 0.01]])
    np.testing.assert_allclose(column_spread(rows[:, [0, 2]]), [[1.0, MIN_SPREAD]])


def test_constant_columns_do_not_make_differences_smaller():
    rng = np.random.default_rng(0)
    rows, x = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))

    def distance(rows, x):
        spread = column_spread(rows)
        return mean_distance(x / spread, rows / spread, 2)

    constant = [np.concatenate([part, np.full((len(part), 5), 2.0)], axis=1) for part in (rows, x)]
    np.testing.assert_allclose(distance(*constant), distance(rows, x), rtol=1e-10)
    np.testing.assert_allclose(column_spread(rows[:1]), np.full((1, 3), MIN_SPREAD))


def test_near_rows_of_one_column_are_as_far_apart_as_they_are():
    reference = np.array([[0.0], [100.0], [-50.0]], np.float32)
    x = np.array([[100.00003], [0.001], [-49.9]], np.float32)
    expected = np.abs(x.astype(np.float64) - reference.astype(np.float64)[[1, 0, 2]])[:, 0]
    np.testing.assert_allclose(mean_distance(x, reference, 1), expected, rtol=1e-6)


def neighbour_score(seed=0, M=4):
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.2, 2, size=(1, M))
    references = [rng.normal(size=(n, M)) for n in (3, 20)]
    statistics = [LogStatistics(rng.normal(size=1), rng.uniform(0.4, 1, size=1)) for _ in references]
    parts = zip(references, (1, 10), statistics, (0.7, 0.4), strict=True)
    return NeighbourScore(spread, tuple(NeighbourDistance(*part) for part in parts))


def test_a_score_of_neighbours_is_the_weighted_sum_of_a_loop():
    score, x = neighbour_score(), 3 * np.random.default_rng(1).normal(size=(7, 4))
    expected = []
    for row in x:
        total = 0.0
        for one in score.distances:
            apart = np.arcsinh(row) / score.spread[0] - one.reference
            nearest = sorted(np.sqrt(np.mean(apart**2, axis=1)))[: one.k]
            log = np.log(np.mean(nearest) + 1e-3)
            total += one.weight * (log - one.statistics.mean[0]) / one.statistics.spread[0]
        expected.append(total)
    np.testing.assert_allclose(score(x), expected, rtol=1e-10)
    np.testing.assert_allclose(score.divided(2.5)(x), np.array(expected) / 2.5, rtol=1e-10)


def test_the_order_of_columns_and_reference_rows_does_not_matter():
    score, x = neighbour_score(), np.random.default_rng(1).normal(size=(7, 4))
    order, rng = np.array([2, 0, 3, 1]), np.random.default_rng(2)
    moved = tuple(
        NeighbourDistance(rng.permutation(one.reference)[:, order], one.k, one.statistics, one.weight)
        for one in score.distances
    )
    np.testing.assert_allclose(NeighbourScore(score.spread[:, order], moved)(x[:, order]), score(x), rtol=1e-10)
