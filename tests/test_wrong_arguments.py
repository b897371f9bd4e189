"""Wrong arguments of the public functions and classes: one line of ours that names the argument, whatever is given."""

import inspect
import warnings
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

import oddshot
from oddshot import (
    EpisodeSizes,
    FewShotDetector,
    InputError,
    Model,
    OddshotError,
    Task,
    TrainingConfig,
    load_detector,
    load_model,
    load_universal,
    meta_train,
    read_tasks,
)
from oddshot.universal.names import UNIVERSAL_MODEL_FILE
from tests.fleets import labels, numbers

X, Y = numbers(9), (labels() == 1).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
FITTED, FITTED_ON_FRAME = FewShotDetector().fit(X, Y), FewShotDetector().fit(FRAME, Y)
TASKS = [Task(f"m{k}", X, Y) for k in range(3)]
METHOD = load_universal().method


def fit(rows, y, **parameters):
    return FewShotDetector(**parameters).fit(rows, y)


def with_names(names):
    return FRAME.set_axis(names, axis=1)


ROWS = {  # what is given as X, and what the message says of it
    "None": (None, "X is None; expected a data frame, an Arrow table, a dict of columns or a 2-D array"),
    "text": ("new.csv", "X is of type 'str'; expected a data frame"),
    "1-D": (X[:, 0], "X has one dimension; expected a data frame"),
    "series": (FRAME["a"], "X is a Series; expected a data frame"),
    "polars series": (pl.Series(X[:, 0]), "X has one dimension"),
    "Arrow array": (pa.array(X[:, 0]), "X has one dimension"),
    "3-D": (X[:, :, None], "X: Found array with dim 3"),
    "complex": (X + 1j, "X: Complex data not supported; expected real numbers"),
    "no rows": (X[:0], r"X: Found array with 0 sample\(s\)"),
    "no columns": (X[:, :0], r"X: Found array with 0 feature\(s\)"),
    "frame without rows": (FRAME[:0], "X has no rows"),
    "frame without columns": (FRAME[[]], "X has no columns"),
    "objects that are text": (np.array([["a"]] * 40, object), "X: could not convert string .*give a data frame"),
    "array of text": (np.array([["a"]] * 40), "X: .* arrays of bytes/strings; .*give a data frame"),
    "objects that are dicts": (np.array([[{}]] * 40, object), "X: .*argument must be .* number"),
    "rows of different lengths": ([[1, 2], [3]] * 20, "X: rows of different lengths"),
    "sparse": (csr_matrix(X), "X: Sparse data was passed"),
    "matrix": (np.matrix(X), r"X: np.matrix is not supported.*np\.asarray$"),
    "dict of numbers": ({"a": 1, "b": 2}, "X: column 'a' is 1; expected a list of its cells"),
    "dict of text": ({"a": "xyz"}, "X: column 'a' is 'xyz'; expected a list of its cells"),
    "dict of arrays of two dimensions": ({"a": X}, "X: column 'a' is array.*expected a list of its cells"),
    "names that occur twice": (with_names(["a", "a", "b"]), "X: two columns are called 'a'"),
    "lazy frame": (pl.LazyFrame({"a": [1]}), "X: a LazyFrame is not a table"),
}
TARGETS = {  # what is given as y
    "two columns": (np.column_stack([Y, Y]), r"y should be a 1d array, got an array of shape \(40, 2\)"),
    "another length": (Y[:5], "X has 40 rows and y has 5 labels"),
    "number": (1, "y should be a 1d array"),
    "text": ("fault", "y should be a 1d array"),
    "dict": ({"a": Y}, "y should be a 1d array"),
    "lists of different lengths": ([[1], [1, 2]] * 20, "y: setting an array element"),
    "complex": (Y + 1j, "y: Complex data not supported"),
    "three numbers": (np.arange(40) % 3, "Only binary classification .* y has 0, 1, 2; labels are 1 = anomaly"),
    "1 and -1": (np.where(Y, -1, 1), "y has 1 and -1 but no 0.*IsolationForest, give anomaly_value=-1"),
    "text of 1 and -1": (np.where(Y, "-1", "1"), "y has 1 and -1 but no 0"),
    "two texts": (np.where(Y, "bad", "ok"), r"name the values of anomalies with anomaly_value.* \(y has 'bad', 'ok'\)"),
    "dates": (np.array(["2020-01-01"] * 40, "M8[D]"), "name the values of anomalies with anomaly_value"),
}
CALLS = {
    "neighbours": (lambda: FITTED.explain(X, 2.5), "neighbours is 2.5; it must be a whole number, at least 0"),
    "n": (lambda: FITTED.suggest(X, 0), "n is 0; it must be at least 1"),
    "width": (lambda: FITTED.predict(X[:, :2]), "X has 2 features, but FewShotDetector is expecting 3"),
    "width of a frame": (lambda: FITTED_ON_FRAME.predict(FRAME[["a", "b"]]), "X: column 'c' is missing"),
    "export_onnx": (lambda: FITTED.export_onnx(5), "path is of type 'int'; expected a str or a Path"),
    "export_onnx of None": (lambda: FITTED.export_onnx(None), "path is None; expected a str or a Path"),
    "export_onnx of another type": (
        lambda: FITTED.export_onnx("a.onnx", "float16"),
        "number_type is 'float16'; there are float64 and float32",
    ),
    "export_onnx of no type": (lambda: FITTED.export_onnx("a.onnx", None), "number_type is None; expected 'float64'"),
    "save": (lambda: FITTED.save(None), "path is None; expected a str or a Path"),
    "save as bytes": (lambda: FITTED.save(b"a"), "path is of type 'bytes'"),
    "save with a null character": (lambda: FITTED.save("a\0b"), "has no null character"),
    "load_model": (lambda: load_model(b""), "path is of type 'bytes'; expected a str or a Path"),
    "load_detector": (lambda: load_detector(None), "path is None; expected a str or a Path"),
    "plot_scores ax": (lambda: FITTED.plot_scores(X, ax="x"), "ax is of type 'str'; expected Axes of matplotlib"),
    "plot_spaces ax": (lambda: FITTED.plot_spaces(X, ax=["x"] * 3), "ax is of type 'str'; expected a list of 3 Axes"),
    "plot_spaces one ax": (lambda: FITTED.plot_spaces(X, ax=plt.gca()), "ax has 1 axes; this task is drawn on 3"),
    "plot_spaces no rows": (lambda: FITTED_ON_FRAME.plot_spaces(FRAME[:0]), "X has no rows to draw"),
    "explain one row": (
        lambda: FITTED_ON_FRAME.explain(FRAME.iloc[0]),
        r"X is a Series; .*table\.iloc\[\[i\]\] for row",
    ),
    "plot_contributions rows": (lambda: FITTED.plot_contributions(X), "row has 40 rows; one is drawn"),
    "plot_contributions None": (lambda: FITTED.plot_contributions(None), "row is None; expected"),
    "plot_contributions list": (lambda: FITTED.plot_contributions([1, 2, 3]), "row has one dimension"),
    "plot_contributions width": (lambda: FITTED.plot_contributions(X[0, :2]), "row has 2 features"),
    "plot_contributions column": (lambda: FITTED_ON_FRAME.plot_contributions(FRAME["a"]), "row: column 'a' is missing"),
    "anomaly_value": (lambda: fit(X, ["y", "n"] * 20, anomaly_value="z"), "y: no label is 'z'; values seen: 'y', 'n'"),
    "rate": (lambda: fit(X, Y, false_positive_rate="a"), "false_positive_rate is 'a'; it must be a number from 0.001"),
    "rate nan": (lambda: fit(X, Y, false_positive_rate=np.nan), "false_positive_rate is nan"),
    "rate 2": (lambda: fit(X, Y, false_positive_rate=2), "false_positive_rate is 2"),
    "rate beyond floats": (lambda: fit(X, Y, false_positive_rate=10**400), "false_positive_rate is 1000"),
    "rate complex": (lambda: fit(X, Y, false_positive_rate=np.complex128(0.1)), "false_positive_rate is np.complex128"),
    "model": (lambda: fit(X, Y, model=5), "model is of type 'int'; expected a Model, the path of its file"),
    "columns text": (lambda: fit(FRAME, Y, columns="a"), "columns: expected a list of names"),
    "columns unknown": (lambda: fit(FRAME, Y, columns=["z"]), "no column 'z'; its columns are 'a', 'b', 'c'"),
    "columns kind": (lambda: fit(FRAME, Y, columns={"a": "nonsense"}), "column 'a': kind 'nonsense'; kinds are number"),
    "tasks number": (lambda: meta_train(5), "tasks is of type 'int'; expected a list of Task"),
    "tasks none": (lambda: meta_train([]), "tasks is empty; expected a list of Task"),
    "tasks one": (lambda: meta_train(TASKS[0]), "tasks is of type 'Task'; expected a list of Task"),
    "tasks files": (lambda: meta_train("fleet/*.csv"), "tasks is of type 'str'; expected a list of Task"),
    "tasks frames": (lambda: meta_train([FRAME]), r"tasks\[0\] is of type 'DataFrame'; expected a Task"),
    "validation": (lambda: meta_train(TASKS, validation=[X]), r"validation\[0\] is of type 'ndarray'"),
    "start": (lambda: meta_train(TASKS, start=5), "start is of type 'int'; expected a Model"),
    "method": (lambda: meta_train(TASKS, method="relativ"), r"no method 'relativ'; .* \(did you mean 'relative'\?\)"),
    "method of the paper": (
        lambda: meta_train(TASKS, method="Ours"),
        r"no method 'Ours'; .*\(did you mean 'eigen'\?\)",
    ),
    "method far": (
        lambda: meta_train(TASKS, method="nonsense"),
        r"no method 'nonsense'; there are eigen, .*deepsad, relative-pairs, ",
    ),
    "seed": (lambda: meta_train(TASKS, seed="a"), "seed is 'a'; it must be a whole number, at least 0"),
    "seed negative": (lambda: meta_train(TASKS, seed=-1), "seed is -1; it must be at least 0"),
    "seed large": (lambda: meta_train(TASKS, seed=2**63), r"seed is 9223372036854775808; it must be below 2\*\*63"),
    "training": (lambda: meta_train(TASKS, training={"epochs": 1}), "training is of type 'dict'; expected a Training"),
    "units": (lambda: meta_train(TASKS, method="eigen", units="a"), "units is 'a'; it must be a whole number"),
    "dropout": (lambda: meta_train(TASKS, method="eigen", dropout="a"), "dropout is 'a'; it must be a number"),
    "learning_rate": (lambda: TrainingConfig(learning_rate=np.inf), "learning_rate is inf; it must be above 0 and fin"),
    "Task X": (lambda: Task("a", None, Y), "task 'a': a NoneType is not a table"),
    "Task X 1-D": (lambda: Task("a", X[:, 0], Y), "task 'a': 1-D array; expected a 2-D array"),
    "Task y text": (lambda: Task("a", X, ["ok"] * 40), r"task 'a': label 'ok'; labels are 1 \(anomaly\)"),
    "Task y None": (lambda: Task("a", X, None), r"task 'a': 40 rows but labels of shape \(\)"),
    "Task y 2-D": (lambda: Task("a", X, X), r"task 'a': 40 rows but labels of shape \(40, 3\)"),
    "Task y lists": (lambda: Task("a", X, [[1], [1, 2]]), "task 'a': y is not a list of labels"),
    "Model method": (lambda: Model(5, None, 0.5), "method is of type 'int'; expected a Method"),
    "Model threshold": (lambda: Model(METHOD, None, "a"), "the threshold is 'a'; it must be a finite number"),
}


