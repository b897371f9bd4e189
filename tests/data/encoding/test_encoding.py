import datetime
import json
import math
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from oddshot.data.encoding import Encoding
from oddshot.data.tables import read_table, stream_table
from oddshot.errors import InputError
from tests.data.encoding.references import Cells, mixed_tables, reference, reference_column

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(autouse=True)
def _some_columns_are_warned_of(_no_warnings: None) -> None:
    warnings.filterwarnings("ignore", ".*left out", UserWarning)
    warnings.filterwarnings("ignore", ".*far outside of the others", UserWarning)


@quick
@given(mixed_tables())
def test_agrees_with_loops(data: tuple[dict[str, str], list[dict[str, Cells]]]) -> None:
    kinds, (*train, query) = data
    encoding = Encoding.fit(train)
    columns = {name: [cell for table in train for cell in table[name]] for name in kinds}
    assert encoding.kinds == {
        name: kinds[name] for name in kinds if reference_column(kinds[name], columns[name], [None])
    }
    ours = encoding.transform(query)
    assert ours.dtype == np.float32
    assert ours.shape[1] == encoding.n_attributes == len(encoding.attribute_names)
    np.testing.assert_allclose(ours, reference(kinds, train, query), rtol=1e-5, atol=1e-5)


@quick
@given(mixed_tables())
def test_survives_json(data: tuple[dict[str, str], list[dict[str, Cells]]]) -> None:
    _, (*train, query) = data
    encoding = Encoding.fit(train)
    again = Encoding.from_dict(json.loads(json.dumps(encoding.to_dict(), allow_nan=False)))
    assert again == encoding
    np.testing.assert_array_equal(again.transform(query), encoding.transform(query))


@quick
@given(mixed_tables(n_tables=1), st.randoms(use_true_random=False))
def test_order_of_rows_and_columns(data: tuple[dict[str, str], list[dict[str, Cells]]], random: Any) -> None:
    _, (columns,) = data
    encoding = Encoding.fit([columns])
    table = pa.table(columns)
    rows, names = list(range(len(table))), table.column_names
    random.shuffle(rows)
    random.shuffle(names)
    shuffled = table.select(names).take(rows)
    np.testing.assert_array_equal(encoding.transform(shuffled), encoding.transform(table)[rows])


@quick
@given(mixed_tables())
def test_pandas_polars_and_arrow_agree(data: tuple[dict[str, str], list[dict[str, Cells]]]) -> None:
    _, tables = data
    by_library = [
        [make(table) for table in tables] for make in (pa.table, pd.DataFrame, pl.DataFrame, lambda table: table)
    ]
    encodings = [Encoding.fit(library) for library in by_library]
    assert all(encoding == encodings[0] for encoding in encodings)
    rows = [encodings[0].transform(library[0]) for library in by_library]
    for other in rows[1:]:
        np.testing.assert_array_equal(other, rows[0])


ANY_NUMBER = st.floats(-1e18, 1e18) | st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 1e18, -1e18, math.nan])
ANYTHING = {
    "number": ANY_NUMBER,
    "boolean": st.booleans(),
    "text": st.text(st.characters(codec="utf-8"), max_size=5),
    "date": st.datetimes(),
}


@quick
@given(st.data())
def test_extreme_cells_are_encoded_as_finite_numbers_in_their_order(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(list(ANYTHING)), min_size=1, max_size=4))
    train, query = {}, {}
    for j, kind in enumerate(kinds):
        cells = st.lists(st.none() | ANYTHING[kind], min_size=5, max_size=5)
        train[f"c{j}"], query[f"c{j}"] = data.draw(cells), data.draw(cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            encoding = Encoding.fit([train])
            rows = [encoding.transform(train), encoding.transform(query)]
        except InputError:  # random text may be a number to the fit and none later
            assume(False)
    assert np.isfinite(rows).all()
    start = 0
    for encoder in encoding.encoders:
        cells, values = query[encoder.name], rows[1][:, start]
        if encoder.kind == "number" and not isinstance(cells[0], str):
            missing = np.array([cell is None or cell != cell for cell in cells])
            np.testing.assert_array_equal(values[missing], 0)
            order = sorted(np.flatnonzero(~missing), key=cells.__getitem__)
            assert (np.diff(values[order]) >= 0).all()  # a larger number is never encoded as less
        start += len(encoder.attribute_names)


NASTY = ["", "NA", "1", "1.0", "007", " 2 ", "+1", "1e5", "100000", "-0.0", "1e15", "true", "True", "FALSE", "yes"]
NASTY += ["2024-01-31", "2024-02-30", "2024-01-31 12:30", "2024-01-31T12:30:00.5Z", "2024-01-31 12:30+01:00", "12:30"]
NASTY += ["a,b", 'q"q', "new\nline", " pad ", "é", "12345678901234567890x", "None", "a;b", "1,5", "12:30:15"]

NASTY += ["5 mm", "6 mm", "$5", "$1,234.5", "1.234,5", "1,234", "-", "31.12.2024", "1/2/2024", "12/31/24", "no", "12 %"]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.integers(1, 4))
def test_streaming_equals_reading_at_once(data: st.DataObject, chunk_rows: int) -> None:
    n_columns = data.draw(st.integers(1, 4))
    alphabets = [data.draw(st.lists(st.sampled_from(NASTY), min_size=1, max_size=3)) for _ in range(n_columns)]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = [Path(folder) / "a.csv", Path(folder) / "b.csv"]
        for path in paths:  # in the second file, cells may make categories of what are numbers in the first
            columns = {}
            for j, alphabet in enumerate(alphabets):
                cells = st.sampled_from([*alphabet, data.draw(st.sampled_from(NASTY))])
                columns[f"c{j}"] = data.draw(st.lists(cells, min_size=4, max_size=4))
            columns["one"] = ["1", "2", "3", "4"]
            pd.DataFrame(columns).to_csv(path, index=False)
        encoding = Encoding.fit([read_table(path) for path in paths])
        for path in paths:
            whole = encoding.transform(read_table(path))
            chunks = [encoding.transform(chunk) for chunk in stream_table(path, chunk_rows, encoding.stored_kinds)]
            np.testing.assert_array_equal(np.concatenate(chunks), whole)


