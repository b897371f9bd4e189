import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from oddshot import FewShotDetector, InputError
from oddshot.decisions.calibration import (
    MIN_SLOPE,
    N_FEATURES,
    RATES,
    CalibratedDecision,
    Calibration,
    CalibrationCase,
    FixedThreshold,
    check_rate,
    fit_log_odds,
    fit_quantile,
    learn_calibration,
    logistic,
    raw_features,
)
from oddshot.decisions.evidence import Evidence, support_kind
from oddshot.decisions.held_out import HeldOutScores
from tests.decisions.samples import drifting, fleet_model, make_evidence
from tests.fleets import labels, mixed, numbers, small_model


def pinball(residual, level):
    return np.maximum(level * residual, (level - 1) * residual).mean()


def naive_quantile(F, v, level):
    """The same by linear programming: residual = above - below, both at least 0."""
    n, d = F.shape
    cost = np.concatenate([np.zeros(d), np.full(n, level), np.full(n, 1 - level)])
    equal = np.hstack([F, np.eye(n), -np.eye(n)])
    bounds = [(None, None)] * d + [(0, None)] * (2 * n)
    return scipy.optimize.linprog(cost, A_eq=equal, b_eq=v, bounds=bounds).x[:d]


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_quantiles_are_those_of_linear_programming(level):
    rng = np.random.default_rng(0)
    F = np.column_stack([np.ones(600), rng.normal(size=(600, 2)), np.zeros(600)])
    v = 3 + F[:, 1] * 2 - 0.5 * F[:, 2] + (1 + 0.3 * F[:, 1] ** 2) * rng.gumbel(size=600)
    ours, best = fit_quantile(F, v, level, penalty=1e-6), naive_quantile(F[:, :3], v, level)
    assert pinball(v - F @ ours, level) < 1.005 * pinball(v - F[:, :3] @ best, level)
    assert (v > F @ ours).mean() == pytest.approx(1 - level, abs=2 / 600)
    np.testing.assert_allclose(ours[:3], best, atol=0.25)
    assert ours[3] == 0


