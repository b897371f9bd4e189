import dataclasses
import itertools
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot import (
    EpisodeSizes,
    FewShotDetector,
    FileError,
    InputError,
    Task,
    TrainingConfig,
    load_universal,
    meta_train,
)
from oddshot.methods.ablations import WoNN, WoNNConfig
from oddshot.methods.relative import RelativeConfig
from oddshot.score.rows import LabelledRows
from oddshot.storage.model_file import DEFAULT_THRESHOLD, from_bytes, to_bytes
from oddshot.training.meta_training import fit_encoding, usable_tasks
from oddshot.training.thresholds import best_threshold, find_threshold
from oddshot.training.trainable import Trainable
from tests.fleets import SHORT, SIZES, fleet, labels, mixed, numbers

NEEDED = "an episode needs 8 normal rows (3 to adapt to and 5 to test on) and 3 anomalous ones (1 and 2)"


def learn(tasks, **options):
    return meta_train(
        tasks, **{"sizes": SIZES, "training": SHORT, "device": "cpu", "units": 8, "method": "relative"} | options
    )


def poor(name="poor", n_normal=30, n_anomaly=2):
    return Task(name, numbers(0)[: n_normal + n_anomaly], np.repeat([0, 1], [n_normal, n_anomaly]))


def test_tasks_with_too_few_rows_are_skipped_and_named():
    tasks = [*fleet(), poor("few anomalies"), poor("few normals", 3, 20)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = learn(tasks)
    assert [str(warning.message) for warning in caught] == [
        f"task 'few anomalies' skipped: 30 normal and 2 anomalous rows; {NEEDED} "
        "(smaller episodes: query_normal, query_anomaly)",
        f"task 'few normals' skipped: 3 normal and 20 anomalous rows; {NEEDED} "
        "(smaller episodes: query_normal, query_anomaly)",
    ]
    assert model.training["tasks"] + model.training["validation_tasks"] == 6
    assert to_bytes(model) == to_bytes(learn(fleet()))


def test_unlabelled_rows_do_not_count():
    y = np.full(40, -1)
    y[:8], y[8:11] = 0, 1
    assert len(usable_tasks([Task("just enough", numbers(0), y)], SIZES)) == 1
    y[0] = -1
    with pytest.warns(UserWarning, match="'one short' skipped"), pytest.raises(InputError):
        usable_tasks([Task("one short", numbers(0), y)], SIZES)


@pytest.mark.filterwarnings("ignore:task")
def test_no_task_left_is_an_error():
    with pytest.raises(InputError, match=re.escape(f"none of the 2 tasks has rows enough: {NEEDED}")):
        learn([poor(), poor()])
    with pytest.raises(InputError, match="tasks is empty; expected a list of Task"):
        learn([])
    with pytest.raises(InputError, match="none of the 1 validation tasks"):
        learn(fleet(), validation=[poor()])


def test_a_fleet_without_anomalies_is_told_so_and_what_they_are_needed_for():
    sizes = EpisodeSizes(3, 0, 5, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError) as caught:
            learn([poor(n_anomaly=0)] * 3, sizes=sizes)
    assert str(caught.value) == (
        "none of the 3 tasks has a row that is labelled anomalous, and an episode needs 8 normal rows (3 to adapt to "
        "and 5 to test on) and 5 anomalous ones (0 and 5); without anomalies, take the model that ships, which adapts "
        "to normal rows alone"
    )


def test_settings_of_training_are_taken_by_their_names_as_the_command_takes_them():
    given = {"epochs": 2, "patience": 3, "batch_size": 4, "learning_rate": 0.01}
    drawn = {"support_normal": 2, "support_anomaly": 1, "query_normal": 4, "query_anomaly": 3}
    named = learn(fleet(), training=None, sizes=None, **given, **drawn)
    expected = learn(fleet(), training=TrainingConfig(**given), sizes=EpisodeSizes(**drawn))
    assert to_bytes(named) == to_bytes(expected)
    assert named.training["epochs"] == 2
    one = learn(fleet(), training=TrainingConfig(**given | {"epochs": 9}), epochs=2, **drawn)
    assert to_bytes(one) == to_bytes(expected)
    with pytest.raises(InputError, match=r"^units, epoch: method 'auto' has no such setting; name a method"):
        learn(fleet(), method="auto", epochs=1, query_normal=5, epoch=2)
    with pytest.raises(InputError, match=r"^epochs is 0; it must be at least 1$"):
        learn(fleet(), epochs=0)
    with pytest.raises(InputError, match=r"^query_normal is 2\.5; it must be a whole number"):
        learn(fleet(), query_normal=2.5)


def test_one_task_trains_with_a_warning():
    with pytest.warns(UserWarning, match="only one task: early stopping looks at the task it trains on"):
        model = learn(fleet(n_tasks=1))
    assert (model.training["tasks"], model.training["validation_tasks"]) == (1, 1)


def test_validation_tasks_may_be_given():
    model = learn(fleet(n_tasks=5), validation=fleet(n_tasks=3))
    assert (model.training["tasks"], model.training["validation_tasks"]) == (5, 3)


def test_a_tenth_is_set_aside_for_validation():
    model = learn(fleet(n_tasks=20))
    assert (model.training["tasks"], model.training["validation_tasks"]) == (18, 2)


def test_wrong_settings_are_one_line():
    with pytest.raises(InputError, match="method 'relative' has no setting 'unit'; it has units, layers_f"):
        learn(fleet(), unit=8)
    with pytest.raises(InputError, match="method 'wonn' has no setting 'units'; it has eta, eta_floor"):
        learn(fleet(), method="wonn")
    with pytest.raises(InputError, match="no method 'magic'; there are eigen"):
        learn(fleet(), method="magic")
    with pytest.raises(InputError, match="units is 0; it must be at least 1"):
        learn(fleet(), units=0)


def test_tasks_that_differ_in_their_columns_are_named():
    tasks = [*fleet(mixed), Task("renamed", mixed(7).rename(columns={"speed": "pace"}), labels())]
    with pytest.raises(InputError, match=r"task 'renamed': column 'speed' is missing \(renamed to 'pace'\?\)"):
        learn(tasks)
    with pytest.raises(InputError, match="task 'wide' has 4 columns"):
        learn([*fleet(), Task("wide", numbers(0, width=4), labels())])


@pytest.mark.parametrize(
    ("value", "make"), [(np.inf, np.asarray), (-np.inf, np.asarray), (1e19, np.asarray), (1e19, pd.DataFrame)]
)
def test_what_is_no_number_is_found(value, make):
    X = numbers(7)
    X[4, 2] = value
    with pytest.raises(InputError, match=r"task 'hot': row 5, column 'x?2': .* expected a number within ±1e18"):
        learn([*(Task(task.name, make(task.X), task.y) for task in fleet()), Task("hot", make(X), labels())])


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_cells_of_frames_are_missing_with_a_warning(value):
    X = numbers(7)
    X[4, 2] = value
    tasks = [Task(task.name, pd.DataFrame(task.X), task.y) for task in fleet()]
    with pytest.warns(UserWarning, match=r"task 'hot': row 5, column '2': -?inf is infinite and taken as missing$"):
        learn([*tasks, Task("hot", pd.DataFrame(X), labels())])


def test_unlabelled_rows_are_never_drawn():
    """With the encoding given, whatever stands in the unlabelled rows leaves the model as it was."""
    tasks = fleet()
    encoding = fit_encoding(tasks)
    y = np.where(np.arange(40) % 4 == 3, -1, labels())
    other = [Task(task.name, np.where(y[:, None] == -1, 1e6, task.X), y) for task in tasks]
    same = [Task(task.name, task.X, y) for task in tasks]
    assert to_bytes(learn(other, encoding=encoding)) == to_bytes(learn(same, encoding=encoding))


@pytest.mark.parametrize("method", ["eigen", "woanomaly"])
def test_the_same_seed_gives_the_same_bytes(method):
    once, again, other = (to_bytes(learn(fleet(), method=method, seed=seed)) for seed in (3, 3, 4))
    assert once == again
    assert once != other


@pytest.mark.parametrize("constant", [7.5, True, "always"])
def test_constant_columns_work(constant):
    tasks = [Task(task.name, task.X.assign(constant=constant), task.y) for task in fleet(mixed)]
    model = learn(tasks)
    rows = model.encoding.transform(mixed(9).assign(constant=constant))
    assert model.encoding.attribute_names[-1].startswith("constant")
    assert (rows[:, -1] == 0).all()
    np.testing.assert_allclose(rows[:, :-1], learn(fleet(mixed)).encoding.transform(mixed(9)), rtol=1e-6)


def test_all_columns_constant_still_train():
    tasks = [Task(task.name, np.ones((40, 2)), task.y) for task in fleet()]
    detector = FewShotDetector(learn(tasks)).fit(np.ones((6, 2)), [0, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(detector.encoding_.transform([[1.0, 1.0], [2.0, 0.0]]), [[0, 0], [1, -1]])
    equal, other = detector.task_.score_as_new(np.array([[0, 0], [1, -1]], np.float32))
    assert other > 100 * equal


def test_support_sizes_other_than_those_of_training_work():
    model = learn(fleet())
    X = numbers(9)
    encoded = model.encoding.transform(X)
    for rows in ([1, 0], [1, 2, 3, 4, 6, 7, 8, 0, 5, 10, 15], range(39)):
        detector = FewShotDetector(model).fit(X[list(rows)], labels()[list(rows)])
        normal, anomaly = (encoded[[row for row in rows if labels()[row] == label]] for label in (0, 1))
        expected = model.method.adapt(LabelledRows(normal, anomaly))(encoded)
        found = detector.task_.score_as_new(encoded)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6 * float(expected.max()))


def balanced_accuracy(normal, anomaly, cut):
    return (sum(a <= cut for a in normal) / len(normal) + sum(a > cut for a in anomaly) / len(anomaly)) / 2


def naive_best(normal, anomaly):
    """The highest balanced accuracy of the cuts midway between neighbouring scores."""
    scores = sorted([*normal, *anomaly])
    cuts = [(a + b) / 2 for a, b in itertools.pairwise(scores)]
    return max(balanced_accuracy(normal, anomaly, cut) for cut in cuts)


some_scores = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=12)


@given(some_scores, some_scores)
def test_best_threshold_is_that_of_a_loop_over_all(normal, anomaly):
    cut = best_threshold(np.array(normal), np.array(anomaly))
    assert balanced_accuracy(normal, anomaly, cut) == pytest.approx(naive_best(normal, anomaly))


def episodes(anomaly_at):
    """Support and query of four tasks of two attributes; in the last one the anomalies lie among the normal rows."""
    rng = np.random.default_rng(0)
    shift = np.array([anomaly_at, anomaly_at, anomaly_at, 0.0])[:, None, None]

    def rows(n, shift):
        return (rng.normal(size=(4, n, 2)) + shift).astype(np.float32)

    return LabelledRows(rows(5, 0.0), rows(1, shift)), LabelledRows(rows(9, 0.0), rows(4, shift))


def without_networks():
    return Trainable(WoNN, 2, WoNNConfig()).trained()


def test_the_threshold_parts_the_queries_of_all_tasks_at_once():
    method = without_networks()
    support, query = episodes(3.0)
    found = find_threshold(method, support, query)
    relative = ([], [])
    for t in range(4):
        one = LabelledRows(*(part[t] for part in support))
        score = method.adapt(one)
        low, high = (score(part).mean() for part in one)
        if high > low:
            for known, part in zip(relative, query, strict=True):
                known += [(a - low) / (high - low) for a in score(part[t]).tolist()]
    assert balanced_accuracy(*relative, found) == pytest.approx(naive_best(*relative))


def test_without_any_span_the_threshold_is_half_way():
    method = without_networks()
    support, query = episodes(3.0)
    assert (
        find_threshold(method, LabelledRows(support.normal, np.zeros_like(support.anomaly)), query) == DEFAULT_THRESHOLD
    )


KINDS = ("number", "whole", "category", "boolean", "date", "constant")


@st.composite
def tables(draw):
    """A function seed -> table of 24 rows; all its tables have the same columns, of any kind and scale."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    scale = draw(st.sampled_from([1e-15, 1.0, 1e17]))
    missing = draw(st.sampled_from([0.0, 0.3]))

    def column(kind, rng):
        values = {
            "number": scale * rng.normal(size=24),
            "whole": rng.integers(-5, 5, 24),
            "category": rng.choice(["a", "b", "c d", "é"], 24),
            "boolean": rng.random(24) < 0.5,
            "date": pd.Timestamp("2024-02-28") + pd.to_timedelta(rng.integers(0, 10**7, 24), unit="s"),
            "constant": np.full(24, scale),
        }[kind]
        cells = pd.Series(values).astype(object)
        cells[rng.random(24) < missing] = None
        return cells

    def make(seed):
        rng = np.random.default_rng(seed)
        columns = {f"{j} {kind}": column(kind, rng) for j, kind in enumerate(kinds)}
        return pd.DataFrame({"level": rng.normal(size=24), **columns})

    return make


@settings(max_examples=12, deadline=None)
@given(tables(), st.sampled_from(["eigen", "woanomaly"]), st.integers(0, 10**6))
def test_any_table_goes_all_the_way_and_back(make, method, seed):
    y = (np.arange(24) % 4 == 0).astype(int)
    tasks = [Task(f"task{t}", make([seed, t]), y) for t in range(3)]
    model = learn(tasks, method=method, sizes=EpisodeSizes(2, 1, 3, 2), seed=seed)
    X = make([seed, 99])
    before, after = (
        FewShotDetector(one).fit(X[:6], y[:6]).score_samples(X) for one in (model, from_bytes(to_bytes(model)))
    )
    assert np.isfinite(before).all()
    assert (before >= 0).all()
    np.testing.assert_array_equal(before, after)


def test_training_goes_on_from_a_model_of_the_same_method_and_keeps_its_settings():
    shipped = load_universal()
    model = meta_train(fleet(), start=shipped, sizes=SIZES, training=SHORT, device="cpu", progress=False)
    assert model.method.config == dataclasses.replace(shipped.method.config, marks=RelativeConfig().marks)
    assert model.encoding is not None
    before, after = shipped.method.weights, model.method.weights
    np.testing.assert_array_equal(before["center"], after["center"])  # it is not fixed anew
    first = meta_train(fleet(), start=shipped, sizes=SIZES, training=TrainingConfig(epochs=1, learning_rate=1e-9),
                       device="cpu", progress=False)  # fmt: skip
    for name, value in first.method.weights.items():
        if name != "marks":  # of its own columns; what weighs them is added to two weights, as zeros
            known = value[tuple(map(slice, before[name].shape))]
            np.testing.assert_allclose(known, before[name], atol=1e-6, rtol=1e-6)
            assert known.size == value.size or np.abs(value[len(before[name]) :]).max() < 1e-6


def test_the_start_may_be_a_path_or_a_name(tmp_path):
    load_universal().save(tmp_path / "start.safetensors")
    starts = (load_universal(), "universal", tmp_path / "start.safetensors", str(tmp_path / "start.safetensors"))
    expected, *found = (
        to_bytes(meta_train(fleet(), start=start, sizes=SIZES, training=SHORT, device="cpu")) for start in starts
    )
    assert all(one == expected for one in found)
    with pytest.raises(FileError, match="nowhere"):
        meta_train(fleet(), start="nowhere.safetensors", sizes=SIZES)


def test_a_start_of_another_method_or_with_other_settings_is_refused():
    with pytest.raises(InputError, match="the model to start from is of method 'relative', not 'eigen'"):
        meta_train(fleet(), method="eigen", start=load_universal(), sizes=SIZES)
    with pytest.raises(InputError, match="units: settings are those of the model to start from"):
        learn(fleet(), start=load_universal(), units=8)
    wide = learn(fleet(), method="eigen", units=8)
    narrow = [Task(task.name, task.X[:, :1], task.y) for task in fleet()]
    with pytest.raises(InputError, match=r"the model to start from is for \d+ attributes, these tasks have \d+"):
        meta_train(narrow, method="eigen", start=wide, sizes=SIZES)
