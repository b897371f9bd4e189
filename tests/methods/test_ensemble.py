"""An ensemble against its members one by one, trained, saved, prepared."""

import numpy as np
import pytest

from oddshot import FewShotDetector, InputError, load_detector, load_universal
from oddshot.methods.ensemble import Ensemble, MeanScore, PreparedMean, typical_scores
from oddshot.storage.model_file import from_bytes, to_bytes
from tests.fleets import SIZES, fleet
from tests.methods.samples import build, pick, random_rows, without_anomalies

LEARNED = ("relative", "eigen", "r2d2", "maml")


def learn(**options):
    pytest.importorskip("torch")
    from oddshot import meta_train
    from tests.fleets import SHORT

    settings = {"method": "relative"} | ({} if "start" in options else {"units": 8})
    return meta_train(fleet(), sizes=SIZES, training=SHORT, device="cpu", progress=False, **settings | options)


def members_of(name, **settings):
    return [build(name, seed=seed, **settings) for seed in (0, 1)]


def mean_of(values):
    """Of two members with the scales 2 and 5."""
    return (values[0] / 2.0 + values[1] / 5.0) / 2


@pytest.mark.parametrize("name", LEARNED)
def test_its_scores_are_the_mean_of_its_members(name):
    members, support, query = members_of(name), random_rows(1), random_rows(2).joined()
    score, alone = Ensemble(members, [2.0, 5.0]).adapt(support), [member.adapt(support) for member in members]
    np.testing.assert_allclose(score(query), mean_of([one(query) for one in alone]), rtol=1e-12)
    low, high = score.score_range(support)
    ends = [one.score_range(support) for one in alone]
    np.testing.assert_allclose(low, mean_of([end[0] for end in ends]), rtol=1e-12)
    np.testing.assert_allclose(high, mean_of([end[1] for end in ends]), rtol=1e-12)


@pytest.mark.parametrize("name", LEARNED)
def test_own_rows_have_the_mean_of_the_members_scores_if_they_have_any(name):
    members, support = members_of(name), random_rows(1)
    own, alone = Ensemble(members, [2.0, 5.0]).adapt(support).own(), [one.adapt(support).own() for one in members]
    if name != "relative":
        assert own is None
        assert alone == [None, None]
        return
    np.testing.assert_allclose(own.scores, mean_of([one.scores for one in alone]), rtol=1e-12)
    np.testing.assert_array_equal(own.rows, alone[0].rows)
    assert (own.n_anomaly, own.n_unlabelled) == (2, 0)


@pytest.mark.parametrize("forest_weight", [0.0, 0.5])
def test_scores_that_are_standardised_are_not_divided(forest_weight):
    members, support, query = members_of("relative", forest_weight=forest_weight), random_rows(1), random_rows(2).normal
    for rows in (support, without_anomalies(support)):
        score, alone = Ensemble(members, [2.0, 5.0]).adapt(rows), [member.adapt(rows) for member in members]
        is_blended = rows is not support or forest_weight > 0
        assert score.is_standardised is is_blended
        parts = [one(query) for one in alone]
        np.testing.assert_allclose(score(query), sum(parts) / 2 if is_blended else mean_of(parts), rtol=1e-12)
        if is_blended:
            np.testing.assert_allclose(score.rescaled(3.0, 2.0)(query), (score(query) - 3.0) / 2.0, rtol=1e-9)


@pytest.mark.parametrize("name", LEARNED)
def test_prepared_it_scores_the_same(name):
    support, rows = random_rows(1, tasks=None), random_rows(2, tasks=None, n_normal=70).joined()
    score = Ensemble(members_of(name), [2.0, 5.0]).adapt(support)
    prepared = score.prepare()
    assert isinstance(prepared, PreparedMean)
    np.testing.assert_allclose(prepared(rows), score(rows), rtol=1e-9)


def test_unlabelled_rows_reach_the_members_that_use_them():
    for name, uses in (("relative", True), ("eigen", False)):
        ensemble, support, rows = Ensemble(members_of(name), [1.0, 1.0]), random_rows(1), random_rows(2).joined()
        assert ensemble.uses_unlabelled is uses
        with_, without = (ensemble.adapt(support, u)(rows) for u in (random_rows(3).normal, None))
        assert np.array_equal(with_, without) is not uses


def test_scales_are_the_median_scores_of_normal_rows():
    members, support, query = members_of("eigen"), random_rows(1), random_rows(2)
    expected = [np.median(member.adapt(support)(query.normal)) for member in members]
    np.testing.assert_allclose(typical_scores(members, support, query), expected, rtol=1e-12)


@pytest.mark.parametrize("scales", [[1.0], [1.0, 0.0], [1.0, float("nan")]])
def test_scales_that_do_not_fit_are_refused(scales):
    with pytest.raises(InputError, match="2 members need as many scales above 0"):
        Ensemble(members_of("eigen"), scales)


def test_a_fitted_detector_is_saved_and_loaded(tmp_path):
    X, y = fleet()[0].X, fleet()[0].y
    detector = FewShotDetector(learn(members=2)).fit(X[:9], y[:9])
    detector.save(tmp_path / "detector.safetensors")
    loaded = load_detector(tmp_path / "detector.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(X), detector.predict_proba(X))


def test_trained_saved_and_loaded():
    model, task = learn(members=3, dropout=0.0), fleet()[0]  # dropout draws for all members from one stream
    assert isinstance(model.method, Ensemble)
    assert model.training["members"] == 3
    assert len(model.training["best_epoch"]) == 3
    loaded = from_bytes(to_bytes(model))
    first, second = (FewShotDetector(one, 0.05).fit(task.X[:9], task.y[:9]) for one in (model, loaded))
    np.testing.assert_array_equal(first.decision_function(task.X), second.decision_function(task.X))
    assert isinstance(first.task_.score, MeanScore)
    members = [member.weights["f.weights.0"] for member in model.method.members]
    assert not np.array_equal(members[0], members[1])
    alone = learn(dropout=0.0).method.weights["f.weights.0"]
    np.testing.assert_allclose(members[0], alone, rtol=1e-4, atol=1e-5)  # the first one's seed is the same


def test_tasks_do_not_see_each_other():
    """Scores stay comparable: a member has one scale for all tasks."""
    ensemble, support, rows = Ensemble(members_of("eigen"), [1.0, 2.0]), random_rows(1), random_rows(2).joined()
    together = ensemble.adapt(support)(rows)
    for t in range(3):
        np.testing.assert_allclose(ensemble.adapt(pick(support, t))(rows[t]), together[t], rtol=1e-9)


def test_mistakes_are_told():
    with pytest.raises(InputError, match="members is 0; it must be at least 1"):
        learn(members=0)
    with pytest.raises(InputError, match="method 'lr' learns nothing from other tasks: all 2 members would be alike"):
        learn(method="lr", start=None, members=2)
    several = learn(members=2)
    with pytest.raises(InputError, match="the model to start from has several members"):
        learn(start=several)


def test_members_can_start_from_the_model_that_ships():
    ensemble = learn(start=load_universal(), members=2).method
    assert isinstance(ensemble, Ensemble)
    for member in ensemble.members:  # the centre is fixed before the first training
        np.testing.assert_array_equal(member.weights["center"], load_universal().method.weights["center"])