def test_odds_are_those_of_logistic_regression():
    rng = np.random.default_rng(0)
    F, e = np.column_stack([np.ones(3000), rng.normal(size=3000)]), rng.normal(size=3000)
    y = (rng.random(3000) < 1 / (1 + np.exp(2 - F[:, 1] - np.where(e > 0, 3, 1) * e))).astype(float)
    X = np.column_stack([F, np.minimum(e, 0), np.maximum(e, 0)])
    naive = LogisticRegression(C=1e9, class_weight="balanced", fit_intercept=False, tol=1e-8, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(fit_log_odds(F, e, y, penalty=0.0), naive.coef_[0], rtol=1e-2, atol=1e-2)


def test_odds_grow_with_the_score_even_where_the_data_do_not_say_so():
    rng = np.random.default_rng(0)
    e, y = rng.normal(size=500), (np.arange(500) % 2).astype(float)
    assert (fit_log_odds(np.ones((500, 1)), e * (1 - 2 * y), y)[-2:] > 0).all()


def made_episodes(seed, n_tasks, n_anomaly, shift=2.0, n=5, signed=False):
    """Scores of tasks that differ in place and scale: normal ones gamma or normal, anomalies larger."""
    rng = np.random.default_rng(seed)
    scale, place = np.exp(0.5 * rng.normal(size=(n_tasks, 1))), rng.normal(size=(n_tasks, 1)) * signed

    def draw(count, mean):
        base = rng.normal(size=(n_tasks, count)) if signed else rng.gamma(2.0, size=(n_tasks, count))
        return scale * (base + mean) + place

    evidence = Evidence(draw(n, 0), draw(n_anomaly, shift), np.empty((n_tasks, 0)), 0)
    return HeldOutScores(evidence, draw(40, 0), draw(20, shift))


def one_task(evidence, t):
    parts = (evidence.normal, evidence.anomaly, evidence.unlabelled)
    return Evidence(*(part[t : t + 1] for part in parts), evidence.n_unlabelled)


def test_rates_hold_for_every_number_of_normal_rows_though_scores_do_not_rise_evenly_with_it():
    """Queries of supports with five rows score higher than those of two and of ten."""
    factors = {2: 1.0, 5: 2.0, 10: 1.2}

    def episodes(seed, n):
        made = made_episodes([seed, n], 300, 0, n=n)
        return replace(made, normal=factors[n] * made.normal)

    calibration = learn_calibration([episodes(0, n) for n in factors])
    for n in factors:
        new = episodes(1, n)
        decisions = [calibration.decide(one_task(new.evidence, t)) for t in range(300)]
        above = [row > decision.threshold(0.05) for row, decision in zip(new.normal, decisions, strict=True)]
        assert 0.035 < np.mean(above) < 0.065


@pytest.mark.parametrize("signed", [False, True], ids=["scores above 0", "scores of any sign"])
@pytest.mark.parametrize("n_anomaly", [0, 1])
def test_rates_and_probabilities_hold_on_new_tasks(signed, n_anomaly):
    kinds = [made_episodes(seed, 300, a, signed=signed) for seed, a in ((0, 0), (1, 1))]
    calibration = learn_calibration(kinds)
    assert set(calibration.cases) == {support_kind(0, 0), support_kind(1, 0)}
    new = made_episodes(2, 400, n_anomaly, signed=signed)
    decisions = [calibration.decide(one_task(new.evidence, t)) for t in range(400)]
    for rate, factor in {0.01: 2.0, 0.05: 1.4, 0.1: 1.3, 0.2: 1.2, 0.4: 1.1}.items():
        found = np.mean([new.normal[t] > d.threshold(rate) for t, d in enumerate(decisions)])
        assert rate / factor < found < rate * factor
    normal, anomaly = (
        np.concatenate([d.probability(part[t]) for t, d in enumerate(decisions)]) for part in (new.normal, new.anomaly)
    )
    p, y = np.concatenate([normal, anomaly]), np.repeat([0, 1], [len(normal), len(anomaly)])
    weight = np.where(y == 1, 1 / len(anomaly), 1 / len(normal))
    for low in np.arange(0, 1, 0.2):
        chosen = (p >= low) & (p < low + 0.2)
        if weight[chosen].sum() > 0.05:
            assert np.average(y[chosen], weights=weight[chosen]) == pytest.approx(p[chosen].mean(), abs=0.1)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 399), st.sampled_from([0, 1]), st.booleans())
def test_decisions_are_consistent(t, n_anomaly, signed):
    decision = made_calibration(signed).decide(one_task(made_episodes(3, 400, n_anomaly, signed=signed).evidence, t))
    cuts = [decision.threshold(rate) for rate in np.linspace(RATES[0], RATES[-1], 30)]
    assert (np.diff(cuts) <= 0).all()
    back = [decision.threshold(decision.rate(cut)) for cut in cuts]  # cuts, since two rates may have the same one
    np.testing.assert_allclose(back, cuts, rtol=1e-6, atol=1e-9)
    assert (decision.rate(1e300), decision.rate(-1e300)) == pytest.approx((RATES[0], RATES[-1]))
    assert decision.threshold() == decision.threshold(0.05)
    scores = np.concatenate([-np.logspace(30, -6, 30), [0.0], np.logspace(-6, 30, 30)])
    p = decision.probability(scores)
    assert ((p > 0) & (p < 1)).all()
    assert (np.diff(p) >= 0).all()


@cache
def made_calibration(signed):
    return learn_calibration([made_episodes(0, 100, 0, signed=signed), made_episodes(1, 100, 1, signed=signed)])


def test_equal_scores_everywhere_are_no_obstacle():
    evidence = Evidence(np.zeros((4, 3)), np.zeros((4, 1)), np.empty((4, 0)), 0)
    calibration = learn_calibration([HeldOutScores(evidence, np.zeros((4, 5)), np.zeros((4, 2)))])
    decision = calibration.decide(one_task(evidence, 0))
    assert np.isfinite(decision.threshold(0.05))
    assert np.isfinite(decision.threshold())


