import dataclasses
import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from oddshot.bench import engines, evaluation, jobs, plugins
from oddshot.bench.engines import WORKER_DIED, LocalEngine
from oddshot.bench.grid import Grid, make_jobs, plan_runs, planned_keys, run_grids
from oddshot.bench.protocol import build_split
from oddshot.bench.settings import RunSettings
from oddshot.bench.store import open_store, read_store
from oddshot.data.episodes.sampling import EpisodeSizes
from oddshot.errors import InputError
from oddshot.training import TrainingConfig, validation_episodes
from tests.bench.samples import make_source

SHORT = RunSettings("resampled", training=TrainingConfig(epochs=3), sizes=EpisodeSizes(3, 1, 5, 2))


@pytest.fixture
def source(tmp_path):
    return make_source(tmp_path)


def fill(tmp_path, *grids, engine=None, **options):
    """Run grids. Returns their tally and the runs that were new."""
    new = []
    with open_store(tmp_path / "results.db") as store:
        tally = run_grids(
            grids,
            store,
            engine or LocalEngine(1),
            device="cpu",
            on_finish=lambda records, _: new.extend(records),
            **options,
        )
    return tally, new


def records(tmp_path):
    return read_store(tmp_path / "results.db")


def test_every_run_once_and_only_what_is_missing(tmp_path, source):
    grid = Grid(("toy", "other"), ("quick", "learner"), 2, SHORT, source)
    tally, new = fill(tmp_path, grid)
    assert (tally.total, tally.done, tally.failed, tally.left) == (8, 8, 0, 0)
    assert len(new) == 8
    assert fill(tmp_path, grid)[1] == []
    more = fill(tmp_path, dataclasses.replace(grid, n_splits=3))[1]
    assert {(found.dataset, found.method, found.split) for found in more} == {
        (dataset, method, 2) for dataset in ("toy", "other") for method in ("quick", "learner")
    }
    assert len(records(tmp_path)) == 12


def test_a_run_of_two_grids_is_run_once(tmp_path, source):
    narrow = Grid(("toy",), ("quick", "learner"), 2, SHORT, source)
    wide = dataclasses.replace(narrow, datasets=("toy", "other"), methods=("quick",))
    tally, new = fill(tmp_path, narrow, wide)
    assert (tally.total, tally.done, tally.left) == (6, 6, 0)
    assert len({found.key for found in new}) == len(new) == 6


def test_what_a_run_tells(tmp_path, source):
    fill(tmp_path, Grid(("toy",), ("quick", "learner"), 1, SHORT, source))
    learner, quick = records(tmp_path)
    for found in (learner, quick):
        aucs = json.loads(found.task_aucs)
        assert len(aucs["strict"]) == len(aucs["half"]) == 3
        assert found.auc_strict == pytest.approx(np.mean(aucs["strict"]), abs=1e-6)
        assert found.auc_half == pytest.approx(np.mean(aucs["half"]), abs=1e-6)
        assert 0.5 < found.auc_strict <= found.auc_half <= 1
        assert found.adapt_seconds >= 0
        assert found.device == "cpu"
        assert found.code_version.startswith("0.")
    assert (learner.epochs, learner.together) == (3, 1)
    assert 0 <= learner.best_epoch <= 3
    assert learner.train_seconds > 0
    assert quick.epochs is quick.train_seconds is quick.valid_auc is None


@pytest.mark.parametrize("rule", ["published", "resampled"])
def test_the_aucs_of_a_run_by_scikit_learn(tmp_path, source, rule):
    """The method `quick` scores by the squared distance from the mean of the normal support rows."""
    settings = dataclasses.replace(SHORT, protocol=rule)
    fill(tmp_path, Grid(("fleet",), ("quick",), 2, settings, source))
    for found in records(tmp_path):
        target = build_split(source.load("fleet"), found.split, settings).target
        streams = [np.random.SeedSequence([found.seed, evaluation.TARGET_STREAM])]
        support, query = validation_episodes(
            [target], settings.sizes, rule, "cpu", streams, evaluation.MIN_TARGET_EPISODES
        )
        n_episodes = query.normal.shape[1]
        assert n_episodes == (2 if rule == "published" else 50)
        aucs = np.zeros(n_episodes)
        for episode in range(n_episodes):
            center = support.normal[0, episode].numpy().mean(axis=0)
            rows = np.vstack([query.normal[0, episode], query.anomaly[0, episode]])
            aucs[episode] = roc_auc_score([0] * 5 + [1] * 2, ((rows - center) ** 2).sum(axis=1))
        by_task = aucs.reshape(-1, 2).mean(axis=0)
        assert json.loads(found.task_aucs)["half"] == pytest.approx(by_task, abs=1e-6)
        assert found.auc_half == pytest.approx(by_task.mean())


