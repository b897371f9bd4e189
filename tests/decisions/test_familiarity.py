"""How far tasks lie from the training tasks, with numbers made by hand and on a fleet."""

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from oddshot import FewShotDetector
from oddshot.decisions.evidence import Evidence, support_kind
from oddshot.decisions.familiarity import (
    SHARES,
    WARNING_SHARE,
    Familiarity,
    FamiliarityCase,
    FamiliarityResult,
    learn_familiarity,
)
from tests.decisions.samples import drifting, fleet_model, make_evidence
from tests.fleets import labels

CASE = FamiliarityCase((1.0, -1.0), (2.0, 0.5), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0), 2.5)


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


def test_the_shares_of_the_quantiles_are_the_deciles():
    assert SHARES == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@pytest.mark.parametrize(
    ("distance", "share"),
    [
        (0.0, 1.0), (0.5, 0.95), (1.0, 0.9), (1.5, 0.85), (5.0, 0.5), (8.0, 0.2), (9.0, 0.15), (10.0, 0.1),
        (12.5, 0.1 / math.e), (15.0, 0.1 / math.e**2),
    ],
)  # fmt: skip
def test_shares_are_straight_between_quantiles_and_fall_exponentially_beyond(distance, share):
    assert CASE.share_beyond(distance) == pytest.approx(share, rel=1e-12)


def test_distances_are_root_mean_squares_in_spreads():
    found = CASE.distance(np.array([[1.0, -1.0], [3.0, -1.0], [1.0, 1.0], [5.0, 0.5]]))
    np.testing.assert_allclose(found, [0, np.sqrt(1 / 2), np.sqrt(16 / 2), np.sqrt((4 + 9) / 2)], rtol=1e-12)


def test_a_task_is_judged_by_the_case_of_its_kind_in_medians():
    other = replace(CASE, mean=(0.0, 0.0))
    familiarity = Familiarity({"normal only": CASE, "anomalies": other})
    r = [[21.0, -1.0]]
    distance = 10 / math.sqrt(2)
    found = familiarity.judge(make_evidence([[1.0]], representation=r))
    assert found == pytest.approx(FamiliarityResult(CASE.share_beyond(distance), distance / 5.0), rel=1e-12)
    with_anomalies = familiarity.judge(make_evidence([[1.0]], [[1.0]], representation=r))
    assert with_anomalies.distance == pytest.approx(math.sqrt((10.5**2 + 2**2) / 2) / 5, rel=1e-12)
    assert familiarity.judge(make_evidence([[1.0]], representation=r, n_unlabelled=3)) is None
    assert familiarity.judge(make_evidence([[1.0]])) is None  # a method without a representation


def test_each_kind_is_learned_from_its_own_tasks():
    rng = np.random.default_rng(0)

    def tasks(place, n_anomaly, n=40):
        return make_evidence(np.ones((n, 2)), np.ones((n, n_anomaly)), representation=place + rng.normal(size=(n, 3)))

    training, held_out = [tasks(0, 0), tasks(100, 1), tasks(0, 0)], [tasks(0, 0), tasks(100, 1)]
    found = learn_familiarity(training, held_out)
    assert set(found.cases) == {"normal only", "anomalies"}
    pooled = np.concatenate([training[0].representation, training[2].representation])
    np.testing.assert_allclose(found.cases["normal only"].mean, pooled.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.cases["anomalies"].mean, training[1].representation.mean(0), rtol=1e-5)
    assert set(learn_familiarity(training[:1], held_out).cases) == {"normal only"}
    assert learn_familiarity(training[:1], held_out[1:]) is None


def test_quantiles_and_excess_are_the_larger_ones_of_both_groups():
    training, held_out = np.arange(-10.0, 11.0)[:, None], 3 * np.arange(-2.0, 3.0)[:, None]
    case = learn_familiarity(
        [make_evidence(np.ones((21, 1)), representation=training)],
        [make_evidence(np.ones((5, 1)), representation=held_out)],
    ).cases["normal only"]
    groups = [abs(part[:, 0]) / training.std() for part in (training, held_out)]
    quantiles = [np.quantile(distances, SHARES) for distances in groups]
    np.testing.assert_allclose(case.quantiles, np.maximum(np.maximum(*quantiles), 1e-6), rtol=1e-5)
    excess = [np.mean([d - ends[-1] for d in distances if d >= ends[-1]]) for distances, ends in
              zip(groups, quantiles, strict=True)]  # fmt: skip
    assert case.excess == pytest.approx(max(excess), rel=1e-5)