def test_a_kind_of_support_that_was_not_met_is_refused():
    calibration = learn_calibration([made_episodes(0, 20, 1)])
    with pytest.raises(InputError, match=r"no calibration for a support of this kind \(normal only\)"):
        calibration.decide(one_task(made_episodes(0, 20, 0).evidence, 0))


@pytest.mark.parametrize(("method", "n_anomaly"), [("eigen", 1), ("r2d2", 1), ("relative", 1), ("relative", 0)])
def test_a_fleet_gets_the_false_positive_rate_that_was_asked_for(method, n_anomaly):
    model, found = fleet_model(method), []
    for t in range(200, 320):
        X, y = drifting(t), labels(60)
        rows = np.concatenate([np.flatnonzero(y == 1)[:n_anomaly], np.flatnonzero(y == 0)[:5]])
        rest = np.setdiff1d(np.flatnonzero(y == 0), rows)
        found.append(FewShotDetector(model, false_positive_rate=0.05).fit(X[rows], y[rows]).predict(X[rest]).mean())
    assert 0.03 < np.mean(found) < 0.07


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


def test_the_calibration_has_a_coefficient_a_feature():
    for case in small_model("relative").calibration.cases.values():
        assert np.shape(case.thresholds) == (len(RATES), N_FEATURES)


# With numbers made by hand.

THRESHOLDS = np.array([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, -1.0])  # of RATES, on v; the reference is 3


def decision(constant=-0.5, below=0.25, above=2.0, scale=0.5):
    return CalibratedDecision(scale, THRESHOLDS, (constant, below, above))