def test_rare_categories_share_an_attribute() -> None:
    cells = [f"c{i:02}" for i in range(40) for _ in range(40 - i)]
    encoding = Encoding.fit([{"c": cells}])
    assert encoding.attribute_names == (*(f"c=c{i:02}" for i in range(32)), "c other")
    rows = encoding.transform({"c": ["c00", "c39", "unseen", None]})
    assert (rows[0] > 0).tolist() == [True] + [False] * 32
    assert (rows[1] > 0).tolist() == [False] * 32 + [True]
    np.testing.assert_array_equal(rows[1], rows[2])
    assert not rows[3].any()


def test_unseen_category_without_others_is_all_zeros_before_scaling() -> None:
    encoding = Encoding.fit([{"c": ["a", "a", "b", "c"]}])
    half, quarter = -0.5 / 0.5, -0.25 / math.sqrt(3 / 16)
    np.testing.assert_allclose(encoding.transform({"c": ["unseen"]}), [[half, quarter, quarter]], rtol=1e-6)


def test_new_missing_value_is_the_mean() -> None:
    encoding = Encoding.fit([{"n": [1.0, 3.0], "c": ["a", "b"]}])
    rows = encoding.transform({"n": [None, 3.0, math.nan], "c": [None, "a", ""]})
    np.testing.assert_array_equal(rows, [[0, 0, 0], [1, 1, -1], [0, 0, 0]])


def test_the_unit_of_a_constant_column_does_not_matter() -> None:
    encoding = Encoding.fit([{"n": [0.1] * 3, "b": [True] * 3, "c": ["x"] * 3}])
    np.testing.assert_array_equal(encoding.transform({"n": [0.1], "b": [True], "c": ["x"]}), 0)
    np.testing.assert_array_equal(encoding.transform({"n": [1e18], "b": [False], "c": ["y"]}), [[1, -1, -1]])
    for unit in (1e-3, 1.0, 1e3):
        flags = np.array([[0.0, 5.0], [0.0, 6.0]]) * unit
        rows = np.array([[0.0, 5.0], [1.0, 5.0], [-2.0, 5.0], [np.nan, 5.0]]) * unit
        for X, query in ((flags, rows), ({"f": flags[:, 0]}, {"f": rows[:, 0]})):
            np.testing.assert_array_equal(Encoding.fit([X]).transform(query)[:, 0], [0, 1, -1, 0])


def test_deviations_from_a_constant_keep_their_size() -> None:
    for constant in (2.0, -2e-5, 2e9):
        for rows in ([[constant]], [[constant]] * 3):
            query = constant * np.array([[1.0], [1.25], [0.75], [5.0], [-9.0]])
            expected = np.array([[0], [0.5], [-0.5], [1], [-1]]) * np.sign(constant)
            np.testing.assert_allclose(Encoding.fit([np.array(rows)]).transform(query), expected, rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-200, 1e-250, 1e-300])
def test_tiny_numbers_do_not_underflow(factor: float) -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[0, 0] = np.nan
    expected = Encoding.fit([X]).transform(X)
    np.testing.assert_allclose(Encoding.fit([X * factor]).transform(X * factor), expected, rtol=1e-5)


def test_categories_are_the_same_however_stored() -> None:
    encoding = Encoding.fit([{"c": ["1", "2.5", "true", "x"]}])
    alike = [["1", " 1 ", "1.0", "+1"], [1, 1], [1.0], [2.5], [True], ["TRUE"], ["2.50"]]
    expected = ["1", "1", "1", "2.5", "true", "true", "2.5"]
    for cells, value in zip(alike, expected, strict=True):
        for row in encoding.transform({"c": cells}):
            np.testing.assert_array_equal(row, encoding.transform({"c": [value]})[0])


def test_zones_are_points_in_time() -> None:
    encoding = Encoding.fit([{"d": ["2024-01-31 12:00", "2024-02-08 13:00"]}])
    one = encoding.transform({"d": ["2024-01-31 12:00"]})
    berlin = pa.array([datetime.datetime(2024, 1, 31, 12, tzinfo=datetime.UTC)], pa.timestamp("ms", "Europe/Berlin"))
    for same in (["2024-01-31T13:00:00+01:00"], ["2024-01-31T12:00Z"], ["2024-01-31 12:00:00.000000000"], berlin):
        np.testing.assert_array_equal(encoding.transform({"d": same}), one)


def test_statistics_are_those_of_all_tasks_together() -> None:
    encoding = Encoding.fit([np.array([[0.0]]), np.array([[3.0], [3.0]])])
    np.testing.assert_allclose(encoding.transform(np.array([[2.0 + math.sqrt(2)]])), [[1.0]], rtol=1e-6)
