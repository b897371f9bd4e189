"""The numbers about a support from which the distribution of its normal scores is predicted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot.decisions.features import MAX_ABS_FEATURE, N_FEATURES, support_features
from tests.decisions.samples import make_scores


def naive_scale(normal, unlabelled):
    """Weighted mean and shrunk standard deviation; unlabelled rows above 65 % of them count as if they were there."""
    usual = [min(score, np.percentile(unlabelled, 65)) for score in unlabelled] if len(unlabelled) else []
    total = len(normal) + 0.25 * len(usual)
    location = (sum(normal) + 0.25 * sum(usual)) / total
    squares = sum((s - location) ** 2 for s in normal) + 2 * 0.25 * sum((s - location) ** 2 for s in usual)
    return location, ((4 * 1.2**2 + squares) / (4 + total)) ** 0.5


def naive_features(normal, anomaly, unlabelled, n_columns):
    n, a, u = len(normal), len(anomaly), len(unlabelled)
    location, spread = naive_scale(normal, unlabelled)
    normal, anomaly, unlabelled = ((np.array(part) - location) / spread for part in (normal, anomaly, unlabelled))
    of_normal, of_anomaly, of_unlabelled = n / (n + 8), a / (a + 4), u / (u + 20)
    out = [of_normal, n**-0.5, 1 / n, of_anomaly, np.log(1 + a), of_unlabelled, np.log(1 + u), a / (a + n)]
    out += [np.log(spread), np.log(n_columns)]
    out += [of_normal * part for part in (normal.std(), normal.mean(), normal.max())]
    out += [of_normal * np.percentile(normal, level) for level in (50, 80, 90, 95)]
    out += [of_unlabelled * np.percentile(unlabelled, level) if u else 0 for level in (10, 25, 50, 70, 80, 90, 95)]
    out += [of_anomaly * part for part in (anomaly.mean(), anomaly.min(), anomaly.std())] if a else [0, 0, 0]
    return out


@pytest.mark.parametrize(("n", "a", "u"), [(1, 0, 0), (4, 0, 0), (4, 3, 0), (5, 0, 7), (2, 1, 40)])
def test_features_are_as_by_hand(n, a, u):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(3, count)) * 2 + 1 for count in (n, a, u)]
    found = support_features(make_scores(*parts, n_columns=6))
    assert found.values.shape == (3, N_FEATURES)
    for t in range(3):
        one = [part[t] for part in parts]
        np.testing.assert_allclose(found.values[t], naive_features(*one, 6), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose([found.location[t], found.spread[t]], naive_scale(one[0], one[2]))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.integers(0, 100), st.integers(0, 300), st.integers(0, 10**6))
def test_one_row_more_changes_little(n, a, u, seed):
    """The more so, the more rows there are; a feature is divided by a unit that is about 1.

    Where there are one to five normal rows, one more may be the first on the other side of 0.
    """
    rng = np.random.default_rng(seed)
    normal, anomaly, unlabelled = (np.clip(rng.normal(size=(1, k + 1)), -2, 2) for k in (n, a, u))
    before = support_features(make_scores(normal[:, :n], anomaly[:, :a], unlabelled[:, :u])).values
    more = [(normal, anomaly[:, :a], unlabelled[:, :u]), (normal[:, :n], anomaly[:, :a], unlabelled)]
    for parts in more:
        assert np.abs(support_features(make_scores(*parts)).values - before).max() < (1.2 if n > 5 else 2.5)


def test_the_first_unlabelled_row_hardly_counts():
    normal = np.random.default_rng(0).normal(size=(1, 20))
    plain = support_features(make_scores(normal))
    for score in (-5.0, 5.0):
        found = support_features(make_scores(normal, None, [[score]]))
        assert np.abs(found.values - plain.values).max() < 0.8
        assert abs(found.location - plain.location) < 0.1


@pytest.mark.parametrize("scores", [[[0.0]], [[1e12, -1e12]], [[3.0] * 9]])
def test_features_are_finite_and_bounded(scores):
    found = support_features(make_scores(scores, scores, scores, n_columns=0))
    assert np.abs(found.values).max() <= MAX_ABS_FEATURE
    assert (found.spread > 0).all()