def test_the_rates_and_the_reference():
    assert RATES == (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
    assert decision().probability(np.array([0.5 * math.sinh(3.0)]))[0] == pytest.approx(1 / (1 + math.exp(0.5)))


def test_thresholds_of_stored_rates_are_those_stored_and_normal_quantiles_lie_straight_between():
    for rate, v in zip(RATES, THRESHOLDS, strict=True):
        assert decision().threshold(rate) == pytest.approx(0.5 * math.sinh(v), rel=1e-9)
        assert decision().rate(0.5 * math.sinh(v)) == pytest.approx(rate, rel=1e-9)
    z = scipy.stats.norm.ppf
    middle = scipy.stats.norm.cdf((z(0.05) + z(0.1)) / 2)
    assert decision().threshold(middle) == pytest.approx(0.5 * math.sinh(3.5), rel=1e-9)
    assert decision().rate(0.5 * math.sinh(3.5)) == pytest.approx(middle, rel=1e-9)
    assert decision().rate(1e9) == pytest.approx(0.001)
    assert decision().rate(-1e9) == pytest.approx(0.5)


@pytest.mark.parametrize(("constant", "v"), [(-0.5, 3 + 0.5 / 2), (-4.0, 3 + 4 / 2), (0.0, 3.0), (0.5, 3 - 0.5 / 0.25)])
def test_without_a_rate_the_threshold_is_that_of_five_percent_whatever_the_probabilities(constant, v):
    assert decision(constant).threshold() == pytest.approx(0.5 * math.sinh(4.0), rel=1e-12)
    assert decision(constant).probability(np.array([0.5 * math.sinh(v)]))[0] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_threshold_far_out_is_finite(sign):
    far = CalibratedDecision(0.5, np.full(10, 1000.0 * sign), (-0.5, 0.25, 2.0))
    assert far.threshold() == pytest.approx(sign * 0.5 * math.sinh(300.0))


@pytest.mark.parametrize(
    ("v", "log_odds"),
    [
        (3.0, -0.5), (4.0, 1.5), (5.5, 4.5), (2.0, -0.75), (-1.0, -1.5),
        (5.75, 5.0), (6.75, 5 + math.log(1 + 2.0)), (7.75, 5 + math.log(1 + 4.0)), (-19.0, -5 - math.log(1 + 1.0)),
    ],
)  # fmt: skip
def test_log_odds_are_two_straight_lines_and_logarithmic_beyond_five(v, log_odds):
    found = decision().probability(np.array([0.5 * math.sinh(v), 0.0]))
    assert found.shape == (2,)
    assert math.log(found[0] / (1 - found[0])) == pytest.approx(log_odds, rel=1e-6)


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


def naive_features(normal, anomaly, unlabelled, n_unlabelled, scale):
    """Of one task, by NumPy on lists."""
    v = [np.arcsinh(np.array(part) / scale) for part in (normal, anomaly, unlabelled)]
    counts = [np.log(max(n, 1)) for n in (len(normal), len(anomaly), n_unlabelled)]
    anomalous = np.mean(v[1]) if len(anomaly) else 0.0
    others = [np.median(v[2]), np.percentile(v[2], 90)] if len(unlabelled) else [0.0, 0.0]
    return [1.0, np.mean(v[0]), np.sqrt(np.mean((v[0] - np.mean(v[0])) ** 2)), anomalous, *others, *counts, 0.0]


@pytest.mark.parametrize(("a", "u", "n_unlabelled"), [(0, 0, 0), (1, 0, 0), (3, 0, 0), (0, 7, 7), (2, 5, 900)])
def test_features_are_as_by_hand(a, u, n_unlabelled):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(3, n)) * 5 for n in (4, a, u)]
    found = raw_features(make_evidence(*parts, n_unlabelled=n_unlabelled), 0.3)
    expected = [naive_features(*(part[t] for part in parts), n_unlabelled, 0.3) for t in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found.shape == (3, N_FEATURES)


def by_hand(**changes):
    """A case whose every number is another one."""
    rng = np.random.default_rng(1)
    means, thresholds, log_odds = rng.normal(size=10), rng.normal(size=(10, 10)), rng.uniform(0.1, 1, size=12)
    parts = {
        "scale": 0.4,
        "means": means,
        "smallest": [0.0] * 6 + [math.log(3), 0.0, math.log(10), 0.0],
        "largest": [0.0] * 6 + [math.log(6), math.log(2), math.log(50), 0.0],
        "thresholds": tuple(map(tuple, thresholds.tolist())),
        "log_odds": log_odds,
    } | changes
    return CalibrationCase(**{key: tuple(map(float, value)) if key in ("means", "smallest", "largest", "log_odds")
                              else value for key, value in parts.items()})  # fmt: skip


@pytest.mark.parametrize(("n", "a", "n_unlabelled"), [(2, 1, 5), (4, 2, 20), (9, 5, 60)])
def test_numbers_of_rows_are_clipped_to_those_of_held_out_tasks_and_features_centred(n, a, n_unlabelled):
    rng = np.random.default_rng(2)
    evidence = make_evidence(rng.normal(size=(2, n)), rng.normal(size=(2, a)), rng.normal(size=(2, 5)), n_unlabelled)
    case, raw = by_hand(), raw_features(evidence, 0.4)
    counts = np.log([min(max(n, 3), 6), min(max(a, 1), 2), min(max(n_unlabelled, 10), 50)])
    expected = np.column_stack([raw[:, :6], np.tile(counts, (2, 1))])
    expected[:, 1:] -= np.array(case.means)[1:9]
    expected = np.column_stack([expected, expected[:, 6] ** 2])
    np.testing.assert_allclose(case.features(evidence), expected, rtol=1e-12)


def test_a_decision_is_linear_in_the_features_and_its_thresholds_fall():
    evidence, case = make_evidence([[0.3, 1.2, 2.0, 5.0]], [[7.0]]), by_hand()
    found, F = Calibration({"anomalies": case}).decide(evidence), case.features(evidence)[0]
    at = [sum(c * f for c, f in zip(row, F, strict=True)) for row in case.thresholds]
    np.testing.assert_allclose(found.thresholds, [max(at[k:]) for k in range(10)], rtol=1e-12)
    assert found.log_odds[0] == pytest.approx(sum(c * f for c, f in zip(case.log_odds[:10], F, strict=True)))
    assert found.log_odds[1:] == case.log_odds[10:]
    assert found.scale == 0.4


def test_without_a_case_for_unlabelled_rows_that_without_them_is_taken():
    evidence = make_evidence([[0.3, 1.2, 2.0]], [[7.0]], [[1.0, 3.0]])
    plain, own = by_hand(), by_hand(scale=0.9)
    assert Calibration({"anomalies": plain}).decide(evidence).scale == 0.4
    assert Calibration({"anomalies": plain, "anomalies, unlabelled": own}).decide(evidence).scale == 0.9
    with pytest.raises(InputError, match=r"\(anomalies, unlabelled\)"):
        Calibration({"normal only, unlabelled": own}).decide(evidence)


def test_what_is_stored_is_read_back():
    stored = Calibration({"anomalies": by_hand(), "normal only": by_hand(scale=2.0)})
    data = json.loads(json.dumps(stored.to_dict()))
    assert set(data["anomalies"]) == {"scale", "usual", "least", "most", "thresholds", "odds"}
    assert data["anomalies"]["usual"] == list(by_hand().means)
    assert Calibration.from_dict(data) == stored
    assert Calibration.from_dict(json.loads(json.dumps(stored.to_dict()).replace("0.4,", "4,"))).cases != stored.cases


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": 0.0}, "a scale and slopes above 0"),
        ({"scale": "1"}, "expected 1 numbers"),
        ({"thresholds": [[0.0] * 10] * 9}, "a threshold a rate"),
        ({"thresholds": [[0.0] * 10] * 9 + [[0.0] * 9]}, "expected 10 numbers"),
        ({"odds": [1.0] * 11}, "expected 12 numbers"),
        ({"odds": [1.0] * 10 + [1.0, 0.0]}, "slopes above 0"),
        ({"odds": [1.0] * 10 + [0.0, 1.0]}, "slopes above 0"),
        ({"usual": [0.0] * 11}, "expected 10 numbers"),
        ({"least": [0.0] * 9 + [math.inf]}, "expected 10 numbers"),
        ({"most": [0.0] * 9 + ["1"]}, "expected 10 numbers"),
    ],
)
def test_damaged_numbers_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Calibration.from_dict({"anomalies": by_hand().to_dict() | changes})
    assert Calibration.from_dict({"anomalies": by_hand(log_odds=[-1.0] * 10 + [1e-9, 1e-9]).to_dict()})