def refusal_of(call):
    with pytest.raises(OddshotError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("case", ROWS)
def test_wrong_rows(case):
    rows, message = ROWS[case]
    with pytest.raises(InputError, match=f"^{message}") as caught:
        fit(rows, Y)
    assert "\n" not in str(caught.value)
    if case != "frame without rows":  # which has no scores
        assert refusal_of(lambda: FITTED.score_samples(rows)).startswith("X")


@pytest.mark.parametrize("case", TARGETS)
def test_wrong_targets(case):
    y, message = TARGETS[case]
    with pytest.raises(InputError, match=message) as caught:
        fit(X, y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("case", CALLS)
def test_wrong_calls(case):
    call, message = CALLS[case]
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
    plt.close("all")


def test_a_masked_cell_is_missing():
    masked = np.ma.masked_array(X, mask=X > 4)
    expected = fit(np.where(X > 4, np.nan, X), Y).score_samples(X)
    np.testing.assert_array_equal(fit(masked, Y).score_samples(X), expected)
    hidden = np.ma.masked_array(Y, mask=np.arange(40) % 3 == 0)
    expected = fit(X, np.where(np.arange(40) % 3 == 0, -1, Y)).score_samples(X)
    np.testing.assert_array_equal(fit(X, hidden).score_samples(X), expected)


def test_columns_with_several_levels_are_named_by_all_of_them():
    fitted = fit(with_names(pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])), Y)
    assert fitted.feature_names_in_.tolist() == ["('a', 1)", "('a', 2)", "('b', 1)"]


