"""A column of labels that was left among the others is warned of, and a column that may well be another one is not."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from oddshot import FewShotDetector, Task

SIX = [0, 0, 0, 0, 0, 1]


def frame(n=6, **columns):
    return pd.DataFrame(np.random.default_rng(0).normal(size=(n, 3)), columns=list("abc")).assign(**columns)


def notices(X, y, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FewShotDetector(**options).fit(X, y)
    return [str(warning.message) for warning in caught if "repeat" in str(warning.message)]


def test_the_notice_names_the_column_and_says_what_to_do():
    table = frame(fault=SIX)
    assert notices(table, table["fault"]) == [
        "support: column 'fault' repeats the labels of all 6 labelled rows; if this is the label itself, leave it out: "
        "drop the column, or give it the kind ignore"
    ]
    (notice,) = notices(frame(fault=SIX, is_anomaly=SIX), SIX)
    assert "columns 'fault', 'is_anomaly' repeat the labels" in notice
    assert notices(table, SIX, columns={"fault": "ignore"}) == []
    assert notices(table.drop(columns="fault"), table["fault"]) == []


@pytest.mark.parametrize("name", ["label", "Class", "is_fault", "GroundTruth", "y", "fault label", "TARGET"])
def test_columns_called_like_a_label(name):
    assert notices(frame(**{name: SIX}), SIX)
    assert notices(frame(**{name: ["ok"] * 5 + ["broken"]}), SIX)
    assert notices(frame(**{name: [0, 1, 0, 0, 0, 1]}), SIX) == []  # says something else
    assert notices(frame(**{name: [0, None, 0, 0, 0, 1]}), SIX) == []


def test_columns_of_any_type():
    days = pa.array([2**62] * 5 + [2**62 + 1], pa.timestamp("ns", "Asia/Tokyo"))
    waits = pa.array([1] * 5 + [2**62], pa.duration("ns"))
    far = pa.array([2**50] * 5 + [0], pa.timestamp("s"))
    table = pa.table({**{name: frame()[name] for name in "abc"}, "label": waits, "target": days, "y": far})
    (notice,) = notices(table, SIX)
    assert "'label'" in notice


def test_without_an_anomaly_a_constant_column_is_no_label():
    table = frame(**{"class": ["car"] * 6})
    assert notices(table, [0] * 6) == []
    assert notices(table, pd.Series([0] * 6, name="class"))


@pytest.mark.parametrize("name", ["door_open", "class_id", "fault_code", "7"])
def test_a_column_of_two_values_may_agree_by_chance(name):
    assert notices(frame(**{name: SIX}), SIX) == []


def test_the_name_of_the_labels_themselves():
    table = frame(state=["ok", "ok", "idle", "idle", "ok", "broken"])
    assert notices(table, table["state"], anomaly_value="broken")
    assert notices(pl.from_pandas(table), pl.from_pandas(table)["state"], anomaly_value="broken")
    assert notices(table, table["state"].to_numpy(), anomaly_value="broken") == []
    assert notices(table, table["a"] >= table["a"].max()) == []  # a measurement that the labels were made of


def test_a_column_that_is_empty_where_rows_are_unlabelled():
    y = np.array(SIX + [-1] * 30)
    assert notices(frame(36, seen=y), y)
    assert notices(frame(36, seen=np.where(y < 0, np.nan, y)), y)
    assert notices(frame(36, seen=y).to_numpy(), y)[0].startswith("support: column 'x3' repeats")
    assert notices(frame(36, seen=np.abs(y)), y) == []  # it goes on where there are no labels


def test_many_labelled_rows_need_no_name():
    y = np.array([0] * 30 + [1] * 6)  # 1.9 million ways to choose 6 rows of 36
    assert notices(frame(36, door_open=y), y)
    assert notices(frame(36, door_open=1 - y).to_numpy(), y)
    assert notices(frame(35, door_open=y[:-1]), y[:-1]) == []  # 0.3 million
    assert notices(frame(36, door_open=np.roll(y, 1)), y) == []  # says something else


def test_only_the_first_rows_agree():
    y = np.array([0] * 100 + [1] * 100)
    other = y.copy()
    other[150] = 0
    assert notices(frame(200, fault=y), y)
    assert notices(frame(200, fault=other), y) == []


def test_tasks_to_train_on():
    fit_encoding = pytest.importorskip("oddshot.training.meta_training").fit_encoding
    y = np.array([0] * 30 + [1] * 6)
    tasks = [Task("a", frame(36, flag=y), y), Task("b", frame(36, flag=y), y)]
    with pytest.warns(UserWarning, match="2 tasks: column 'flag' repeats the labels of all 72 labelled rows"):
        fit_encoding(tasks)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_encoding([tasks[0], Task("b", frame(36, flag=y[::-1].copy()), y)])
