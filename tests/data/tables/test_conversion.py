import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from oddshot.data.tables import as_table
from oddshot.errors import InputError


def test_as_table_from_every_kind_of_frame() -> None:
    columns = {"n": [1.5, None], "t": ["a", None], "d": [datetime.datetime(2024, 1, 31), None]}
    for X in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns), columns):
        assert as_table(X).to_pydict() == columns
    assert as_table(pa.table(columns).to_batches()[0]).to_pydict() == columns


def test_as_table_from_arrays() -> None:
    assert as_table(np.arange(4).reshape(2, 2)).to_pydict() == {"x0": [0, 2], "x1": [1, 3]}
    assert as_table([[1, 2.5]]).to_pydict() == {"x0": [1], "x1": [2.5]}
    mixed = np.array([[1, "a"], [None, 2]], object)
    assert as_table(mixed).to_pydict() == {"x0": [1, None], "x1": ["a", "2"]}
    swapped = np.array([[1.5]]).astype(">f8")
    assert as_table(swapped).to_pydict() == {"x0": [1.5]}


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.5, None]),
        pa.array(["a", None]),
        pa.array(["a", None]).cast(pa.string_view()),
        pa.array([True, None]),
        pa.array(["a", None]).dictionary_encode(),
        pa.array([Decimal("1.5"), None]).cast(pa.decimal128(10, 2)),
    ],
    ids=lambda values: str(values.type),
)
def test_runs_and_dictionaries_that_hold_null_become_plain_columns(values: pa.Array) -> None:
    expected = [values[i].as_py() for i in (0, 1, 1)]
    runs = pa.RunEndEncodedArray.from_arrays([2, 9], values).slice(1, 3)
    chunks = pa.chunked_array([pa.RunEndEncodedArray.from_arrays([1, 3], values)] * 2)
    assert as_table(pa.table({"a": runs}))["a"].to_pylist() == expected
    assert as_table(pa.table({"a": chunks}))["a"].to_pylist() == expected * 2
    if not pa.types.is_dictionary(values.type):
        column = as_table(pa.table({"a": pa.DictionaryArray.from_arrays([0, 1, 1], values)}))["a"]
        assert (column.to_pylist(), column.null_count) == (expected, 2)


@pytest.mark.parametrize("infinite", ["Infinity", "-Infinity"])
def test_infinite_decimals_are_infinite_cells(infinite: str) -> None:
    cells = [Decimal("1.5"), Decimal(infinite), Decimal("NaN"), None]
    for table in (as_table({"a": cells}), as_table(pd.DataFrame({"a": cells}))):
        assert table["a"].to_pylist() == ["1.5", infinite, None, None]


def test_as_table_from_awkward_frames() -> None:
    frame = pd.DataFrame([[1, "b", pd.NA], ["a", 2.5, None]], columns=[0, "t", ("u", 1)])
    assert as_table(frame).to_pydict() == {"0": ["1", "a"], "t": ["b", "2.5"], "('u', 1)": [None, None]}
    categorical = pl.DataFrame({"c": ["x", "y"]}, schema={"c": pl.Categorical})
    assert as_table(categorical)["c"].to_pylist() == ["x", "y"]


@pytest.mark.parametrize(
    ("X", "problem"),
    [
        (np.zeros(3), "1-D array; expected a 2-D array"),
        ([[1, 2], [3]], "rows of different lengths"),
        (np.zeros((2, 2), complex), "complex numbers"),
        ("a.csv", "a str is not a table"),
        ({"a": [1], "b": [1, 2]}, "columns of different lengths"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns are called 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), "two columns are called 'a'"),
    ],
)
def test_what_is_no_table(X: object, problem: str) -> None:
    with pytest.raises(InputError, match=f"X: {problem}"):
        as_table(X, where="X")