@pytest.mark.parametrize("data", [None, [1], {"anomalies": 5}, {"anomalies": {}, "b": []}])
def test_other_types_are_refused(data):
    with pytest.raises(TypeError, match="calibration is"):
        Calibration.from_dict(data)


@pytest.mark.parametrize("rate", [0.001, 0.05, 0.5, np.float32(0.25), np.float64(0.001)])
def test_rates_from_one_in_a_thousand_to_a_half_may_be_asked_for(rate):
    found = check_rate(rate)
    assert type(found) is float
    assert found == rate
    assert check_rate(None) is None


def test_the_scale_is_a_share_of_the_median_normal_score():
    empty = make_evidence(np.ones((2, 1)))

    def scale(normal):
        return learn_calibration([HeldOutScores(empty, np.array(normal), np.ones((2, 2)))]).cases["normal only"].scale

    assert scale([[1.0, -2.0, 3.0], [-4.0, 5.0, 9.0]]) == pytest.approx(0.3 * 3.5)
    assert scale([[0.0, 0.0, 0.0], [0.0, 0.0, 6.0]]) == pytest.approx(1.0)  # the mean, where the median is 0
    assert scale([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]) == 1.0


def test_a_case_knows_mean_least_and_most_of_its_features():
    episodes = [made_episodes([5, n], 30, 1, n=n) for n in (2, 6)]
    case = learn_calibration(episodes).cases["anomalies"]
    raw = np.concatenate([raw_features(part.evidence, case.scale) for part in episodes])
    for found, expected in ((case.means, raw.mean(0)), (case.smallest, raw.min(0)), (case.largest, raw.max(0))):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert case.smallest[6:8] == pytest.approx((math.log(2), 0.0))
    assert case.largest[6] == pytest.approx(math.log(6))


def smoothed_objective(X, y, level, penalty, h=0.01):
    """Of standardised columns and the constant: pinball loss with its corner rounded over h, plus the penalty."""

    def value(c):
        residual = y - c[0] - X @ c[1:]
        rounded = [level * one + h * math.log1p(math.exp(-abs(one) / h)) + max(-one, 0.0) for one in residual]
        return np.mean(rounded) + penalty * sum(c[1:] ** 2)

    return value


