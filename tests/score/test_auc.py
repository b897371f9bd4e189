import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from oddshot.score.auc import exact_auc, sigmoid, smooth_auc, smooth_auc_gradient
from tests import references

scores = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=8).map(np.array)  # few values: many ties


@settings(deadline=None)
@given(normal=scores, anomaly=scores, ties=st.sampled_from([0.0, 0.5, 1.0]))
def test_exact_auc_equals_the_pairs(normal, anomaly, ties):
    assert exact_auc(normal, anomaly, ties=ties) == pytest.approx(references.auc(normal, anomaly, ties))


@pytest.mark.parametrize("n", [31, 32, 33, 500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact_auc_of_many_scores_equals_the_pairs(n, dtype):
    rng = np.random.default_rng(n)
    normal, anomaly = (rng.integers(0, 60, size=size).astype(dtype) for size in (n, 40))
    for ties in (0.0, 0.5):
        assert exact_auc(normal, anomaly, ties=ties) == pytest.approx(references.auc(normal, anomaly, ties))


@settings(deadline=None)
@given(normal=scores, anomaly=scores)
def test_exact_auc_with_ties_as_a_half_is_scikit_learns(normal, anomaly):
    labels = [0] * len(normal) + [1] * len(anomaly)
    assert exact_auc(normal, anomaly) == pytest.approx(roc_auc_score(labels, [*normal, *anomaly]))


@settings(deadline=None)
@given(normal=scores, anomaly=scores)
def test_smooth_auc_equals_the_pairs(normal, anomaly):
    assert smooth_auc(normal, anomaly) == pytest.approx(references.smooth_auc(normal, anomaly))


def test_batches():
    rng = np.random.default_rng(0)
    normal, anomaly = rng.normal(size=(2, 3, 25)), rng.normal(size=(2, 3, 5))
    exact, smooth = exact_auc(normal, anomaly), smooth_auc(normal, anomaly)
    assert exact.shape == smooth.shape == (2, 3)
    for place in np.ndindex(2, 3):
        assert exact[place] == pytest.approx(references.auc(normal[place], anomaly[place], 0.5))
        assert smooth[place] == pytest.approx(references.smooth_auc(normal[place], anomaly[place]))


def test_the_order_of_scores_does_not_matter():
    rng = np.random.default_rng(1)
    normal, anomaly = rng.normal(size=25), rng.normal(size=5)
    for auc in (exact_auc, smooth_auc):
        assert auc(normal[::-1], anomaly[::-1]) == pytest.approx(auc(normal, anomaly), rel=1e-12)


@pytest.mark.parametrize("tasks", [(), (2, 3)])
def test_smooth_auc_gradient_is_that_of_differences(tasks):
    rng = np.random.default_rng(0)
    normal, anomaly = rng.normal(size=(*tasks, 5)), rng.normal(size=(*tasks, 2))
    for which, found in enumerate(smooth_auc_gradient(normal, anomaly)):
        assert found.shape == (normal, anomaly)[which].shape
        for k in range(found.shape[-1]):
            step = 1e-5 * (np.arange(found.shape[-1]) == k)
            steps = (step, 0) if which == 0 else (0, step)
            above, below = (smooth_auc(normal + sign * steps[0], anomaly + sign * steps[1]) for sign in (1, -1))
            np.testing.assert_allclose(found[..., k], (above - below) / 2e-5, rtol=1e-6)


def test_the_sigmoid_is_finite_for_any_number():
    x = np.array([-1e300, -800.0, -1.0, 0.0, 2.0, 800.0, 1e300])
    np.testing.assert_allclose(sigmoid(x), [0, 0, 1 / (1 + np.e), 0.5, 1 / (1 + np.exp(-2)), 1, 1], atol=1e-15)


def test_smooth_auc_and_its_gradient_are_finite_for_huge_scores():
    normal, anomaly = np.array([0.0, 1e30]), np.array([1e30, -1e30])
    assert smooth_auc(normal, anomaly) == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    for part in smooth_auc_gradient(normal, anomaly):
        assert np.isfinite(part).all()
