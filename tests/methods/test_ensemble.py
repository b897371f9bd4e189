"""An ensemble against its members one by one, trained, saved, compiled."""

import numpy as np
import pytest
import torch

from oddshot import FewShotDetector, InputError, load_detector, load_universal, meta_train
from oddshot.methods import METHODS
from oddshot.methods.compiled import CompiledMean
from oddshot.methods.ensemble import Ensemble, MeanScore, split_replicas, typical_scores
from oddshot.storage.model_file import from_bytes, to_bytes
from tests.fleets import SHORT, SIZES, fleet
from tests.methods.samples import build, pick, random_rows, small_config

LEARNED = ("relative", "eigen", "r2d2", "maml")


def learn(**options):
    settings = {"method": "relative"} | ({} if "start" in options else {"units": 8})
    return meta_train(fleet(), sizes=SIZES, training=SHORT, device="cpu", progress=False, **settings | options)


def parts_of(name):
    """Two replicas together, and each alone."""
    both = build(name)
    return both, split_replicas(both, lambda: METHODS[name](4, small_config(name)).double())


@torch.no_grad()
@pytest.mark.parametrize("name", LEARNED)
def test_its_scores_are_the_mean_of_its_members(name):
    both, members = parts_of(name)
    ensemble, support, query = Ensemble(members, [2.0, 5.0]), random_rows(1), random_rows(2).joined()
    apart = both.adapt(support)(query)
    for r in range(2):
        alone = members[r].adapt(pick(support, slice(r, r + 1)))(query[r : r + 1])
        torch.testing.assert_close(alone, apart[r : r + 1])
    one, rows = pick(support, slice(0, 1)), query[:1]
    expected = (members[0].adapt(one)(rows) / 2.0 + members[1].adapt(one)(rows) / 5.0) / 2
    score = ensemble.adapt(one)
    torch.testing.assert_close(score(rows), expected)
    low, high = score.span(one)
    ends = [member.adapt(one).span(one) for member in members]
    torch.testing.assert_close(low, (ends[0][0] / 2.0 + ends[1][0] / 5.0) / 2)
    torch.testing.assert_close(high, (ends[0][1] / 2.0 + ends[1][1] / 5.0) / 2)


@torch.no_grad()
@pytest.mark.parametrize("name", LEARNED)
def test_compiled_it_scores_the_same(name):
    _, members = parts_of(name)
    score = Ensemble(members, [2.0, 5.0]).adapt(random_rows(1, 1, 1))
    rows, compiled = random_rows(2, 1, 1, n_normal=70).joined(), score.compiled()
    assert isinstance(compiled, CompiledMean)
    torch.testing.assert_close(compiled(rows[0, 0]), score(rows)[0, 0])


@torch.no_grad()
def test_unlabelled_rows_reach_the_members_that_use_them():
    for name, uses in (("relative", True), ("eigen", False)):
        _, members = parts_of(name)
        ensemble, support, rows = Ensemble(members, [1.0, 1.0]), random_rows(1, 1), random_rows(2, 1).joined()
        assert ensemble.uses_unlabelled is uses
        with_, without = (ensemble.adapt(support, u)(rows) for u in (random_rows(3, 1).normal, None))
        assert torch.equal(with_, without) is not uses


def test_scales_are_the_median_scores_of_normal_rows():
    _, members = parts_of("eigen")
    support, query = random_rows(1, 1), random_rows(2, 1)
    expected = [np.median(member.adapt(support)(query.normal).detach()) for member in members]
    np.testing.assert_allclose(typical_scores(members, support, query), expected, rtol=1e-6)


@pytest.mark.parametrize("scales", [[1.0], [1.0, 0.0], [1.0, float("nan")]])
def test_scales_that_do_not_fit_are_refused(scales):
    with pytest.raises(InputError, match="2 members need as many scales above 0"):
        Ensemble(parts_of("eigen")[1], scales)


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
    members = [member.state_dict()["f.weights.0"] for member in model.method.members]
    assert not torch.equal(members[0], members[1])
    alone = learn(dropout=0.0).method.state_dict()["f.weights.0"]
    torch.testing.assert_close(members[0], alone, rtol=1e-4, atol=1e-5)  # the first one's seed is the same


def test_tasks_do_not_see_each_other():
    """Scores stay comparable: a member has one scale for all tasks."""
    _, members = parts_of("eigen")
    support, rows = random_rows(1, 1), random_rows(2, 1).joined()
    together = Ensemble(members, [1.0, 2.0]).adapt(support)(rows)
    apart = [Ensemble(members, [1.0, 2.0]).adapt(pick(support, tasks=slice(t, t + 1))) for t in range(3)]
    for t, score in enumerate(apart):
        torch.testing.assert_close(score(rows[:, t : t + 1]), together[:, t : t + 1])


def test_mistakes_are_told():
    with pytest.raises(InputError, match="members is 0; it must be at least 1"):
        learn(members=0)
    with pytest.raises(InputError, match="method 'lr' learns nothing from other tasks: all 2 members would be alike"):
        meta_train(fleet(), method="lr", sizes=SIZES, members=2)
    several = learn(members=2)
    with pytest.raises(InputError, match="the model to start from has several members"):
        learn(start=several)


def test_members_can_start_from_the_model_that_ships():
    ensemble = learn(start=load_universal(), members=2).method
    assert isinstance(ensemble, Ensemble)
    for member in ensemble.members:  # the centre is fixed before the first training
        torch.testing.assert_close(member.center, load_universal().method.center, rtol=0, atol=0)
