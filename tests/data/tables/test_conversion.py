import datetime

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
