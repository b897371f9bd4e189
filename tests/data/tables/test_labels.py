import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from oddshot.data.tables import parse_labels
from oddshot.data.tables.label_meaning import LabelMeaning
from oddshot.errors import InputError


@pytest.mark.parametrize(
    "column",
    [
        [1, 0, -1, None],
        [1.0, 0.0, -1.0, float("nan")],
        ["1", "0", "-1", ""],
        [" 1.0", "0 ", "-1.0", None],
        pa.chunked_array([["1", "0"], ["-1", None]]).dictionary_encode(),
        pd.Series([1, 0, -1, None]),
        np.array([1, 0, -1, np.nan]),
    ],
)
def test_labels(column: object) -> None:
    labels = parse_labels(column)
    assert labels.dtype == np.int8
    assert labels.tolist() == [1, 0, -1, -1]


def test_booleans_are_labels() -> None:
    assert parse_labels([True, False, None]).tolist() == [1, 0, -1]
    assert parse_labels(["True", "FALSE", "false"]).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (["bad", "good", None, " bad ", "-1"], "bad", [1, 0, -1, 1, 0]),
        ([1, 2, 2, None], "2", [0, 1, 1, -1]),
        (["1", "1.0", "01", "x"], 1, [1, 1, 1, 0]),
        ([True, False], "True", [1, 0]),
        (["1", "0"], "0", [0, 1]),
        (["bearing", "leak", "ok", None], ["leak", "bearing"], [1, 1, 0, -1]),
        ([1, 2, 3, None], (2, 3.0), [0, 1, 1, -1]),
        (["bearing", "ok", ""], np.array(["leak", "bearing"]), [1, 0, -1]),
    ],
)
def test_values_that_mean_anomaly_or_normal(column: list[object], value: object, expected: list[int]) -> None:
    assert parse_labels(column, LabelMeaning.of(value, None)).tolist() == expected
    opposite = [1 - label if label >= 0 else -1 for label in expected]
    assert parse_labels(column, LabelMeaning.of(None, value)).tolist() == opposite


@pytest.mark.parametrize(
    ("anomaly_value", "normal_value", "message"),
    [
        ("bad", "ok", "anomaly_value and normal_value exclude each other: where the values of one side are named"),
        ([], None, "anomaly_value is empty; expected one value of anomalies, or several"),
        (None, (), "normal_value is empty; expected one value of normal rows, or several"),
        (["bad", "NA"], None, "anomaly_value: 'NA' is how a missing label is written"),
        ("", None, "anomaly_value: '' is how a missing label is written"),
        (np.array(1), None, "anomaly_value is of type 'ndarray'; expected one value of anomalies, or a list of them"),
    ],
)
def test_meanings_that_contradict_themselves(anomaly_value: object, normal_value: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        LabelMeaning.of(anomaly_value, normal_value)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(("column", "shown"), [([0, 1, 2], "2"), (["1", "0", "yes"], "'yes'"), ([1, 0, 0.5], "0.5")])
@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ((), "name the values of anomalies with anomaly_value, or those of normal rows with normal_value"),
        (("--a", "--n"), "name the values of anomalies with --a, or those of normal rows with --n"),
    ],
)
def test_other_labels_are_refused_in_the_words_of_the_door(
    column: list[object], shown: str, arguments: tuple[str, str], advice: str
) -> None:
    meaning = LabelMeaning(arguments=arguments) if arguments else LabelMeaning()
    with pytest.raises(InputError) as caught:
        parse_labels(column, meaning, where="m1.csv", name="fault")
    expected = f"m1.csv: row 3, column 'fault': {shown} is not a label; expected 1, 0, -1 or empty, or {advice}"
    assert str(caught.value) == expected