def test_entries_that_hardly_vary_get_a_spread_that_is_a_share_of_the_others():
    rng = np.random.default_rng(0)
    r = np.column_stack([rng.normal(size=50), np.full(50, 2.0)])
    evidence = make_evidence(np.ones((50, 1)), representation=r)
    case = learn_familiarity([evidence], [evidence]).cases["normal only"]
    assert case.spread[0] == pytest.approx(r[:, 0].std(), rel=1e-5)
    assert case.spread[1] == pytest.approx(1e-3 * r.std(), rel=1e-5)


def learned_from(r):
    evidence = make_evidence(np.ones((len(r), 1)), representation=r)
    return learn_familiarity([evidence], [evidence]).cases["normal only"]


def test_spreads_quantiles_and_excess_are_never_zero():
    nearly_equal = np.column_stack([1e-8 * np.arange(-2.0, 3.0), np.zeros(5)])
    np.testing.assert_allclose(learned_from(nearly_equal).spread, [nearly_equal[:, 0].std(), 1e-9], rtol=1e-5)
    equally_far = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    case = learned_from(equally_far)
    assert case.quantiles == (1.0,) * 9
    assert case.excess == 1e-3
    one_far = np.array([[0.0]] * 40 + [[-1.0], [1.0]])
    case = learned_from(one_far)
    assert case.quantiles == (1e-6,) * 9
    assert case.excess == pytest.approx(1 / one_far.std() - 1e-6, rel=1e-5)


def test_numbers_are_stored_with_six_digits():
    r = np.random.default_rng(0).normal(size=(40, 3))
    evidence = make_evidence(np.ones((40, 1)), representation=r)
    case = learn_familiarity([evidence], [evidence]).cases["normal only"]
    numbers = [*case.mean, *case.spread, *case.quantiles, case.excess]
    assert numbers == [float(f"{number:.6g}") for number in numbers]
    np.testing.assert_allclose(case.spread, r.std(0), rtol=1e-5)
    assert max(abs(np.array(case.spread) / r.std(0) - 1)) > 1e-9


def test_what_is_stored_is_read_back():
    stored = Familiarity({"anomalies": CASE, "normal only": replace(CASE, excess=1.0)})
    data = json.loads(json.dumps(stored.to_dict()))
    assert data["anomalies"] == {
        "mean": [1.0, -1.0],
        "spread": [2.0, 0.5],
        "quantiles": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0],
        "excess": 2.5,
    }
    assert Familiarity.from_dict(data) == stored


@pytest.mark.parametrize("quantiles", [[1.0] * 9, [*range(1, 10)]])
def test_quantiles_may_be_equal(quantiles):
    data = {"anomalies": Familiarity({"": CASE}).to_dict()[""] | {"quantiles": quantiles}}
    assert Familiarity.from_dict(data).cases["anomalies"].quantiles == tuple(map(float, quantiles))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mean": [[1.0, -1.0]], "spread": [[2.0, 0.5]]}, "as many means as spreads"),
        ({"mean": [1.0]}, "as many means as spreads"),
        ({"quantiles": [1.0] * 8}, "as many means as spreads"),
        ({"quantiles": [1.0] * 8 + [math.inf]}, "expected numbers"),
        ({"mean": [1.0, math.nan]}, "expected numbers"),
        ({"excess": math.nan}, "expected numbers"),
        ({"excess": 0.0}, "above 0"),
        ({"spread": [2.0, 0.0]}, "above 0"),
        ({"quantiles": [0.0] + [1.0] * 8}, "above 0"),
        ({"quantiles": [2.0] + [1.0] * 8}, "quantiles grow"),
    ],
)
def test_damaged_numbers_are_refused(changes, message):
    data = {"anomalies": Familiarity({"": CASE}).to_dict()[""] | changes}
    with pytest.raises(ValueError, match=message):
        Familiarity.from_dict(data)


@pytest.mark.parametrize("data", [None, [1], {"anomalies": 5}, {"anomalies": Familiarity({}).to_dict(), "b": []}])
def test_other_types_are_refused(data):
    with pytest.raises(TypeError, match="familiarity is"):
        Familiarity.from_dict(data)
