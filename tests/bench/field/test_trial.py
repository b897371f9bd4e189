"""Running, resuming, failing, and what a result is keyed by."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from oddshot.bench.field import cells, product
from oddshot.bench.field import keys as keys_module
from oddshot.bench.field.cells import auc_of
from oddshot.bench.field.episodes import FieldEpisode, draw_episode
from oddshot.bench.field.fleets import FLEET_SIZES, fleet_scores, fleet_situations, load_fleets
from oddshot.bench.field.keys import TrialSettings, cell_key, methods_of, trial_keys
from oddshot.bench.field.situations import select_situations
from oddshot.bench.field.store import CellRecord, open_field_store
from oddshot.bench.field.tables import FieldTable, synthetic_tables
from oddshot.bench.field.trial import missing_jobs, run_trial
from oddshot.errors import FileError, InputError
from tests.bench.field.test_situations import make_table

SIMPLE = TrialSettings(2, ("nearest normal", "kNN"))


def make_real_table(name="made/0"):
    rng = np.random.default_rng(1)
    y = (np.arange(120) < 30).astype(np.int8)
    return FieldTable(name, "made", "choosing", rng.normal(size=(120, 3)) + 2 * y[:, None], y)


def run(path, keys, settings=SIMPLE):
    """Run what is missing; returns the cells that were computed."""
    finished = []
    with open_field_store(path) as store:
        jobs = missing_jobs(keys, store.records(), settings)
        run_trial(store, jobs, 1, finished.extend)
    return finished


def test_only_what_is_missing_is_computed(tmp_path):
    store, table = tmp_path / "field.db", make_real_table()
    keys = trial_keys(select_situations(["apart/5+0", "tiny/2+0"]), [table], SIMPLE)
    first = run(store, {key: keys[key] for key in list(keys)[:1]})
    assert [record.key for record in first] == list(keys)[:1]
    rest = run(store, keys)
    assert {record.key for record in rest} == set(keys) - {first[0].key}
    assert run(store, keys) == []
    with open_field_store(store) as opened:
        assert {record.key for record in opened.records()} == set(keys)


def test_a_stopped_trial_keeps_what_was_finished(tmp_path):
    store, table = tmp_path / "field.db", make_real_table()
    keys = trial_keys(select_situations(["apart/5+0", "tiny/2+0", "tiny/3+0"]), [table], SIMPLE)

    def stop(records):
        raise KeyboardInterrupt

    with open_field_store(store) as opened, pytest.raises(KeyboardInterrupt):
        run_trial(opened, missing_jobs(keys, [], SIMPLE), 1, stop)
    assert len(run(store, keys)) == len(keys) - 2  # one cell of two methods was finished


def test_values_are_the_mean_auc_over_the_draws(tmp_path):
    table, (situation,) = make_real_table(), select_situations(["apart/5+0"])
    (record, _) = run(tmp_path / "field.db", trial_keys([situation], [table], SIMPLE))
    aucs = []
    for draw in range(2):
        episode = draw_episode(situation, table, draw)
        scaled = (episode.X - episode.X.mean(0)) / episode.X.std(0)
        scored = (episode.scored - episode.X.mean(0)) / episode.X.std(0)
        nearest = np.linalg.norm(scored[:, None] - scaled[None], axis=-1).min(1)
        aucs.append(roc_auc_score(episode.is_anomaly, nearest))
    assert record.method == "nearest normal"
    assert record.value == pytest.approx(np.mean(aucs))


def test_a_failed_cell_is_reported_and_tried_again(tmp_path, monkeypatch):
    keys = trial_keys(select_situations(["apart/5+0"]), [make_real_table()], SIMPLE)
    with monkeypatch.context() as patched:
        patched.setattr(cells, "score_opponent", lambda *_: 1 / 0)
        failed = run(tmp_path / "field.db", keys)
    assert [record.error for record in failed] == ["ZeroDivisionError: division by zero"] * 2
    assert all(record.value is None for record in failed)
    again = run(tmp_path / "field.db", keys)
    assert all(record.value is not None for record in again)
    with open_field_store(tmp_path / "field.db") as store:
        assert [record.error for record in store.records()] == ["", ""]


def test_only_one_process_writes(tmp_path):
    path = tmp_path / "field.db"
    with open_field_store(path), pytest.raises(FileError, match="in use"), open_field_store(path):
        pass
    with pytest.raises(FileError, match="no folder"), open_field_store(tmp_path / "none" / "field.db"):
        pass


def test_a_file_of_another_program_is_left_alone(tmp_path):
    import sqlite3

    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE mine (a)")
    connection.close()
    with pytest.raises(InputError, match="another program"), open_field_store(tmp_path / "other.db"):
        pass


def test_simple_methods_are_not_run_again_when_the_detector_changes(monkeypatch):
    table, (situation,) = make_real_table(), select_situations(["apart/5+1"])
    before = {m: cell_key(situation, table, m, SIMPLE) for m in ("oddshot", "kNN")}
    monkeypatch.setattr(keys_module, "product_fingerprint", lambda *_, **__: "changed")
    after = {m: cell_key(situation, table, m, SIMPLE) for m in ("oddshot", "kNN")}
    assert before["kNN"] == after["kNN"]
    assert before["oddshot"] != after["oddshot"]


def test_results_depend_on_draws_and_rows():
    (situation,) = select_situations(["apart/5+1"])
    keys = {
        cell_key(situation, table, "kNN", TrialSettings(draws))
        for table in (make_real_table(), make_table(name="made/0"))
        for draws in (2, 3)
    }
    assert len(keys) == 4


def test_methods_that_need_an_anomaly_are_left_out_where_none_is_labelled():
    names = {name: set(methods_of(*select_situations([name]), TrialSettings())) for name in ("apart/5+0", "apart/5+1")}
    assert names["apart/5+0"] == {"oddshot", "nearest normal", "kNN", "isolation forest"}
    assert {"ridge + kNN", "logistic regression", "ExtraTrees"} < names["apart/5+1"]
    assert "ExtraTrees + unlabelled" not in names["apart/5+1"]
    assert "ExtraTrees + unlabelled" in methods_of(*select_situations(["apart/200 unlabelled/5+1"]), TrialSettings())
    with pytest.raises(InputError, match="no such method"):
        TrialSettings(methods=("magic",))


def test_auc_counts_ties_as_a_half():
    rng = np.random.default_rng(0)
    scores, truth = rng.integers(0, 4, 50).astype(float), rng.random(50) < 0.3
    assert auc_of(scores, truth) == pytest.approx(roc_auc_score(truth, scores))
    with pytest.raises(ValueError, match="finite"):
        auc_of(np.array([0.0, np.nan]), np.array([False, True]))


def test_the_detector_sees_raw_rows_and_labels(tmp_path, monkeypatch):
    seen = []

    class Detector:
        def __init__(self, model=None, false_positive_rate=None):
            self.rate = false_positive_rate

        def fit(self, X, y):
            seen.append((X, y))
            self.decision_scores_ = np.arange(len(X), dtype=float)
            return self

        def score_samples(self, X):
            return -np.arange(len(X), dtype=float)

    monkeypatch.setattr(product, "FewShotDetector", Detector)
    episode = FieldEpisode(np.ones((4, 2)), np.array([0, 1, -1, -1], np.int8), np.ones((2, 2)), np.array([True, False]))
    np.testing.assert_array_equal(product.score_product(episode), [0, -1])
    whole = FieldEpisode(episode.X, episode.labels, episode.X[[3, 2]], episode.is_anomaly, np.array([3, 2]))
    np.testing.assert_array_equal(product.score_product(whole), [3, 2])
    assert seen[0][0] is episode.X
    assert seen[0][1] is episode.labels


def test_the_detector_beside_simple_methods_on_real_draws(tmp_path):
    settings = TrialSettings(1, ("oddshot", "nearest normal"))
    keys = trial_keys(
        select_situations(["apart/5+1", "widths/2 columns"]), [make_real_table(), synthetic_tables()[0]], settings
    )
    records = run(tmp_path / "field.db", keys, settings)
    assert len(records) == 4
    assert all(isinstance(record, CellRecord) and 0.5 < record.value <= 1 for record in records)


def test_fleets_train_on_other_tasks_than_their_targets():
    fleets = load_fleets(None, None)
    assert {fleet.source for fleet in fleets} >= {
        "digits",
        "breast cancer mixings",
        "wide digits",
        "wide breast cancer",
    }
    for fleet in fleets:
        widths = {task.X.shape[1] for task in fleet.training} | {target.X.shape[1] for target in fleet.targets}
        assert len(widths) == 1
        if fleet.source.startswith("wide"):
            assert widths <= {512, 1000}
            assert len(fleet.training) == 12
        if "digits" in fleet.source:
            kinds = [
                {title for task in tasks for title in task.name.split(": ")[-1].split(" and ")}
                for tasks in (fleet.training, fleet.targets)
            ]
            assert not kinds[0] & kinds[1]
    sizes = {s.n_training_tasks for s, fleet in fleet_situations(fleets) if fleet.source == "breast cancer mixings"}
    assert sizes == set(FLEET_SIZES)


def test_the_shipped_model_and_simple_methods_on_a_fleet():
    situation, fleet = next(pair for pair in fleet_situations(load_fleets(None, None)) if pair[1].source == "digits")
    for method in ("shipped model", "nearest normal"):
        scored = fleet_scores(situation, fleet, method, 1)
        assert len(scored) == len(fleet.targets) == 12
        assert np.mean([auc_of(*pair) for pair in scored]) > 0.8
