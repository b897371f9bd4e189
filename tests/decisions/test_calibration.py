"""Thresholds, rates and probabilities read off one curve, and what is stored of a calibration."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.special
import scipy.stats

from oddshot import FewShotDetector, InputError
from oddshot.decisions.calibration import (
    N_ODDS,
    RATES,
    CalibratedDecision,
    Calibration,
    FeatureNetwork,
    FixedThreshold,
    check_rate,
    logistic,
)
from oddshot.decisions.features import N_FEATURES, support_features
from oddshot.decisions.normal_scores import KNOTS, N_SHAPE, NormalScores
from tests.decisions.samples import drifting, fleet_model, make_scores
from tests.fleets import labels, mixed, numbers, small_model

BEND = scipy.stats.norm.isf(0.1)


@pytest.mark.parametrize(("method", "n_anomaly"), [("eigen", 1), ("r2d2", 1), ("relative", 1), ("relative", 0)])
def test_a_fleet_gets_the_false_positive_rate_that_was_asked_for(method, n_anomaly):
    model, found = fleet_model(method), []
    for t in range(200, 320):
        X, y = drifting(t), labels(60)
        rows = np.concatenate([np.flatnonzero(y == 1)[:n_anomaly], np.flatnonzero(y == 0)[:5]])
        rest = np.setdiff1d(np.flatnonzero(y == 0), rows)
        found.append(FewShotDetector(model, false_positive_rate=0.05).fit(X[rows], y[rows]).predict(X[rest]).mean())
    assert 0.03 < np.mean(found) < 0.08


@pytest.mark.parametrize("rate", [0, 1, 0.6, 1e-4, -0.1, float("nan"), "0.05", None, True])
def test_rates_that_cannot_be(rate):
    detector = FewShotDetector(small_model(), false_positive_rate=rate)
    if rate is None:
        detector.fit(numbers(9), labels())
        return
    with pytest.raises(InputError, match=r"false_positive_rate is .*; it must be a number from 0\.001 to 0\.5"):
        detector.fit(numbers(9), labels())


@pytest.mark.parametrize("method", ["eigen", "woanomaly", "wonn", "relative", "lr"])
def test_probabilities_agree_with_predictions(method):
    make = numbers if method == "lr" else mixed
    fitted, X = FewShotDetector(small_model(method, make)).fit(make(9, 10), labels(10)), make(8)
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(1), 1)
    np.testing.assert_array_equal(fitted.decision_function(X) > 0, fitted.predict(X) == 1)
    np.testing.assert_array_equal(
        fitted.predict(X) == 1, fitted.score_samples(X) > fitted.task_.decision.threshold(0.05)
    )
    order = np.argsort(fitted.score_samples(X))
    assert (np.diff(p[order, 1]) >= 0).all()


def test_a_smaller_rate_gives_fewer_anomalies():
    fitted = [FewShotDetector(small_model(), rate).fit(numbers(9), labels()) for rate in (0.01, 0.1, 0.5)]
    counts = [one.predict(numbers(8)).sum() for one in fitted]
    assert counts == sorted(counts)
    p = [one.predict_proba(numbers(8)) for one in fitted]
    np.testing.assert_array_equal(p[0], p[2])


def test_a_model_without_calibration_has_no_probability():
    fitted = FewShotDetector(replace(small_model(), calibration=None)).fit(numbers(9), labels())
    assert not hasattr(fitted, "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as caught:
        fitted.predict_proba(numbers(8))
    assert str(caught.value.__cause__) == "predict_proba needs a calibration, and the model has none; train it again"


def test_the_model_that_ships_has_probabilities():
    fitted = FewShotDetector(false_positive_rate=0.05).fit(numbers(9), labels())
    p = fitted.predict_proba(numbers(8))
    assert ((p > 0) & (p < 1)).all()


# With numbers made by hand: a score is its normal quantile.


def decision(constant=-0.5, below=0.25, above=2.0):
    return CalibratedDecision(NormalScores(KNOTS, KNOTS), (constant, below, above))


def test_thresholds_are_normal_quantiles_and_rates_lead_back():
    assert RATES == (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
    for rate in (*RATES, 0.07):
        assert decision().threshold(rate) == pytest.approx(scipy.stats.norm.isf(rate), abs=1e-9)
        assert decision().rate(scipy.stats.norm.isf(rate)) == pytest.approx(rate, rel=1e-9)
    assert decision().rate(1e9) == pytest.approx(0.001)
    assert decision().rate(-1e9) == pytest.approx(0.5)


@pytest.mark.parametrize("constant", [-4.0, -0.5, 0.0, 0.5])
def test_without_a_rate_the_threshold_is_that_of_five_percent_whatever_the_probabilities(constant):
    assert decision(constant).threshold() == pytest.approx(scipy.stats.norm.isf(0.05), abs=1e-9)


@pytest.mark.parametrize(
    ("e", "log_odds"),
    [
        (0.0, -0.5), (1.0, 1.5), (2.5, 4.5), (-1.0, -0.75), (-4.0, -1.5),
        (2.75, 5.0), (3.75, 5 + math.log(1 + 2.0)),
    ],
)  # fmt: skip
def test_log_odds_are_two_straight_lines_and_logarithmic_beyond_five(e, log_odds):
    found = decision().probability(np.array([BEND + e, 0.0]))
    assert found.shape == (2,)
    assert math.log(found[0] / (1 - found[0])) == pytest.approx(log_odds, rel=1e-6)


def test_scores_are_0_for_a_median_normal_row_and_1_at_the_default_threshold():
    plain = CalibratedDecision(NormalScores(3 + 2 * KNOTS, KNOTS), (-0.5, 0.25, 2.0))
    location, unit = plain.scale()
    found = plain.rescaled(location, unit)
    assert (found.threshold(0.5), found.threshold()) == pytest.approx((0.0, 1.0))
    scores = np.linspace(-5, 9, 20)
    np.testing.assert_allclose(found.probability((scores - location) / unit), plain.probability(scores))


def test_a_flat_curve_has_a_unit():
    flat = CalibratedDecision(NormalScores(np.full(len(KNOTS), 2.0), KNOTS), (0.0, 1.0, 1.0))
    location, unit = flat.scale()
    assert location == 2.0
    assert unit > 0


def test_probabilities_of_log_odds_are_those_of_scipy_and_never_overflow():
    log_odds = np.concatenate([[-1000.0, 0.0, 1000.0], np.linspace(-40, 40, 1001)])
    with np.errstate(all="raise", under="ignore"):
        p = logistic(log_odds)
    np.testing.assert_allclose(p, scipy.special.expit(log_odds), rtol=1e-15, atol=0)


def test_a_fixed_threshold_knows_nothing_else():
    fixed = FixedThreshold(0.7)
    assert (fixed.threshold(), fixed.threshold(0.01)) == (0.7, 0.7)
    assert fixed.rate(0.7) is None
    assert fixed.probability(np.array([1.0])) is None


def network(seed, n_outputs):
    rng = np.random.default_rng(seed)
    shapes = {"mean": [N_FEATURES], "spread": [N_FEATURES], "W": [N_FEATURES, n_outputs], "b": [n_outputs]}
    shapes |= {"V": [N_FEATURES, 5], "c": [5], "U": [5, n_outputs]}
    parts = {name: rng.normal(size=shape) / 4 for name, shape in shapes.items()}
    return FeatureNetwork(**parts | {"spread": np.exp(parts["spread"])})


def by_hand(scale=0.4):
    return Calibration(network(0, N_SHAPE), network(1, N_ODDS), scale)


def naive_network(parts, x):
    x = np.clip((x - parts["mean"]) / parts["spread"], -6, 6)
    hidden = [math.tanh(sum(x * column) + c) for column, c in zip(parts["V"].T, parts["c"], strict=True)]
    return np.array([sum(x * w) + b for w, b in zip(parts["W"].T, parts["b"], strict=True)]) + hidden @ parts["U"]


def test_a_network_is_a_linear_part_and_a_hidden_layer():
    made = network(0, 3)
    parts = {name: np.array(value) for name, value in made.to_dict().items()}
    x = np.random.default_rng(2).normal(size=(4, N_FEATURES)) * 9
    found = made(x)
    np.testing.assert_allclose(found, [naive_network(parts, row) for row in x], rtol=1e-10)


def test_the_mean_of_networks_gives_the_mean_of_what_they_give():
    made = [network(0, 3), network(1, 3)]
    made[1] = replace(made[1], mean=made[0].mean, spread=made[0].spread)
    x = np.random.default_rng(2).normal(size=(4, N_FEATURES))
    np.testing.assert_allclose(FeatureNetwork.mean_of(made)(x), (made[0](x) + made[1](x)) / 2, rtol=1e-10)


def naive_expected(outputs, z):
    """Tukey's g-and-h distribution."""
    median, spread, skewness, tail = outputs
    g, h = 1.5 * np.tanh(skewness), 0.5 * scipy.special.expit(tail)
    return median + np.exp(spread) * np.expm1(g * z) / g * np.exp(h * z * z / 2)


