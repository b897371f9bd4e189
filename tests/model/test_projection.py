import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot.model.projection import (
    fit_normal_projection,
    fit_projection,
    solve_regularised,
    solve_S_N,
    to_unit_length,
    top_eigenvector,
)
from tests import references

N_ANOMALY = (1, 2, 5)
N_DIMS = (1, 3, 32, 256)


def draw(seed, n_normal, n_anomaly, n_dims, tasks=()):
    rng = np.random.default_rng(seed)
    normal, anomaly = rng.normal(size=(*tasks, n_normal, n_dims)), 2 + rng.normal(size=(*tasks, n_anomaly, n_dims))
    return torch.from_numpy(normal), torch.from_numpy(anomaly)


@pytest.mark.parametrize("n_normal", [1, 5, 40])
@pytest.mark.parametrize("n_dims", N_DIMS)
@pytest.mark.parametrize("n_anomaly", N_ANOMALY)
def test_values_agree_with_lapack_on_the_full_problem(n_normal, n_anomaly, n_dims):
    normal, anomaly = draw(0, n_normal, n_anomaly, n_dims)
    query = np.random.default_rng(1).normal(size=(20, n_dims))
    ours = fit_projection(normal, anomaly, torch.tensor(0.3)).numpy()
    lapack = references.projection(normal.numpy(), anomaly.numpy(), float(torch.tensor(0.3)))
    # Squared: the sign of w is free.
    np.testing.assert_allclose((query @ ours) ** 2, (query @ lapack) ** 2, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("n_dims", N_DIMS)
@pytest.mark.parametrize("n_anomaly", N_ANOMALY)
def test_gradients_agree_with_the_full_problem(n_anomaly, n_dims):
    """The derivative of the score along random directions, by central differences of LAPACK's solution."""
    normal, anomaly = draw(2, 5, n_anomaly, n_dims)
    query = torch.from_numpy(np.random.default_rng(3).normal(size=n_dims))
    eta = torch.tensor(0.5, dtype=torch.float64)
    inputs = [tensor.clone().requires_grad_() for tensor in (normal, anomaly, eta)]
    score = (fit_projection(*inputs) @ query).square()
    gradients = torch.autograd.grad(score, inputs)

    def lapack_score(step, direction):
        shifted = [tensor + step * change for tensor, change in zip((normal, anomaly, eta), direction, strict=True)]
        w = references.projection(shifted[0].numpy(), shifted[1].numpy(), float(shifted[2]))
        return references.anomaly_score(w, query.numpy())

    generator = torch.Generator().manual_seed(4)
    for _ in range(3):
        direction = [
            torch.randn(t.shape, generator=generator, dtype=torch.float64) * 0.1 for t in (normal, anomaly, eta)
        ]
        step = 1e-3
        # Eighth-order central differences: the error of the reference is rounding, not truncation.
        weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
        numeric = sum(
            weight * (lapack_score(k * step, direction) - lapack_score(-k * step, direction)) / step
            for k, weight in weights.items()
        )
        analytic = sum(float((g * d).sum()) for g, d in zip(gradients, direction, strict=True))
        assert analytic == pytest.approx(numeric, rel=1e-8, abs=1e-10 * float(score.detach()))


def dead_units(normal, anomaly):
    normal[..., 1::2] = 0
    anomaly[..., 1::2] = 0
    return normal, anomaly


def equal_anomalies(normal, anomaly):
    return normal, anomaly[..., :1, :].expand_as(anomaly).clone()


def anomaly_on_center(normal, anomaly):
    anomaly[..., 0, :] = 0
    return normal, anomaly


def all_anomalies_on_center(normal, anomaly):
    return normal, torch.zeros_like(anomaly)


def normals_on_center(normal, anomaly):
    return torch.zeros_like(normal), anomaly


@pytest.mark.parametrize(
    "spoil", [dead_units, equal_anomalies, anomaly_on_center, all_anomalies_on_center, normals_on_center]
)
@pytest.mark.parametrize("n_anomaly", [1, 2, 3])
def test_gradcheck_of_scores_where_eigh_has_none(spoil, n_anomaly):
    normal, anomaly = spoil(*draw(5, 4, n_anomaly, 6))
    query = torch.from_numpy(np.random.default_rng(6).normal(size=(3, 6)))
    inputs = [tensor.requires_grad_() for tensor in (normal, anomaly, torch.tensor(0.7, dtype=torch.float64))]
    assert torch.autograd.gradcheck(lambda n, a, eta: (query @ fit_projection(n, a, eta)).square(), inputs)


def test_tied_eigenvalues_give_a_finite_direction_and_gradient():
    """Two orthogonal anomalies of equal length: every direction between them is as good."""
    normal = torch.zeros(1, 4, dtype=torch.float64)
    anomaly = torch.eye(4, dtype=torch.float64)[:2].clone().requires_grad_()
    w = fit_projection(normal, anomaly, torch.tensor(1.0))
    w.square().sum().backward()
    assert torch.isfinite(w).all()
    assert float(w.detach().norm()) == pytest.approx(1 / np.sqrt(2))
    assert torch.isfinite(anomaly.grad).all()


def test_anomalies_on_the_center_score_zero_everywhere():
    normal, anomaly = draw(7, 5, 2, 8)
    assert (fit_projection(normal, torch.zeros_like(anomaly), torch.tensor(1.0)) == 0).all()


def test_repeating_the_anomaly_changes_nothing():
    normal, anomaly = draw(8, 5, 1, 8)
    eta = torch.tensor(0.2)
    torch.testing.assert_close(
        fit_projection(normal, anomaly, eta).abs(), fit_projection(normal, anomaly.expand(4, 8), eta).abs()
    )


@pytest.mark.parametrize("n_anomaly", [4, 50])
def test_many_anomalies_without_gradient_take_the_short_way(n_anomaly):
    normal, anomaly = draw(9, 30, n_anomaly, 3)
    eta = torch.tensor(0.1)
    plain = fit_projection(normal, anomaly, eta)
    with_gradient = fit_projection(normal, anomaly.clone().requires_grad_(), eta)
    torch.testing.assert_close(plain.abs(), with_gradient.detach().abs())


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), n_normal=st.integers(1, 9), n_anomaly=st.integers(1, 6), n_dims=st.integers(1, 12),
    log_eta=st.floats(-4, 4), log_size=st.floats(-3, 6),
)  # fmt: skip
def test_solution_is_the_largest_quotient_and_permutation_free(seed, n_normal, n_anomaly, n_dims, log_eta, log_size):
    normal, anomaly = (rows * 10**log_size for rows in draw(seed, n_normal, n_anomaly, n_dims))
    eta = torch.tensor(10.0**log_eta, dtype=torch.float64)
    w = fit_projection(normal, anomaly, eta)
    assert torch.isfinite(w).all()

    def quotient(v):
        return (anomaly @ v).square().mean(0) / ((normal @ v).square().mean(0) + eta * v.square().sum(0))

    best = quotient(w)
    others = torch.randn(n_dims, 200, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    assert (quotient(others) <= best * (1 + 1e-6)).all()
    shuffled = fit_projection(normal.flip(0), anomaly.flip(0), eta)
    assert float(quotient(shuffled)) == pytest.approx(float(best), rel=1e-6)


@pytest.mark.parametrize("n_anomaly", [1, 3, 9])
def test_batches_equal_single_tasks(n_anomaly):
    normal, anomaly = draw(10, 5, n_anomaly, 7, tasks=(2, 4))
    eta = torch.tensor([[0.1], [3.0]])
    together = fit_projection(normal, anomaly, eta)
    for r in range(2):
        for t in range(4):
            alone = fit_projection(normal[r, t], anomaly[r, t], eta[r, 0])
            torch.testing.assert_close(together[r, t].abs(), alone.abs())


@pytest.mark.parametrize(("n_normal", "n_dims"), [(2, 9), (9, 9), (20, 9)])
def test_solve_agrees_with_the_inverse(n_normal, n_dims):
    normal, b = draw(11, n_normal, n_dims, n_dims)
    S_N = references.scatter(normal.numpy()) + 0.4 * np.eye(n_dims)
    ours = solve_S_N(normal, torch.tensor(0.4, dtype=torch.float64), b)
    np.testing.assert_allclose(ours.numpy(), np.linalg.inv(S_N) @ b.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("n_normal", "n_dims", "n_projected"), [(5, 9, 1), (5, 9, 4), (20, 9, 9)])
def test_normal_projection_agrees_with_the_normal_equations(n_normal, n_dims, n_projected):
    phi, _ = draw(12, n_normal, 1, n_dims)
    center = np.random.default_rng(13).normal(size=n_projected)
    ours = fit_normal_projection(phi, torch.tensor(0.2, dtype=torch.float64))
    reference = references.normal_projection(phi.numpy(), center, 0.2)
    np.testing.assert_allclose(np.outer(ours.numpy(), center), reference, rtol=1e-9, atol=1e-12)


def test_normal_projection_gradient():
    phi, _ = draw(14, 3, 1, 5)
    ridge = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(fit_normal_projection, [phi.requires_grad_(), ridge])


def test_top_eigenvector_gradient_of_a_symmetric_matrix():
    generator = torch.Generator().manual_seed(15)
    root = torch.randn(3, 4, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a: top_eigenvector(a @ a.mT).square(), (root,))


def test_float32_in_float32_range_stays_finite():
    for size in (1e-15, 1.0, 1e15):
        normal, anomaly = (rows.float() * size for rows in draw(16, 5, 2, 64))
        assert torch.isfinite(fit_projection(normal, anomaly, torch.tensor(1e-4))).all()


def test_unit_length_keeps_the_direction_and_leaves_zero_where_it_is():
    w = torch.tensor([[3.0, 4.0], [0.0, 0.0], [0.0, -1e-3]], dtype=torch.float64, requires_grad=True)
    ours = to_unit_length(w)
    torch.testing.assert_close(ours, torch.tensor([[0.6, 0.8], [0.0, 0.0], [0.0, -1.0]], dtype=torch.float64))
    torch.testing.assert_close(to_unit_length(w[None, :, None]), ours[None, :, None])
    ours.sum().backward()
    assert torch.isfinite(w.grad).all()


def test_a_ridge_lost_in_rounding_is_replaced_by_a_trace_of_the_matrix():
    gram = torch.full((2, 3, 3), 1e20, dtype=torch.float64)  # of equal rows; a ridge of 1e-4 is rounded away
    gram[1] = torch.eye(3)
    eta, b = torch.tensor([1e-4, 0.5], dtype=torch.float64), draw(17, 3, 2, 2)[0].expand(2, 3, 2)
    ours = solve_regularised(gram, eta, b)
    expected = (b[0] - b[0].mean(0)) / (1e-14 * 3e20)  # Sherman and Morrison's formula, where the matrix is huge
    torch.testing.assert_close(ours[0], expected, rtol=0, atol=0.05 * float(expected.abs().max()))
    torch.testing.assert_close(ours[1], b[1] / 1.5, rtol=1e-9, atol=0)
