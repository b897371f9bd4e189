import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot.score.projection import (
    fit_normal_projection,
    fit_projection,
    solve_regularised,
    solve_ridge,
    solve_S_N,
    to_unit_length,
    top_eigenvector,
)
from tests import references

N_ANOMALY = (1, 2, 5)
N_DIMS = (1, 3, 32, 256)


def draw(seed, n_normal, n_anomaly, n_dims, tasks=()):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*tasks, n_normal, n_dims)), 2 + rng.normal(size=(*tasks, n_anomaly, n_dims))


def assert_same_line(ours, theirs):
    """The sign of w is free."""
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("n_normal", [1, 5, 40])
@pytest.mark.parametrize("n_dims", N_DIMS)
@pytest.mark.parametrize("n_anomaly", N_ANOMALY)
def test_values_agree_with_lapack_on_the_full_problem(n_normal, n_anomaly, n_dims):
    normal, anomaly = draw(0, n_normal, n_anomaly, n_dims)
    query = np.random.default_rng(1).normal(size=(20, n_dims))
    ours, lapack = fit_projection(normal, anomaly, np.array(0.3)), references.projection(normal, anomaly, 0.3)
    # Squared: the sign of w is free.
    np.testing.assert_allclose((query @ ours) ** 2, (query @ lapack) ** 2, rtol=1e-8, atol=1e-12)


def test_float32_rows_are_projected_in_float64():
    normal, anomaly = (rows.astype(np.float32) for rows in draw(0, 5, 2, 32))
    ours = fit_projection(normal, anomaly, np.array(0.3, np.float32))
    assert ours.dtype == np.float64
    exact = references.projection(*(rows.astype(np.float64) for rows in (normal, anomaly)), float(np.float32(0.3)))
    np.testing.assert_allclose(np.abs(ours), np.abs(exact), rtol=1e-8, atol=1e-10)


def test_anomalies_on_the_center_score_zero_everywhere():
    normal, anomaly = draw(7, 5, 2, 8)
    assert (fit_projection(normal, np.zeros_like(anomaly), np.array(1.0)) == 0).all()


def test_repeating_the_anomaly_changes_nothing():
    normal, anomaly = draw(8, 5, 1, 8)
    eta = np.array(0.2)
    assert_same_line(
        fit_projection(normal, anomaly, eta), fit_projection(normal, np.broadcast_to(anomaly, (4, 8)), eta)
    )


@pytest.mark.parametrize("n_anomaly", [4, 50])
def test_more_anomalies_than_dimensions_take_the_short_way(n_anomaly):
    normal, anomaly = draw(9, 30, n_anomaly, 3)
    ours = fit_projection(normal, anomaly, np.array(0.1))
    assert_same_line(ours, references.projection(normal, anomaly, 0.1))


def test_tied_eigenvalues_give_a_direction_of_their_space():
    """Two orthogonal anomalies of equal length: every direction between them is as good."""
    w = fit_projection(np.zeros((1, 4)), np.eye(4)[:2], np.array(1.0))
    assert np.linalg.norm(w) == pytest.approx(1 / np.sqrt(2))
    assert (w[2:] == 0).all()


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), n_normal=st.integers(1, 9), n_anomaly=st.integers(1, 6), n_dims=st.integers(1, 12),
    log_eta=st.floats(-4, 4), log_size=st.floats(-3, 6),
)  # fmt: skip
def test_solution_is_the_largest_quotient_and_permutation_free(seed, n_normal, n_anomaly, n_dims, log_eta, log_size):
    normal, anomaly = (rows * 10**log_size for rows in draw(seed, n_normal, n_anomaly, n_dims))
    eta = np.array(10.0**log_eta)
    w = fit_projection(normal, anomaly, eta)
    assert np.isfinite(w).all()

    def quotient(v):
        return np.square(anomaly @ v).mean(0) / (np.square(normal @ v).mean(0) + eta * np.square(v).sum(0))

    best = quotient(w)
    others = np.random.default_rng(seed).normal(size=(n_dims, 200))
    assert (quotient(others) <= best * (1 + 1e-6)).all()
    shuffled = fit_projection(normal[::-1], anomaly[::-1], eta)
    assert float(quotient(shuffled)) == pytest.approx(float(best), rel=1e-6)