@pytest.mark.parametrize(
    "change",
    [
        {"training": TrainingConfig(epochs=4)},
        {"sizes": EpisodeSizes(4, 1, 5, 2)},
        {"n_training": 2},
        {"seed": 1},
        {"protocol": "published"},
        {"overrides": (("learner", "pause", 0.001),)},
    ],
)
def test_other_settings_are_other_runs(tmp_path, source, change):
    grid = Grid(("toy",), ("learner",), 1, SHORT, source)
    fill(tmp_path, grid)
    tally, new = fill(tmp_path, dataclasses.replace(grid, settings=dataclasses.replace(SHORT, **change)))
    assert (tally.done, len(new)) == (1, 1)
    assert len(records(tmp_path)) == 2


def test_without_training_epochs_do_not_matter(tmp_path, source):
    grid = Grid(("toy",), ("quick",), 1, SHORT, source)
    fill(tmp_path, grid)
    longer = dataclasses.replace(SHORT, training=TrainingConfig(epochs=7))
    assert fill(tmp_path, dataclasses.replace(grid, settings=longer))[1] == []


def test_other_rows_under_the_same_name_are_another_run(tmp_path, source, monkeypatch):
    grid = Grid(("toy",), ("quick",), 1, SHORT, source)
    fill(tmp_path, grid)
    monkeypatch.setitem(plugins.DATASETS, "toy", dataclasses.replace(plugins.DATASETS["other"], name="toy"))
    assert len(fill(tmp_path, grid)[1]) == 1
    assert len(records(tmp_path)) == 2


def test_a_failed_run_is_kept_and_does_not_stop_the_others(tmp_path, source):
    trouble = tmp_path / "trouble"
    trouble.touch()
    settings = dataclasses.replace(SHORT, overrides=(("quick", "trouble", str(trouble)),))
    grid = Grid(("toy",), ("quick", "nan", "learner"), 2, settings, source)
    tally, _ = fill(tmp_path, grid)
    assert (tally.done, tally.failed, tally.left) == (2, 4, 0)
    reasons = {found.method: found.reason for found in records(tmp_path)}
    assert reasons["quick"] == "RuntimeError: no luck"
    assert reasons["nan"] == "FloatingPointError: the scores of 51 of 51 target tasks are not numbers"
    trouble.unlink()
    assert fill(tmp_path, grid)[1] == []  # failed ones wait until they are asked for
    tally, new = fill(tmp_path, grid, retry_failed=True)
    assert (tally.done, tally.failed) == (4, 2)
    assert {found.method for found in new} == {"quick", "nan"}


def test_too_few_rows_are_a_failed_run(tmp_path, source):
    settings = dataclasses.replace(SHORT, sizes=EpisodeSizes(3, 1, 5, 30))
    tally, _ = fill(tmp_path, Grid(("toy",), ("quick",), 1, settings, source))
    assert tally.failed == 1
    assert records(tmp_path)[0].reason == "InputError: toy: a task has 20 anomalous rows; an episode needs 31"


def test_two_workers_give_what_one_gives_and_a_run_that_kills_its_process_fails_alone(tmp_path, source):
    grid = Grid(("toy",), ("quick", "learner"), 1, SHORT, source)
    (tmp_path / "two").mkdir()
    fill(tmp_path, grid)
    with_fatal = dataclasses.replace(grid, methods=("quick", "learner", "fatal"))
    tally, _ = fill(tmp_path / "two", with_fatal, engine=LocalEngine(2))
    assert (tally.done, tally.failed) == (2, 1)
    fatal, *two = records(tmp_path / "two")
    assert (fatal.status, fatal.reason) == ("failed", WORKER_DIED)
    assert [(a.key, a.auc_strict, a.task_aucs, a.best_epoch) for a in records(tmp_path)] == [
        (b.key, b.auc_strict, b.task_aucs, b.best_epoch) for b in two
    ]


