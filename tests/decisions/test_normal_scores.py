"""The distribution of a task's normal scores: one rising curve that takes over from what was learned."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot.decisions.normal_scores import (
    FEW_ROWS,
    KNOTS,
    PRIOR_ROWS,
    NormalScores,
    expected_quantiles,
    normal_quantile,
    normal_share_above,
)

STANDARD = KNOTS  # scores that are expected to have a standard normal distribution


def shapes(seed, n):
    return np.random.default_rng(seed).normal(size=(n, 4)) * 3


def naive_quantile(shape, z):
    """Tukey's g-and-h distribution, of one task at one quantile."""
    median, spread, skewness, tail = shape
    g, h = 1.5 * math.tanh(skewness), 0.5 / (1 + math.exp(-tail))
    return median + math.exp(min(max(spread, -4.0), 4.0)) * (math.exp(g * z) - 1) / g * math.exp(h * z * z / 2)


def test_expected_quantiles_are_those_of_tukeys_distribution_and_rise():
    shape, z = shapes(0, 5), np.linspace(-4, 6, 31)
    found = expected_quantiles(shape, z)
    expected = [[naive_quantile(one, level) for level in z] for one in shape]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert (np.diff(found, axis=1) > 0).all()


def test_tensors_have_the_same_expected_quantiles_and_gradients():
    torch = pytest.importorskip("torch")
    shape, z = torch.from_numpy(shapes(1, 3)).requires_grad_(), torch.linspace(-3, 3, 5, dtype=torch.float64)
    found = expected_quantiles(shape, z).detach()
    np.testing.assert_allclose(found, expected_quantiles(shapes(1, 3), z.numpy()), rtol=1e-12)
    assert torch.autograd.gradcheck(lambda shape: expected_quantiles(shape, z), (shape,))


def test_normal_quantiles_are_those_of_scipy():
    shares = np.array([1e-6, 0.01, 0.05, 0.5, 0.99])
    np.testing.assert_allclose(normal_quantile(shares), scipy.stats.norm.isf(shares), rtol=1e-9)
    np.testing.assert_allclose(normal_share_above(normal_quantile(shares)), shares, rtol=1e-9)


def naive_share_above(score, own):
    """Share of a task's own normal rows above a score, of standard normal scores expected, both weighed."""
    expected = scipy.stats.norm.sf(score)
    different = sorted(set(own))
    at = [sum(o > d for o in own) + sum(o == d for o in own) / 2 for d in different]  # ties count by half
    if score < different[0]:
        share = 1.0
    elif score > different[-1]:
        share = at[-1] / len(own)
    else:
        share = float(np.interp(score, different, np.array(at) / len(own)))
    share *= min(expected / scipy.stats.norm.sf(different[-1]), 1.0)
    weight = len(own) ** 2 / (len(own) + FEW_ROWS)
    return (PRIOR_ROWS * expected + weight * share) / (PRIOR_ROWS + weight)


@pytest.mark.parametrize("own", [[0.5], [1.0, 1.0, 2.0], [-3.0, 0.0, 0.5, 4.0], [*range(-3, 4)] * 5])
def test_shares_above_scores_are_weighed_means(own):
    own = np.array(own, np.float64)
    curve = NormalScores.combine(STANDARD, own)
    scores = np.union1d(STANDARD, own)
    expected = [naive_share_above(score, own) for score in scores]
    np.testing.assert_allclose(normal_share_above(curve.quantile_of(scores)), expected, rtol=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-50, 50), max_size=30), st.integers(0, 10**6))
def test_the_curve_rises_and_its_inverse_leads_back(own, seed):
    expected = expected_quantiles(shapes(seed, 1), KNOTS)[0]
    curve = NormalScores.combine(expected, np.array(own, np.float64))
    assert (np.diff(curve.scores) > 0).all()
    assert (np.diff(curve.quantiles) >= 0).all()
    z = np.linspace(0, 3, 20)
    scores = np.array([curve.score_at(one) for one in z])
    assert (np.diff(scores) >= 0).all()
    np.testing.assert_allclose(curve.quantile_of(scores), z, atol=1e-6)
    far = curve.quantile_of(np.array([-1e300, -1e9, 1e9, 1e300]))
    assert np.isfinite(far).all()
    assert (np.diff(far) > 0).all()


def test_many_normal_rows_take_over_from_what_was_learned():
    rng = np.random.default_rng(0)
    errors = []
    for n in (0, 10, 100, 1000):
        curve = NormalScores.combine(STANDARD, 5 + rng.gumbel(size=n))
        errors.append(abs((5 + rng.gumbel(size=20_000) > curve.score_at(1.645)).mean() - 0.05))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.015


def test_one_more_row_changes_thresholds_by_little():
    rng = np.random.default_rng(0)
    own = rng.normal(size=41)
    cuts = [NormalScores.combine(STANDARD, own[:n]).score_at(1.645) for n in range(42)]
    assert np.abs(np.diff(cuts)).max() < 0.1
    assert abs(NormalScores.combine(STANDARD, np.array([30.0])).score_at(1.645) - 1.645) < 0.1


def test_another_unit_of_scores():
    curve = NormalScores.combine(STANDARD, np.array([0.3, 2.0]))
    other, scores = curve.rescaled(1.5, 4.0), np.linspace(-8, 8, 30)
    np.testing.assert_allclose(other.quantile_of((scores - 1.5) / 4), curve.quantile_of(scores), rtol=1e-9)
    assert other.score_at(1.0) == pytest.approx((curve.score_at(1.0) - 1.5) / 4)