def test_a_decision_combines_the_predicted_distribution_with_the_tasks_own_rows():
    support = make_scores([[0.3, 1.2, 2.0, 5.0]], [[7.0]], [[0.1, 0.2]])
    made = by_hand()
    features, location, spread = support_features(support)
    parts = [{name: np.array(value) for name, value in one.to_dict().items()} for one in (made.shape, made.odds)]
    expected = location[0] + spread[0] * naive_expected(naive_network(parts[0], features[0]), KNOTS)
    curve = NormalScores.combine(expected, support.normal[0])
    found = made.decide(support)
    np.testing.assert_allclose(found.normal.scores, curve.scores, rtol=1e-9)
    np.testing.assert_allclose(found.normal.quantiles, curve.quantiles, rtol=1e-7, atol=1e-9)
    constant, below, above = naive_network(parts[1], features[0])
    slopes = 0.02 + np.log1p(np.exp([below, above]))
    np.testing.assert_allclose(found.log_odds, [constant, *slopes], rtol=1e-7)


def test_scores_without_leave_one_out_do_not_count_as_own_rows():
    support = make_scores([[0.3, 1.2, 2.0, 5.0]], is_leave_one_out=False)
    own = by_hand().decide(replace(support, is_leave_one_out=True)).normal.scores
    assert set(support.normal[0]) <= set(own)
    found = by_hand().decide(support).normal.scores
    assert found.min() == 0.3  # new rows score no lower
    assert len(set(support.normal[0]) & set(found)) == 1