def test_few_target_tasks_have_several_episodes_where_rows_are_drawn(tmp_path, source, monkeypatch):
    seen = []
    evaluate = evaluation._evaluate_targets

    def count(methods, episodes, *rest):
        seen.append(episodes[0].normal.shape[1])
        return evaluate(methods, episodes, *rest)

    monkeypatch.setattr(evaluation, "_evaluate_targets", count)
    grid = Grid(("toy",), ("quick",), 1, SHORT, source)
    fill(tmp_path, grid)
    fill(tmp_path, dataclasses.replace(grid, settings=dataclasses.replace(SHORT, protocol="published")))
    assert seen == [51, 3]


def test_on_a_gpu_all_splits_are_one_job(source):
    grid = Grid(("toy", "other"), ("quick", "learner"), 3, SHORT, source)
    planned = plan_runs(grid)
    everything = set(planned_keys(planned))
    made = make_jobs(grid, planned, everything, "cuda")
    assert [(job.dataset, job.method, job.splits, job.device) for job in made if job.method == "learner"] == [
        ("toy", "learner", (0, 1, 2), "cuda"),
        ("other", "learner", (0, 1, 2), "cuda"),
    ]
    assert {job.device for job in made if job.method == "quick"} == {"cpu"}
    assert all(len(job.splits) == 1 for job in make_jobs(grid, planned, everything, "cpu"))


def test_on_a_gpu_few_splits_of_a_wide_dataset_are_one_job(source, monkeypatch):
    monkeypatch.setattr("oddshot.bench.grid.MAX_JOB_ATTRIBUTES", 2 * source.load("toy").X.shape[1])
    grid = Grid(("toy",), ("learner",), 3, SHORT, source)
    planned = plan_runs(grid)
    assert [job.splits for job in make_jobs(grid, planned, set(planned_keys(planned)), "cuda")] == [(0, 1), (2,)]


def test_splits_together_give_what_they_give_alone(source):
    """Replicas of a method without dropout, as on a GPU."""
    grid = Grid(("toy",), ("learner",), 3, SHORT, source)
    planned = plan_runs(grid)
    alone = [jobs.run_job(job)[0] for job in make_jobs(grid, planned, set(planned_keys(planned)), "cpu")]
    job = dataclasses.replace(make_jobs(grid, planned, set(planned_keys(planned)), "cuda")[0], device="cpu")
    for one, many in zip(alone, jobs.run_job(job), strict=True):
        assert one.key == many.key
        assert one.auc_half == pytest.approx(many.auc_half, abs=1e-3)
        assert (one.epochs, many.together) == (many.epochs, 3)


def test_splits_that_do_not_fit_into_memory_run_in_halves(source, monkeypatch):
    import torch

    sizes = []
    evaluate = jobs.evaluate_splits

    def tight(method, parts, *arguments):
        sizes.append(len(parts))
        if len(parts) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return evaluate(method, parts, *arguments)

    monkeypatch.setattr(jobs, "evaluate_splits", tight)
    grid = Grid(("toy",), ("learner",), 3, SHORT, source)
    planned = plan_runs(grid)
    job = dataclasses.replace(make_jobs(grid, planned, set(planned_keys(planned)), "cuda")[0], device="cpu")
    assert [found.status for found in jobs.run_job(job)] == ["done"] * 3
    assert sizes == [3, 1, 2, 1, 1]


def test_rows_that_changed_meanwhile_are_not_run(source):
    grid = Grid(("toy",), ("quick",), 1, SHORT, source)
    planned = plan_runs(grid)
    job = make_jobs(grid, planned, set(planned_keys(planned)), "cpu")[0]
    (found,) = jobs.run_job(job, plugins.DATASETS["other"].load())
    assert found.reason == "RuntimeError: the rows of toy are not those that the bench started with"


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"datasets": ()}, "nothing to run"),
        ({"n_splits": 0}, "nothing to run"),
        (
            {"settings": dataclasses.replace(SHORT, overrides=(("eigen", "units", 3),))},
            "'eigen' is not among the methods",
        ),
    ],
)
def test_wrong_grids(source, wrong, match):
    grid = {"datasets": ("toy",), "methods": ("quick",), "n_splits": 1, "settings": SHORT, "source": source}
    with pytest.raises(InputError, match=match):
        Grid(**{**grid, **wrong})


def test_wrong_override_shows_before_any_run(tmp_path, source):
    settings = dataclasses.replace(SHORT, overrides=(("quick", "colour", 3),))
    with pytest.raises(InputError, match="method 'quick' has no setting 'colour'; it has pause, trouble"):
        fill(tmp_path, Grid(("toy",), ("quick",), 1, settings, source))


def test_ray_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(InputError, match="needs Ray: pip install"):
        engines.RayEngine()
