"""What is learned on held-out tasks holds on new ones, for every number of rows."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot.decisions.calibration import RATES, Calibration, log_odds_of
from oddshot.decisions.normal_scores import expected_quantiles
from oddshot.training.calibration_learning import learn_calibration, odds_loss, shape_loss
from oddshot.training.support_sizes import HeldOutScores
from tests.decisions.samples import make_scores, one_task


def naive_shape_loss(shape, normal, caution):
    total = []
    for one, scores, (more,) in zip(shape.tolist(), normal.tolist(), caution.tolist(), strict=True):
        for rate in RATES:
            z = torch.tensor([scipy.stats.norm.isf(rate)])
            cut = float(expected_quantiles(torch.tensor([one], dtype=torch.float64), z)[0, 0])
            rate = scipy.stats.norm.sf(float(z) + more)
            for score in scores:
                above = max(score - cut, 0.0) * (1 - rate) + max(cut - score, 0.0) * rate
                total.append(above / math.sqrt(rate * (1 - rate)))
    return np.mean(total)


def test_the_loss_of_a_shape_is_the_mean_pinball_loss_of_all_rates():
    rng = np.random.default_rng(0)
    parts = [torch.from_numpy(rng.normal(size=size)) for size in ((3, 4), (3, 7), (3, 1))]
    assert float(shape_loss(*parts)) == pytest.approx(naive_shape_loss(*parts), rel=1e-9)


def naive_odds_loss(outputs, quantiles):
    total = []
    for (constant, below, above), row in zip(outputs.tolist(), quantiles.tolist(), strict=True):
        slopes = [0.02 + math.log(1 + math.exp(slope)) for slope in (below, above)]
        for k, quantile in enumerate(row):
            e = quantile - scipy.stats.norm.isf(0.1)
            log_odds = constant + (slopes[1] if e > 0 else slopes[0]) * e
            total.append(math.log(1 + math.exp(-log_odds if k >= len(row) // 2 else log_odds)))
    return np.mean(total)


def test_the_loss_of_odds_is_the_mean_logistic_loss():
    rng = np.random.default_rng(1)
    outputs, quantiles = (torch.from_numpy(rng.normal(size=size)) for size in ((4, 3), (4, 6)))
    assert float(odds_loss(outputs, quantiles)) == pytest.approx(naive_odds_loss(outputs, quantiles), rel=1e-9)
    assert torch.autograd.gradcheck(odds_loss, (outputs.requires_grad_(), quantiles))


def made_episodes(seed, n_tasks, n_anomaly, shift=2.0, n=5, u=0, is_standardised=False, signed=False):
    """Scores of tasks that differ in place and scale: normal ones gamma or normal, anomalies larger."""
    rng = np.random.default_rng(seed)
    scale, place = np.exp(0.5 * rng.normal(size=(n_tasks, 1))), rng.normal(size=(n_tasks, 1)) * signed

    def draw(count, mean):
        base = rng.normal(size=(n_tasks, count)) if signed else rng.gamma(2.0, size=(n_tasks, count))
        return scale * (base + mean) + place

    support = make_scores(draw(n, 0), draw(n_anomaly, shift), draw(u, 0), is_standardised=is_standardised)
    return HeldOutScores(support, draw(40, 0), draw(20, shift))


def decisions_on(calibration, episodes):
    return [calibration.decide(one_task(episodes.support, t)) for t in range(len(episodes.normal))]


SIZES = [(2, 0, 0), (5, 1, 0), (10, 0, 30), (40, 5, 100), (200, 0, 0)]


@cache
def made_calibration(signed):
    return learn_calibration(
        [made_episodes([k, n], 120, a, n=n, u=u, signed=signed) for n, a, u in SIZES for k in range(3)]
    )


@pytest.mark.parametrize("signed", [False, True], ids=["scores above 0", "scores of any sign"])
@pytest.mark.parametrize(("n", "a", "u"), [(3, 0, 0), (5, 1, 0), (10, 0, 30), (30, 3, 50), (200, 0, 0)])
def test_rates_and_probabilities_hold_on_new_tasks_also_of_other_sizes(signed, n, a, u):
    new = made_episodes([9, n], 300, a, n=n, u=u, signed=signed)
    decisions = decisions_on(made_calibration(signed), new)
    for rate in (0.05, 0.1, 0.2, 0.4):
        found = np.mean([scores > d.threshold(rate) for scores, d in zip(new.normal, decisions, strict=True)])
        assert found == pytest.approx(rate, rel=0.55)
    parts = [
        np.concatenate([d.probability(scores) for scores, d in zip(part, decisions, strict=True)])
        for part in (new.normal, new.anomaly)
    ]
    p, y = np.concatenate(parts), np.repeat([0, 1], list(map(len, parts)))
    weight = 0.5 / np.repeat(list(map(len, parts)), list(map(len, parts)))
    number = (10 * p).astype(int)
    assert np.abs(np.bincount(number, weight * (p - y))).sum() < 0.08


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 59), st.sampled_from(SIZES), st.booleans())
def test_decisions_are_consistent(t, size, signed):
    n, a, u = size
    support = made_episodes([3, n], 60, a, n=n, u=u, signed=signed).support
    decision = made_calibration(signed).decide(one_task(support, t))
    rates = np.linspace(RATES[0], RATES[-1], 30)
    cuts = [decision.threshold(rate) for rate in rates]
    assert (np.diff(cuts) < 0).all()
    np.testing.assert_allclose([decision.rate(cut) for cut in cuts], rates, rtol=1e-6)
    assert (decision.rate(1e300), decision.rate(-1e300)) == pytest.approx((RATES[0], RATES[-1]))
    assert decision.threshold() == decision.threshold(0.05)
    scores = np.concatenate([-np.logspace(30, -6, 30), [0.0], np.logspace(-6, 30, 30)])
    p = decision.probability(scores)
    assert ((p > 0) & (p < 1)).all()
    assert (np.diff(p) >= 0).all()


def test_equal_scores_everywhere_are_no_obstacle():
    support = make_scores(np.zeros((4, 3)), np.zeros((4, 1)), is_standardised=False)
    calibration = learn_calibration([HeldOutScores(support, np.zeros((4, 5)), np.zeros((4, 2)))])
    decision = calibration.decide(one_task(support, 0))
    assert np.isfinite([decision.threshold(rate) for rate in RATES]).all()


def test_few_episodes_hardly_move_what_was_learned_before():
    start = made_calibration(False)
    again = learn_calibration([made_episodes(0, 3, 0, n=5)], start)
    assert again.scale == start.scale
    new = made_episodes([9, 5], 200, 0, n=5)
    before, after = ([np.log(d.threshold()) for d in decisions_on(calibration, new)] for calibration in (start, again))
    assert np.abs(np.subtract(before, after)).mean() < 0.3


def test_learning_goes_on_from_what_was_learned_before():
    """The fleet has scores of another distribution than the tasks before."""
    start, n = made_calibration(False), 5

    def episodes(seed):
        made = made_episodes([seed, 77], 300, 0, n=n)
        return replace(made, normal=3 * made.normal)

    after = learn_calibration([episodes(k) for k in range(4)], start)
    new = episodes(10)
    before, now = (
        np.mean([scores > d.threshold() for scores, d in zip(new.normal, decisions_on(c, new), strict=True)])
        for c in (start, after)
    )
    assert before > 0.2
    assert 0.03 < now < 0.08


def test_the_scale_is_a_share_of_the_median_normal_score():
    empty = make_scores(np.ones((2, 1)), is_standardised=False)

    def scale(normal):
        return learn_calibration([HeldOutScores(empty, np.array(normal), np.ones((2, 2)))], steps=1).scale

    assert scale([[1.0, -2.0, 3.0], [-4.0, 5.0, 9.0]]) == pytest.approx(0.3 * 3.5)
    assert scale([[0.0, 0.0, 0.0], [0.0, 0.0, 6.0]]) == pytest.approx(1.0)  # the mean, where the median is 0
    assert scale([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]) == 1.0


def test_slopes_of_odds_are_positive_whatever_the_network_gives():
    outputs = torch.tensor([[-3.0, -50.0, 50.0]], dtype=torch.float64)
    constant, below, above = log_odds_of(outputs)[0].tolist()
    assert (constant, below) == pytest.approx((-3.0, 0.02))
    assert above == pytest.approx(50.02)


def test_what_is_learned_is_of_few_digits_and_can_be_stored():
    learned = made_calibration(False)
    assert Calibration.from_dict(learned.to_dict()).to_dict() == learned.to_dict()
    numbers = learned.shape.W.flatten().tolist()
    assert numbers == [float(f"{number:.6g}") for number in numbers]