def test_no_normal_row_is_flagged_where_all_have_the_lowest_score():
    """Scores of a few values, such as the share of trees, of which most normal rows have the lowest."""
    support = make_scores(np.zeros((1, 20)), [[0.7]], is_leave_one_out=False, is_standardised=False)
    decision = by_hand().decide(support)
    assert min(decision.threshold(rate) for rate in RATES) >= 0


def test_scores_without_a_scale_of_their_own_are_compressed_first():
    v = [[0.5, 1.0, 2.0]]
    plain = by_hand().decide(make_scores(v)).normal
    found = by_hand().decide(make_scores(0.4 * np.sinh(v), is_standardised=False)).normal
    np.testing.assert_allclose(found.scores, 0.4 * np.sinh(np.clip(plain.scores, -300, 300)), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.quantiles, plain.quantiles)
    huge = by_hand().decide(make_scores([[1e300]], is_standardised=False))
    assert np.isfinite([huge.threshold(rate) for rate in RATES]).all()


def test_what_is_stored_is_read_back():
    data = json.loads(json.dumps(by_hand().to_dict()))
    assert Calibration.from_dict(data).to_dict() == by_hand().to_dict()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": 0.0}, "the scale is not a number above 0"),
        ({"scale": "1"}, "the scale is not a number above 0"),
        ({"scale": math.inf}, "the scale is not a number above 0"),
        ({"shape": network(0, N_SHAPE + 1).to_dict()}, "numbers of another shape"),
        ({"odds": network(0, N_ODDS).to_dict() | {"W": [[0.0] * N_ODDS] * 3}}, "numbers of another shape"),
        ({"odds": network(0, N_ODDS).to_dict() | {"b": [math.nan] * N_ODDS}}, "finite numbers, and spreads above 0"),
        ({"odds": network(0, N_ODDS).to_dict() | {"spread": [0.0] * N_FEATURES}}, "and spreads above 0"),
    ],
)
def test_damaged_numbers_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Calibration.from_dict(by_hand().to_dict() | changes)


@pytest.mark.parametrize("data", [None, [1], {"shape": 5, "odds": {}, "scale": 1.0}])
def test_other_types_are_refused(data):
    with pytest.raises(TypeError, match="calibration is"):
        Calibration.from_dict(data)


@pytest.mark.parametrize("rate", [0.001, 0.05, 0.5, np.float32(0.25), np.float64(0.001)])
def test_rates_from_one_in_a_thousand_to_a_half_may_be_asked_for(rate):
    found = check_rate(rate)
    assert type(found) is float
    assert found == rate
    assert check_rate(None) is None