@pytest.mark.parametrize(("level", "penalty"), [(0.9, 1e-3), (0.5, 0.1)])
def test_quantile_coefficients_are_those_of_the_penalised_objective(level, penalty):
    rng = np.random.default_rng(3)
    F = np.column_stack([np.ones(150), 10 * rng.normal(size=150), 0.1 * rng.normal(size=150)])
    v = 40 + F[:, 1] * 2 - 30 * F[:, 2] + 8 * rng.normal(size=150)
    ours = fit_quantile(F, v, level, penalty) if penalty != 1e-3 else fit_quantile(F, v, level)
    width = np.quantile(v, 0.75) - np.quantile(v, 0.25)
    spread = F[:, 1:].std(0)
    objective = smoothed_objective(F[:, 1:] / spread, v / width, level, penalty)
    start = np.append(np.quantile(v / width, level), ours[1:] * spread / width)
    best = scipy.optimize.minimize(objective, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10})
    np.testing.assert_allclose(ours[1:] * spread / width, best.x[1:], rtol=1e-2, atol=1e-3)
    rest = np.sort(v - F[:, 1:] @ ours[1:])
    assert ours[0] == pytest.approx(rest[math.ceil(level * 149)])


@pytest.mark.parametrize(("penalty", "n_anomaly"), [(1e-3, None), (0.1, None), (0.1, 1), (0.1, 199)])
def test_log_odds_are_those_of_the_penalised_objective(penalty, n_anomaly):
    rng = np.random.default_rng(4)
    F, e = np.column_stack([np.ones(200), 5 * rng.normal(size=200)]), 3 * rng.normal(size=200)
    y = (rng.random(200) < 1 / (1 + np.exp(2 - 0.2 * F[:, 1] - np.where(e > 0, 1, 0.3) * e))).astype(float)
    X = np.column_stack([F, np.minimum(e, 0), np.maximum(e, 0)])
    size = np.append(1.0, X[:, 1:].std(0))
    if n_anomaly is not None:
        y = (np.arange(200) < n_anomaly).astype(float)

    def objective(c):
        z = X @ c
        each = np.log1p(np.exp(np.where(y > 0, -z, z)))
        return (each[y > 0].mean() + each[y == 0].mean()) / 2 + penalty * sum((c[1:] * size[1:]) ** 2)

    best = scipy.optimize.minimize(objective, np.ones(4), bounds=[(None, None)] * 2 + [(MIN_SLOPE, None)] * 2).x
    ours = fit_log_odds(F, e, y) if penalty == 1e-3 else fit_log_odds(F, e, y, penalty)
    np.testing.assert_allclose(ours, best, rtol=2e-2, atol=2e-3)


def test_slopes_are_at_least_the_smallest_in_units_of_the_score():
    rng = np.random.default_rng(0)
    e = 50 * rng.normal(size=500)
    y = (rng.random(500) < 1 / (1 + np.exp(e / 10))).astype(float)  # anomalies have the lower scores
    np.testing.assert_allclose(fit_log_odds(np.ones((500, 1)), e, y)[1:], [0.02, 0.02], rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_other_units_of_scores_and_features_give_the_same_quantiles_and_log_odds(factor):
    rng = np.random.default_rng(6)
    F, v = np.column_stack([np.ones(200), rng.normal(size=200)]), rng.normal(size=200)
    units, y = np.array([1.0, factor]), (rng.random(200) < 1 / (1 + np.exp(-v))).astype(float)
    c = fit_quantile(F, v, 0.8)
    np.testing.assert_allclose(fit_quantile(F, factor * v, 0.8), factor * c, rtol=1e-2)
    np.testing.assert_allclose(fit_quantile(F * units, v, 0.8), c / units, rtol=1e-2)
    np.testing.assert_allclose(
        fit_log_odds(F * units, v, y), fit_log_odds(F, v, y) / np.append(units, [1, 1]), rtol=1e-2, atol=1e-6
    )
