"""`method="auto"`: what is chosen for which fleet."""

import numpy as np
import pytest
import torch

from oddshot import EpisodeSizes, FewShotDetector, InputError, Task, TrainingConfig, load_universal, meta_train
from oddshot.data.episodes.sampling import TaskSet
from oddshot.storage.model_file import from_bytes, to_bytes
from oddshot.training import candidates, choosing, held_out
from oddshot.training.candidates import SHIPPED
from oddshot.training.choosing import Figure, best_of, compare_with_shipped, compared_fleet
from oddshot.training.meta_training import fit_encoding
from tests.fleets import SIZES, fleet, labels, mixed, numbers

SHORT = TrainingConfig(epochs=3)


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """The forest is by far the slowest candidate."""
    monkeypatch.setattr(candidates, "FOREST", candidates.ClassicalConfig("paper"))


def choose(tasks, **options):
    return meta_train(tasks, **{"sizes": SIZES, "training": SHORT, "device": "cpu", "progress": False} | options)


def hidden(seed, n=80, width=6):
    """Rows whose anomalies differ from normal rows only by the sign of a product of two columns, in all tasks alike."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, width)), (np.arange(n) % 3 == 0).astype(np.int8)
    X[:, 1] = np.abs(X[:, 1]) * np.sign(X[:, 0]) * np.where(y == 1, -1, 1)
    return Task(f"task {seed}", X, y)


def test_a_fleet_that_nothing_can_be_learned_from_keeps_the_model_that_ships():
    """Each task has its own random mixing of the columns: what one tells does not hold for another."""
    rng = np.random.default_rng(0)
    tasks = [Task(task.name, task.X @ rng.normal(size=(3, 3)) * 10**t, task.y) for t, task in enumerate(fleet())]
    model = choose(tasks)
    assert model.training["chosen"] == SHIPPED
    assert model.encoding is None
    shipped = load_universal()
    for name, value in shipped.method.weights.items():
        np.testing.assert_array_equal(value, model.method.weights[name])
    assert model.calibration == shipped.calibration


def test_a_fleet_with_something_to_learn_is_learned_from():
    tasks = [hidden(seed) for seed in range(12)]
    model = choose(tasks, sizes=EpisodeSizes(5, 1, 10, 5), training=TrainingConfig(epochs=40))
    figures = model.training["candidates"]
    assert model.training["chosen"] == "eigen"
    assert figures["eigen"]["auc"] > figures[SHIPPED]["auc"] + 0.1
    assert 0 < model.training["best_epoch"] <= model.training["epochs"] <= 40
    assert model.calibration is not None
    new = [hidden(seed) for seed in range(100, 110)]
    rows = [np.r_[np.flatnonzero(task.y == 0)[:5], np.flatnonzero(task.y == 1)[:1]] for task in new]
    aucs = {}
    for name, each in (("chosen", from_bytes(to_bytes(model))), ("shipped", None)):
        detectors = [FewShotDetector(each).fit(t.X[r], t.y[r]) for t, r in zip(new, rows, strict=True)]
        aucs[name] = np.mean([auc(d.score_samples(t.X), t.y) for d, t in zip(detectors, new, strict=True)])
    assert aucs["chosen"] > aucs["shipped"] + 0.1
    assert aucs["chosen"] == pytest.approx(figures["eigen"]["auc"], abs=0.1)


def auc(scores, y):
    return (scores[y == 1][:, None] > scores[y == 0]).mean()


def test_one_task_is_compared_with_what_needs_no_training():
    with pytest.warns(UserWarning, match="only one task: nothing can be learned from it that could be checked"):
        model = choose(fleet(n_tasks=1))
    assert list(model.training["candidates"]) == [SHIPPED, "random forest"]
    assert model.training["tasks"] == 1


def test_two_tasks_give_a_rough_comparison():
    with pytest.warns(UserWarning, match="candidates are compared on 2 tasks only: the comparison is rough"):
        model = choose(fleet(n_tasks=2))
    assert (model.training["folds"], model.training["validation_tasks"]) == (2, 2)
    assert "eigen" not in model.training["candidates"]


def test_tasks_with_common_rows_are_not_learned_from():
    tasks = fleet(n_tasks=1) * 3
    with pytest.warns(UserWarning, match="all tasks have rows in common"):
        assert "eigen" not in choose(tasks).training["candidates"]


def test_the_same_seed_gives_the_same_bytes():
    once, again, other = (to_bytes(choose(fleet(n_tasks=5), seed=seed)) for seed in (1, 1, 2))
    assert once == again
    assert once != other


@pytest.mark.filterwarnings("ignore:candidates are compared")
def test_tables_of_all_kinds_of_columns_and_the_figures_in_the_facts():
    model = choose(fleet(mixed, n_tasks=5))
    facts = from_bytes(to_bytes(model)).training
    assert facts["validation_auc"] == facts["candidates"][facts["chosen"]]["auc"]
    assert {"eigen", f"{SHIPPED}, trained further", "logistic regression"} < set(facts["candidates"])
    for figure in facts["candidates"].values():
        assert 0 <= figure["auc"] <= 1
        assert figure["standard_error"] > 0
    assert facts["candidates"][SHIPPED]["lead"] == 0


def test_every_candidate_can_become_the_model(monkeypatch):
    monkeypatch.setattr(held_out, "N_BATCHES", 20)
    tasks = fleet(mixed, n_tasks=5)
    encoding = fit_encoding(tasks)
    encoded = TaskSet.from_tasks([(encoding.transform(task.X), task.y) for task in tasks])
    compared = compared_fleet(tasks, encoding, encoded, SIZES, n_validation=0, seed=0)
    settings = candidates.CandidateTraining(torch.device("cpu"), 0, SHORT, progress=False, ranks=None)
    contenders = list(candidates.make_contenders(compared, settings))
    assert len(contenders) == 7
    for contender in contenders:
        model = from_bytes(to_bytes(contender.finish({})))
        fitted = FewShotDetector(model).fit(mixed(9, 10), labels(10))
        assert np.isfinite(fitted.score_samples(mixed(8))).all()
        assert model.calibration is not None


@pytest.mark.filterwarnings("ignore:candidates are compared")
def test_supports_without_anomalies_leave_out_what_needs_one():
    model = choose(fleet(n_tasks=4), sizes=EpisodeSizes(3, 0, 5, 2))
    assert not {"eigen", "logistic regression", "random forest"} & set(model.training["candidates"])


def test_validation_tasks_are_held_out_and_not_learned_from():
    model = choose(fleet(n_tasks=5), validation=[Task(f"v{t}", numbers(50 + t), labels()) for t in range(6)])
    assert (model.training["tasks"], model.training["validation_tasks"], model.training["folds"]) == (5, 6, 1)


@pytest.mark.parametrize("options", [{"members": 2}, {"units": 8}, {"members": 3, "marks": 0}])
def test_settings_of_one_method_are_refused(options):
    with pytest.raises(InputError, match=f"^{', '.join(options)}: method 'auto' has no such setting; name a method"):
        choose(fleet(), **options)


def test_the_lead_must_be_larger_than_its_standard_error():
    figures = [Figure(0.8, 0.0, 0.01), Figure(0.82, 0.02, 0.03), Figure(0.81, 0.01, 0.001)]
    assert best_of(figures) == 0
    assert best_of([*figures, Figure(0.9, 0.1, 0.03)]) == 3
    assert best_of(figures[:1]) == 0


def test_a_lead_is_a_mean_over_tasks():
    tasks = np.array([0, 0, 0, 0, 1, 1])
    figure = compare_with_shipped(np.array([0.9, 0.9, 0.9, 0.9, 0.6, 0.8]), np.full(6, 0.5), tasks)
    assert figure.auc == pytest.approx(0.8)
    assert figure.lead == pytest.approx(0.3)
    spread = choosing.PRIOR_SPREAD
    variance = (2 * 0.1**2 + choosing.PRIOR_TASKS * spread**2) / (1 + choosing.PRIOR_TASKS)
    assert figure.standard_error == pytest.approx(np.sqrt(variance / 2))
    alone = compare_with_shipped(np.array([0.9, 0.7]), np.full(2, 0.5), np.zeros(2, int))
    assert alone.standard_error == pytest.approx(spread)


def test_a_learning_rate_is_taken_and_the_other_settings_are_limits():
    limits = TrainingConfig(learning_rate=0.123, batch_size=7, epochs=4, patience=99)
    assert candidates._config(limits, 10, 5) == TrainingConfig(0.123, 7, 4, 5)
