import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from oddshot.data.tables import parse_labels
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
    ],
)
def test_anomaly_value(column: list[object], value: object, expected: list[int]) -> None:
    assert parse_labels(column, value).tolist() == expected


@pytest.mark.parametrize(("column", "shown"), [([0, 1, 2], "2"), (["1", "0", "yes"], "'yes'"), ([1, 0, 0.5], "0.5")])
def test_other_labels_are_refused(column: list[object], shown: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_labels(column, where="m1.csv", name="fault")
    message = str(caught.value)
    assert message.startswith(f"m1.csv: row 3, column 'fault': {shown} is not a label; expected 1, 0, -1 or empty")
    assert "--anomaly-value" in message