@pytest.mark.parametrize("make", [pl.Series, pa.array, pd.Categorical, list, lambda y: pa.chunked_array([y])])
def test_targets_of_other_libraries(make):
    np.testing.assert_array_equal(fit(X, make(Y)).score_samples(X), FITTED.score_samples(X))


def test_a_task_may_be_a_dict_of_columns_and_its_seed_a_number_of_numpy():
    tasks = [Task(f"m{k}", {"a": X[:, 0], "b": X[:, 1]}, Y) for k in range(3)]
    sizes = EpisodeSizes(2, 1, 4, 2)
    model = meta_train(tasks, method="lr", sizes=sizes, seed=np.int64(3), progress=False)
    assert model.training["seed"] == 3
    assert type(model.training["seed"]) is int


def public_calls(folder):
    """Every public function and class and, of the detector, every method: a call that works, and its parameters."""
    path = folder / "fleet.csv"
    path.write_text("a,machine,fault\n" + "".join(f"{k},{k % 2},{k % 3 == 0:d}\n" for k in range(9)))
    FITTED.save(folder / "detector")
    given = {
        "X": X, "y": Y, "row": X[0], "model": None, "path": folder / "out", "tasks": TASKS, "method": "lr",
        "sizes": EpisodeSizes(2, 1, 4, 2), "progress": False, "name": "a", "frame": FRAME.assign(fault=Y),
        "label": "fault", "paths": path, "encoding": None, "threshold": 0.5,
    }  # fmt: skip
    detector_calls = {
        name: (call, call)
        for name, call in inspect.getmembers(FITTED, inspect.ismethod)
        if not name.startswith("_") and name in vars(FewShotDetector) and name != "fit"
    }
    calls = {
        "FewShotDetector": (lambda **parameters: fit(X, Y, **parameters), FewShotDetector),
        "FewShotDetector.fit": (FewShotDetector().fit, FewShotDetector().fit),
        **detector_calls,
        "predict_proba": (FITTED.predict_proba, FITTED.predict_proba),
        "Task": (Task, Task),
        "Task.from_frame": (Task.from_frame, Task.from_frame),
        "Model": (lambda **parameters: Model(**{"method": METHOD} | parameters), Model),
        "Model.save": (load_universal().save, load_universal().save),
        "EpisodeSizes": (EpisodeSizes, EpisodeSizes),
        "TrainingConfig": (TrainingConfig, TrainingConfig),
        "load_detector": (lambda path=folder / "detector": load_detector(path), load_detector),
        "load_model": (lambda path=UNIVERSAL_MODEL_FILE: load_model(path), load_model),
        "load_universal": (load_universal, load_universal),
        "meta_train": (meta_train, meta_train),
        "read_tasks": (read_tasks, read_tasks),
    }
    for title, (call, signature) in calls.items():
        names = [
            parameter.name
            for parameter in inspect.signature(signature).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        defaults = {name: given[name] for name in names if name in given}
        if title.startswith("load"):
            defaults.pop("path", None)
        if title == "Model":
            defaults.pop("method")
        if title == "FewShotDetector":
            defaults = {}
        yield title, call, names, defaults


def test_nothing_but_our_own_errors_whatever_is_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()  # what is written or read under this name fails
    values = [None, 5, -1, 1.5, True, "x", "", b"", [], {}, [None], object(), np.zeros(3), 10**400, float("nan")]
    values += [
        1j,
        set(),
        iter([1]),
        np.array(5),
        pd.NA,
        FRAME["a"],
        FRAME[:1],
        pa.table({"a": [1]}),
        "\ud800",
        [[1], [2, 3]],
    ]
    tried, wrong = set(), []
    for title, call, names, defaults in public_calls(Path(tmp_path)):
        tried.add(title.split(".")[0])
        for name, value in product(names, values):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    call(**(defaults | {name: value}))
                except OddshotError as error:
                    wrong += [(title, name, value, str(error))] if "\n" in str(error) else []
                except Exception as error:
                    wrong.append((title, name, value, f"{type(error).__name__}: {error}"))
        plt.close("all")
    assert wrong == []
    assert tried >= {name for name in oddshot.__all__ if not name.endswith("Error")}
