import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from oddshot import EpisodeSizes, FewShotDetector, InputError, Task, TrainingConfig, meta_train
from oddshot.decisions.calibration import N_FEATURES, RATES, fit_log_odds, fit_quantile, learn_calibration
from oddshot.decisions.evidence import Evidence, support_kind
from oddshot.decisions.familiarity import WARNING_SHARE, learn_familiarity
from oddshot.decisions.held_out import HeldOutScores
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

    evidence = Evidence(draw(n, 0), draw(n_anomaly, shift), np.empty((n_tasks, 0)), np.empty((n_tasks, 0)), 0)
    return HeldOutScores(evidence, draw(40, 0), draw(20, shift))


def one_task(evidence, t):
    parts = (evidence.normal, evidence.anomaly, evidence.unlabelled)
    return Evidence(*(part[t : t + 1] for part in parts), np.empty((1, 0)), evidence.n_unlabelled)


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
    assert decision.probability(np.array([decision.threshold()]))[0] == pytest.approx(0.5)
    scores = np.concatenate([-np.logspace(30, -6, 30), [0.0], np.logspace(-6, 30, 30)])
    p = decision.probability(scores)
    assert ((p > 0) & (p < 1)).all()
    assert (np.diff(p) >= 0).all()


@cache
def made_calibration(signed):
    return learn_calibration([made_episodes(0, 100, 0, signed=signed), made_episodes(1, 100, 1, signed=signed)])


def test_equal_scores_everywhere_are_no_obstacle():
    evidence = Evidence(np.zeros((4, 3)), np.zeros((4, 1)), np.empty((4, 0)), np.empty((4, 0)), 0)
    calibration = learn_calibration([HeldOutScores(evidence, np.zeros((4, 5)), np.zeros((4, 2)))])
    decision = calibration.decide(one_task(evidence, 0))
    assert np.isfinite(decision.threshold(0.05))
    assert np.isfinite(decision.threshold())


def test_a_kind_of_support_that_was_not_met_is_refused():
    calibration = learn_calibration([made_episodes(0, 20, 1)])
    with pytest.raises(InputError, match=r"no calibration for a support of this kind \(normal only\)"):
        calibration.decide(one_task(made_episodes(0, 20, 0).evidence, 0))


def drifting(t, n=60):
    """A fleet whose tasks differ in where they lie; the anomalies are off in the first column."""
    rng = np.random.default_rng([7, t])
    X = rng.normal(size=(n, 3))
    X[labels(n) == 1, 0] += 4
    return X + rng.normal(size=3)


@cache
def fleet_model(method):
    tasks = [Task(f"machine{t}", drifting(t), labels(60)) for t in range(160)]
    training = TrainingConfig(epochs=6, batch_size=30)
    return meta_train(
        tasks[:80], validation=tasks[80:], method=method, sizes=EpisodeSizes(5, 1, 15, 4), training=training,
        device="cpu", progress=False, units=16,
    )  # fmt: skip


@pytest.mark.parametrize(("method", "n_anomaly"), [("eigen", 1), ("r2d2", 1), ("relative", 1), ("relative", 0)])
def test_a_fleet_gets_the_false_positive_rate_that_was_asked_for(method, n_anomaly):
    model, found = fleet_model(method), []
    for t in range(200, 320):
        X, y = drifting(t), labels(60)
        rows = np.concatenate([np.flatnonzero(y == 1)[:n_anomaly], np.flatnonzero(y == 0)[:5]])
        rest = np.setdiff1d(np.flatnonzero(y == 0), rows)
        found.append(FewShotDetector(model, false_positive_rate=0.05).fit(X[rows], y[rows]).predict(X[rest]).mean())
    assert 0.03 < np.mean(found) < 0.07


@pytest.mark.parametrize("method", ["eigen", "relative"])
def test_tasks_of_the_fleet_are_known_and_foreign_ones_are_warned_of(method):
    model, shares = fleet_model(method), []
    for t in range(300, 400):
        rows = np.flatnonzero(labels(60) >= 0)[:6]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shares.append(FewShotDetector(model).fit(drifting(t)[rows], labels(60)[rows]).familiarity_)
    assert np.mean(np.array(shares) < WARNING_SHARE) <= 0.01
    assert 0.3 < np.median(shares) < 0.7
    foreign = drifting(1)[:6] * 300
    with pytest.warns(UserWarning, match=r"knows no such task: the support lies \d+\.\d times as far") as caught:
        fitted = FewShotDetector(model).fit(foreign, labels(60)[:6])
    assert len(caught) == 1
    assert fitted.familiarity_ < WARNING_SHARE


def test_familiarity_is_the_share_of_held_out_tasks_that_are_farther():
    rng = np.random.default_rng(0)

    def tasks(n):
        return Evidence(np.ones((n, 2)), np.ones((n, 1)), np.empty((n, 0)), rng.normal(size=(n, 4)), 0)

    training, held_out, new = tasks(2000), tasks(2000), tasks(500)
    case = learn_familiarity([training], [held_out]).cases[support_kind(1, 0)]
    distance = case.distance(new.representation)
    naive = [np.sqrt(np.mean(((r - training.representation.mean(0)) / training.representation.std(0)) ** 2))
             for r in new.representation]  # fmt: skip
    np.testing.assert_allclose(distance, naive, rtol=1e-4)
    shares = np.array([case.share_beyond(d) for d in distance])
    farther = np.array([(case.distance(held_out.representation) >= d).mean() for d in distance])
    np.testing.assert_allclose(shares, farther, atol=0.07)  # the larger of two estimates, so that few are warned of
    assert (np.diff(shares[np.argsort(distance)]) <= 0).all()
    assert case.share_beyond(1e6) == 0
    without = [replace(part, representation=np.empty((2000, 0))) for part in (training, held_out)]
    assert learn_familiarity(without[:1], without[1:]) is None


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
    np.testing.assert_array_equal(p.argmax(1), fitted.predict(X))
    np.testing.assert_array_equal(fitted.decision_function(X) > 0, p[:, 1] > 0.5)
    order = np.argsort(fitted.score_samples(X))
    assert (np.diff(p[order, 1]) >= 0).all()


def test_a_smaller_rate_gives_fewer_anomalies():
    fitted = [FewShotDetector(small_model(), rate).fit(numbers(9), labels()) for rate in (0.01, 0.1, 0.5)]
    counts = [one.predict(numbers(8)).sum() for one in fitted]
    assert counts == sorted(counts)
    p = [one.predict_proba(numbers(8)) for one in fitted]
    np.testing.assert_array_equal(p[0], p[2])


def test_a_model_without_calibration_has_no_probability():
    fitted = FewShotDetector(replace(small_model(), calibration=None, familiarity=None)).fit(numbers(9), labels())
    assert not hasattr(fitted, "predict_proba")
    with pytest.raises(InputError, match="predict_proba needs a calibration, and the model has none; train it again"):
        fitted.predict_proba(numbers(8))
    assert fitted.familiarity_ is None


def test_the_model_that_ships_has_probabilities():
    fitted = FewShotDetector(false_positive_rate=0.05).fit(numbers(9), labels())
    p = fitted.predict_proba(numbers(8))
    assert ((p > 0) & (p < 1)).all()
    assert 0 <= fitted.familiarity_ <= 1


def test_the_calibration_has_a_coefficient_a_feature():
    for case in small_model("relative").calibration.cases.values():
        assert np.shape(case.thresholds) == (len(RATES), N_FEATURES)