@pytest.mark.parametrize("n_anomaly", [1, 3, 9])
def test_batches_equal_single_tasks(n_anomaly):
    normal, anomaly = draw(10, 5, n_anomaly, 7, tasks=(2, 4))
    eta = np.array([[0.1], [3.0]])
    together = fit_projection(normal, anomaly, eta)
    for r, t in np.ndindex(2, 4):
        assert_same_line(together[r, t], fit_projection(normal[r, t], anomaly[r, t], eta[r, 0]))


@pytest.mark.parametrize(("n_normal", "n_dims"), [(2, 9), (9, 9), (20, 9)])
def test_solve_agrees_with_the_inverse(n_normal, n_dims):
    normal, b = draw(11, n_normal, n_dims, n_dims)
    S_N = references.scatter(normal) + 0.4 * np.eye(n_dims)
    ours = solve_S_N(normal, np.array(0.4), b)
    np.testing.assert_allclose(ours, np.linalg.inv(S_N) @ b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("n_normal", "n_dims", "n_projected"), [(5, 9, 1), (5, 9, 4), (20, 9, 9)])
def test_normal_projection_agrees_with_the_normal_equations(n_normal, n_dims, n_projected):
    phi, _ = draw(12, n_normal, 1, n_dims)
    center = np.random.default_rng(13).normal(size=n_projected)
    ours, reference = fit_normal_projection(phi, np.array(0.2)), references.normal_projection(phi, center, 0.2)
    np.testing.assert_allclose(np.outer(ours, center), reference, rtol=1e-9, atol=1e-12)


def test_top_eigenvector_is_that_of_the_largest_eigenvalue_and_of_unit_length():
    root = np.random.default_rng(15).normal(size=(3, 4, 4))
    matrix = root @ root.swapaxes(-1, -2)
    u = top_eigenvector(matrix)
    for one, vector in zip(matrix, u, strict=True):
        assert np.linalg.norm(vector) == pytest.approx(1)
        np.testing.assert_allclose(one @ vector, np.linalg.eigvalsh(one)[-1] * vector, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [1e-15, 1.0, 1e15])
def test_float32_in_float32_range_stays_finite(size):
    normal, anomaly = (rows.astype(np.float32) * np.float32(size) for rows in draw(16, 5, 2, 64))
    assert np.isfinite(fit_projection(normal, anomaly, np.array(1e-4, np.float32))).all()


def test_unit_length_keeps_the_direction_and_leaves_zero_where_it_is():
    w = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -1e-3]])
    ours = to_unit_length(w)
    np.testing.assert_allclose(ours, [[0.6, 0.8], [0.0, 0.0], [0.0, -1.0]], rtol=1e-12)
    np.testing.assert_array_equal(to_unit_length(w[None, :, None]), ours[None, :, None])


def test_a_ridge_lost_in_rounding_is_replaced_by_a_trace_of_the_matrix():
    gram = np.full((2, 3, 3), 1e20)  # of equal rows; a ridge of 1e-4 is rounded away
    gram[1] = np.eye(3)
    eta, b = np.array([1e-4, 0.5]), np.broadcast_to(draw(17, 3, 2, 2)[0], (2, 3, 2))
    ours = solve_regularised(gram, eta, b)
    expected = (b[0] - b[0].mean(0)) / (1e-14 * 3e20)  # Sherman and Morrison's formula, where the matrix is huge
    np.testing.assert_allclose(ours[0], expected, rtol=0, atol=0.05 * np.abs(expected).max())
    np.testing.assert_allclose(ours[1], b[1] / 1.5, rtol=1e-9)


@pytest.mark.parametrize(("n", "J"), [(1, 4), (3, 8), (8, 3)])
def test_ridge_weights_are_those_of_the_normal_equations(n, J):
    rng = np.random.default_rng(0)
    z, target, ridge = rng.normal(size=(2, 3, n, J)), rng.normal(size=(2, 3, n)), rng.uniform(0.1, 2, size=(2, 3))
    ours = solve_ridge(z, target, ridge)
    assert ours.shape == (2, 3, J)
    for r, t in itertools.product(range(2), range(3)):
        expected = references.ridge_weights(z[r, t], target[r, t], ridge[r, t])
        np.testing.assert_allclose(ours[r, t], expected, rtol=1e-8, atol=1e-10)


def test_one_target_for_all_tasks_is_that_of_each():
    rng = np.random.default_rng(1)
    z, target, ridge = rng.normal(size=(2, 3, 5, 4)), rng.normal(size=5), np.array(0.3)
    of_each = solve_ridge(z, np.tile(target, (2, 3, 1)), ridge)
    np.testing.assert_allclose(solve_ridge(z, target, ridge), of_each, rtol=1e-12)
