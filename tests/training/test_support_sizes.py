"""Held-out tasks scored for the calibration, with supports of all sizes."""

import numpy as np
import pytest

from oddshot.training.support_sizes import MISSING_SHARE, HeldOutScores, draw_support_sizes, score_held_out
from tests.decisions.samples import make_scores
from tests.methods.samples import build, pick, random_rows, without_anomalies


@pytest.mark.parametrize("name", ["eigen", "relative"])
@pytest.mark.parametrize("with_unlabelled", [False, True])
def test_queries_and_supports_are_scored_as_task_by_task(name, with_unlabelled):
    method = build(name)
    support, query = random_rows(1), random_rows(2, n_normal=7, n_anomaly=3)
    unlabelled = random_rows(3, n_normal=6).normal if with_unlabelled else None
    found = score_held_out(method, support, query, unlabelled)
    assert (found.normal.shape, found.anomaly.shape) == ((3, 7), (3, 3))
    assert found.normal.dtype == found.anomaly.dtype == np.float64
    if name == "relative":
        assert found.support.unlabelled.shape == (3, 6 if with_unlabelled else 0)
    for t in range(3):
        one = pick(support, t)
        score = method.adapt(one, None if unlabelled is None else unlabelled[t])
        normal, anomaly = map(score, pick(query, t))
        own = (
            score.own().of_normal if name == "relative" else score(one.normal)
        )  # the former hides rows from themselves
        np.testing.assert_allclose(found.normal[t], normal, rtol=1e-9)
        np.testing.assert_allclose(found.anomaly[t], anomaly, rtol=1e-9)
        np.testing.assert_allclose(found.support.normal[t], own, rtol=1e-9)


def test_supports_without_anomalies():
    found = score_held_out(build("woanomaly"), without_anomalies(random_rows(1)), random_rows(2), None)
    assert found.support.anomaly.shape == (3, 0)


def test_scores_without_a_scale_of_their_own_are_compressed_with_their_support():
    plain = make_scores([[0.5]], is_standardised=False)
    found = HeldOutScores(plain, np.array([[1.0, -2.0]]), np.array([[1e6]])).standardised(0.5)
    np.testing.assert_allclose(found.support.normal, np.arcsinh([[1.0]]))
    np.testing.assert_allclose(found.normal, np.arcsinh([[2.0, -4.0]]))
    np.testing.assert_allclose(found.anomaly, np.arcsinh([[2e6]]))
    assert found.standardised(9.0) is found


def test_sizes_of_supports_cover_the_range_on_a_logarithmic_scale():
    rng = np.random.default_rng(0)
    drawn = np.array([draw_support_sizes(rng) for _ in range(4000)])
    assert drawn.min(0).tolist() == [1, 0, 0]
    assert (drawn.max(0) >= [900, 180, 900]).all()
    np.testing.assert_allclose((drawn[:, 1:] == 0).mean(0), MISSING_SHARE, atol=0.03)
    assert np.median(drawn[:, 0]) == pytest.approx(1000**0.5, rel=0.2)


def test_sizes_of_supports_are_within_what_there_is():
    rng = np.random.default_rng(0)
    drawn = np.array([draw_support_sizes(rng, 7, 2, 0) for _ in range(300)])
    assert drawn.min(0).tolist() == [1, 0, 0]
    assert drawn.max(0).tolist() == [7, 2, 0]
