import copy
import datetime
import json
import math
import tempfile
import warnings
from collections import Counter
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

Cells = list[Any]
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(autouse=True)
def _no_warnings() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# A reference written with loops, from the description alone


def scaled(values: list[float], query: list[float | None]) -> Cells:
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    if min(values) == max(values) or deviation == 0:
        mean, deviation = (values[0] if min(values) == max(values) else mean), 1.0
    return [0.0 if value is None else min(max((value - mean) / deviation, -1e9), 1e9) for value in query]


def seconds(moment: datetime.datetime | None) -> float | None:
    return None if moment is None else (moment - datetime.datetime(1970, 1, 1)) / datetime.timedelta(seconds=1)


def circle(turns: list[float | None]) -> list[Cells]:
    return [[0.0 if turn is None else wave(2 * math.pi * turn) for turn in turns] for wave in (math.sin, math.cos)]


def reference_column(kind: str, train: Cells, query: Cells) -> list[Cells]:
    """The attributes of one column, each a list over the rows of the query."""
    present = [cell for cell in train if cell is not None]
    if kind in ("number", "boolean"):
        columns = [scaled([float(cell) for cell in present], [None if cell is None else float(cell) for cell in query])]
    elif kind == "date":
        columns = [scaled([seconds(cell) or 0.0 for cell in present], [seconds(cell) for cell in query])]
        if len({cell.time() for cell in present}) > 1:
            midnight = [None if cell is None else seconds(cell) or 0.0 for cell in query]
            columns += circle([None if when is None else (when % 86400) / 86400 for when in midnight])
        if len({cell.weekday() for cell in present}) > 1:
            columns += circle([None if cell is None else cell.weekday() / 7 for cell in query])
    else:
        counts = Counter(present)
        ranked = sorted(counts, key=lambda value: (-counts[value], value))
        kept, others = ranked[:32], set(ranked[32:])
        columns = []
        for category in kept:
            hot = [float(cell == category) for cell in present]
            columns.append(scaled(hot, [None if cell is None else float(cell == category) for cell in query]))
        if others:
            hot = [float(cell in others) for cell in present]
            columns.append(scaled(hot, [None if cell is None else float(cell not in kept) for cell in query]))
    if len(present) < len(train):
        columns.append([float(cell is None) for cell in query])
    return columns


def reference(kinds: dict[str, str], tables: list[dict[str, Cells]], query: dict[str, Cells]) -> np.ndarray:
    columns = []
    for name, kind in kinds.items():
        columns += reference_column(kind, [cell for table in tables for cell in table[name]], query[name])
    return np.array(columns).T


# Random mixed tables


WORDS = ["red", "green", "blue", "größe", "x y", "a,b", "-", "yes", "no"]
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "number": st.floats(-1e6, 1e6) | st.integers(-50, 50).map(float) | st.just(7.0),
    "boolean": st.booleans(),
    "category": st.sampled_from(WORDS),
    "date": st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2100, 1, 1)),
}


@st.composite
def mixed_tables(draw: st.DrawFn, n_tables: int = 3) -> tuple[dict[str, str], list[dict[str, Cells]]]:
    """Kinds by column name, and tables of these columns, each with a value in its first row."""
    chosen = draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=5))
    kinds = {f"c{j}": kind for j, kind in enumerate(chosen)}
    tables = []
    for _ in range(n_tables):
        n_rows = draw(st.integers(1, 8))
        table = {}
        for name, kind in kinds.items():
            rest = draw(st.lists(CELLS[kind] | st.none(), min_size=n_rows - 1, max_size=n_rows - 1))
            table[name] = [draw(CELLS[kind]), *rest]
        tables.append(table)
    return kinds, tables


@quick
@given(mixed_tables())
def test_agrees_with_loops(data: tuple[dict[str, str], list[dict[str, Cells]]]) -> None:
    kinds, (*train, query) = data
    encoding = Encoding.fit(train)
    assert encoding.kinds == kinds
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
def test_is_always_finite(data: st.DataObject) -> None:
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


NASTY = ["", "NA", "1", "1.0", "007", " 2 ", "+1", "1e5", "100000", "-0.0", "1e15", "true", "True", "FALSE", "yes"]
NASTY += ["2024-01-31", "2024-02-30", "2024-01-31 12:30", "2024-01-31T12:30:00.5Z", "2024-01-31 12:30+01:00", "12:30"]
NASTY += ["a,b", 'q"q', "new\nline", " pad ", "é", "12345678901234567890x", "None", "a;b", "1,5", "12:30:15"]


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
            chunks = [encoding.transform(chunk) for chunk in stream_table(path, chunk_rows, encoding.kinds)]
            np.testing.assert_array_equal(np.concatenate(chunks), whole)


# What the kinds are


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ([[1, 2], [1.5, 2.5]], "number"),
        ([[1, 2], [None, None]], "number"),
        ([pa.array([1.5, 2]), pa.array([None, None], pa.timestamp("s"))], "number"),
        ([["1", " 2.5", ""], ["NA", "-1e3", None]], "number"),
        ([[1, 2], ["3", "4"]], "number"),
        ([pa.array(["1", "2"]).dictionary_encode(), [3.0]], "number"),
        ([pa.array([100, 250], pa.decimal128(5, 2))], "number"),
        ([pa.array([1, 2], pa.duration("ms"))], "number"),
        ([np.array([1, 2], np.uint64), np.array([1, 2], np.float16)], "number"),
        ([[True, False], [None, True]], "boolean"),
        ([[True, False], [0, 1]], "boolean"),
        ([[True, False], ["false", "TRUE"]], "boolean"),
        ([[True, False], [0, 2]], "category"),
        ([["a", "b"]], "category"),
        ([[1, 2], ["a", "3"]], "category"),
        ([[True], ["yes"]], "category"),
        ([[datetime.date(2024, 1, 31)], [5]], "category"),
        ([pa.array(["x", "y"]).dictionary_encode()], "category"),
        ([pd.Series(["x", "y"], dtype="category")], "category"),
        ([[datetime.date(2024, 1, 31)], [datetime.datetime(2024, 1, 31, 12)]], "date"),
        ([["2024-01-31", "2024-01-31T12:00:00Z", None]], "date"),
        ([[datetime.time(12, 30)], ["12:45"]], "date"),
        ([pa.array([0, 1], pa.timestamp("ns", "Europe/Berlin"))], "date"),
    ],
)
def test_kinds(columns: list[Any], kind: str) -> None:
    tables = [{"c": column} for column in columns]
    encoding = Encoding.fit(tables)
    assert encoding.kinds == {"c": kind}
    for table in tables:
        assert np.isfinite(encoding.transform(table)).all()


def test_what_is_dropped_and_why() -> None:
    names = [f"name {i}" for i in range(10_000)]
    names[:189] = ["name 1000"] * 189
    table = pa.table(
        {"id": names, "none": [None] * 10_000, "list": [[1.0]] * 10_000, "x": range(10_000), "nan": [math.nan] * 10_000}
    )
    encoding = Encoding.fit([table])
    assert dict(encoding.dropped) == {
        "id": "text with 9,811 different values in 10,000 rows (an identifier?)",
        "none": "all values missing",
        "list": "list<item: double> values",
        "nan": "all values missing",
    }
    assert encoding.columns == ("id", "none", "list", "x", "nan")
    assert encoding.describe()[0] == "1 number: x"
    assert "dropped none: all values missing" in encoding.describe()
    assert encoding.transform(table.select(["x"])).shape == (10_000, 1)  # what was dropped need not be there


def test_no_column_of_use() -> None:
    with pytest.raises(InputError, match=r"m1: no column is of use \('a': all values missing\)"):
        Encoding.fit([{"a": [None, None]}], where=["m1"])
    with pytest.raises(InputError, match="no table"):
        Encoding.fit([])
    with pytest.raises(InputError, match="no column is of use"):
        Encoding.fit([np.zeros((0, 3))])


def test_a_cell_of_text_among_numbers_is_told() -> None:
    tables = [{"temp": [1, 2] * 10}, {"temp": ["1", "3", "1", "abc", "def"]}]
    told = "m2: row 4, column 'temp': 'abc' is not a number, so the column is taken as text"
    with pytest.warns(UserWarning, match=told):
        encoding = Encoding.fit(tables, where=["m1", "m2"])
    assert encoding.kinds == {"temp": "category"}


def test_describe() -> None:
    table = {
        "temp": [1.5, 2.5],
        "load": [1, 2],
        "on": [True, False],
        "colour": ["red", "blue"],
        "when": [datetime.date(2024, 1, 31), None],
        "note": [None, None],
    }
    assert Encoding.fit([table]).describe() == [
        "2 numbers: temp, load",
        "1 boolean: on",
        "1 category: colour (2)",
        "1 date: when",
        "dropped note: all values missing",
    ]


def test_names_of_attributes() -> None:
    table = {
        "temp": [1.5, None],
        "colour": ["red", "blue"],
        "when": ["2024-01-31 12:00", "2024-02-01 13:00"],
        "day": ["2024-01-01", "2024-01-08"],
    }
    assert Encoding.fit([table]).attribute_names == (
        *("temp", "temp missing", "colour=blue", "colour=red"),
        *("when", "when hour sin", "when hour cos", "when weekday sin", "when weekday cos", "day"),
    )


# Single rules


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


def test_constant_columns_work() -> None:
    encoding = Encoding.fit([{"n": [0.1] * 3, "b": [True] * 3, "c": ["x"] * 3, "d": ["2024-01-31"] * 3}])
    np.testing.assert_array_equal(encoding.transform({"n": [0.1], "b": [True], "c": ["x"], "d": ["2024-01-31"]}), 0)
    assert np.isfinite(encoding.transform({"n": [1e18], "b": [False], "c": ["y"], "d": ["2024-02-01"]})).all()


def test_categories_are_the_same_however_stored() -> None:
    encoding = Encoding.fit([{"c": ["1", "2.5", "true", "x"]}])
    alike = [["1", " 1 ", "1.0", "+1"], [1, 1], [1.0], [2.5], [True], ["TRUE"], ["2.50"]]
    expected = ["1", "1", "1", "2.5", "true", "true", "2.5"]
    for cells, value in zip(alike, expected, strict=True):
        for row in encoding.transform({"c": cells}):
            np.testing.assert_array_equal(row, encoding.transform({"c": [value]})[0])


def test_zones_are_points_in_time() -> None:
    encoding = Encoding.fit([{"d": ["2024-01-31 12:00", "2024-02-01 13:00"]}])
    one = encoding.transform({"d": ["2024-01-31 12:00"]})
    berlin = pa.array([datetime.datetime(2024, 1, 31, 12, tzinfo=datetime.UTC)], pa.timestamp("ms", "Europe/Berlin"))
    for same in (["2024-01-31T13:00:00+01:00"], ["2024-01-31T12:00Z"], ["2024-01-31 12:00:00.000000000"], berlin):
        np.testing.assert_array_equal(encoding.transform({"d": same}), one)


def test_statistics_are_those_of_all_tasks_together() -> None:
    encoding = Encoding.fit([np.array([[0.0]]), np.array([[3.0], [3.0]])])
    np.testing.assert_allclose(encoding.transform(np.array([[2.0 + math.sqrt(2)]])), [[1.0]], rtol=1e-6)


# Arrays


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_arrays_and_tables_agree(dtype: type) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 99, (n, 4)).astype(dtype) for n in (5, 7)]
    if dtype in (np.float64, np.float32):
        arrays[0][2, 1] = np.nan
    tables = [pa.table({f"x{j}": array[:, j] for j in range(4)}) for array in arrays]
    by_array, by_table = Encoding.fit(arrays), Encoding.fit(tables)
    assert by_array.columns == by_table.columns == ("x0", "x1", "x2", "x3")
    assert by_array.attribute_names == by_table.attribute_names
    for array, table in zip(arrays, tables, strict=True):
        expected = by_table.transform(table)
        for encoding in (by_array, by_table):
            for X in (array, table, array.tolist(), np.asfortranarray(array), array.astype(object)):
                np.testing.assert_allclose(encoding.transform(X), expected, rtol=1e-6, atol=1e-6)


def test_array_for_named_columns_is_taken_in_order() -> None:
    encoding = Encoding.fit([{"b": [1.0, 2.0], "none": [None, None], "a": [3.0, 5.0]}])
    np.testing.assert_array_equal(encoding.transform(np.array([[1, 9, 5.0]])), [[-1, 1]])
    mixed = Encoding.fit([{"b": [1.0, 2.0], "c": ["x", "y"]}])
    np.testing.assert_array_equal(mixed.transform(np.array([[1, "x"]], object)), [[-1, 1, -1]])


def test_transform_leaves_its_input_alone() -> None:
    X = np.array([[1.0, np.nan], [2.0, 5.0]])
    before = X.copy()
    encoding = Encoding.fit([X])
    encoding.transform(X)
    np.testing.assert_array_equal(X, before)


def test_no_rows() -> None:
    encoding = Encoding.fit([{"n": [1.0, 2.0], "c": ["x", "y"], "d": ["2024-01-31", "2024-02-01"]}])
    assert encoding.transform(pa.table({"n": [], "c": [], "d": []})).shape == (0, encoding.n_attributes)


# Bad input


KNOWN = {"temp": [1.0, 2.0], "on": [True, False], "when": ["2024-01-31", "2024-02-01"], "colour": ["red", "blue"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temp": ["1", "abc"]}, "m1.csv: row 2, column 'temp': 'abc' is not a number"),
        ({"temp": [1.0, math.inf]}, "m1.csv: row 2, column 'temp': inf is too large; expected a number within ±1e18"),
        ({"temp": [-2e18, 1.0]}, "m1.csv: row 1, column 'temp': -2e+18 is too large; expected a number within ±1e18"),
        ({"temp": ["1", "-inf"]}, "m1.csv: row 2, column 'temp': -inf is too large; expected a number within ±1e18"),
        ({"temp": [1, 2**62]}, "m1.csv: row 2, column 'temp': 4.6116860184273"),
        (
            {"temp": [datetime.date(2024, 1, 31)] * 2},
            "m1.csv: column 'temp' holds date32[day] values, expected a number",
        ),
        ({"on": ["true", "maybe"]}, "m1.csv: row 2, column 'on': 'maybe' is not true or false"),
        ({"on": [0, 2]}, "m1.csv: row 2, column 'on': 2.0 is not true or false"),
        ({"when": ["2024-13-31", ""]}, "m1.csv: row 1, column 'when': '2024-13-31' is not a date or time such as "),
        ({"when": [1.0, 2.0]}, "m1.csv: column 'when' holds double values, expected a date or time such as "),
        ({"colour": [[1], [2]]}, "m1.csv: column 'colour' holds list<item: int64> values, expected text"),
        ({"temp": ["x" * 200] * 2}, "m1.csv: row 1, column 'temp': 'xxxxxxxx"),
    ],
)
def test_bad_cells(change: dict[str, Cells], message: str) -> None:
    encoding = Encoding.fit([KNOWN])
    with pytest.raises(InputError) as caught:
        encoding.transform(KNOWN | change, where="m1.csv")
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 200


def test_bad_cells_in_training() -> None:
    with pytest.raises(InputError, match="m2: row 3, column 'a': inf is too large"):
        Encoding.fit([{"a": [1.0], "b": ["x"]}, {"a": [1.0, 2.0, math.inf], "b": ["x"] * 3}], where=["m1", "m2"])
    with pytest.raises(InputError, match="table 2: row 1, column 'x1': -1e\\+19 is too large"):
        Encoding.fit([np.zeros((1, 2)), np.array([[0, -1e19]])])


def test_rows_are_counted_from_first_row() -> None:
    encoding = Encoding.fit([KNOWN])
    with pytest.raises(InputError, match="row 101, column 'temp': 'abc'"):
        encoding.transform(KNOWN | {"temp": ["1", "abc"]}, first_row=100)
    with pytest.raises(InputError, match="X: row 102, column 'x1': inf is too large"):
        Encoding.fit([np.eye(2)]).transform(np.array([[1, 2], [3, 4], [5, np.inf]]), where="X", first_row=100)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("on", "when", "colour"), "m1.csv: column 'temp' is missing"),
        (("Temp", "on", "when", "colour"), "m1.csv: column 'temp' is missing (renamed to 'Temp'?)"),
        (("a", "b", "when", "colour"), "m1.csv: column 'temp' is missing"),
    ],
)
def test_missing_column(columns: tuple[str, ...], message: str) -> None:
    encoding = Encoding.fit([KNOWN])
    with pytest.raises(InputError) as caught:
        encoding.transform({name: KNOWN.get(name, [1, 2]) for name in columns}, where="m1.csv")
    assert str(caught.value) == message


def test_missing_column_in_training() -> None:
    with pytest.raises(InputError, match=r"m2: column 'b' is missing \(renamed to 'c'\?\)"):
        Encoding.fit([{"a": [1], "b": [2]}, {"c": [1], "a": [2]}], where=["m1", "m2"])


def test_extra_columns_are_ignored_with_one_notice() -> None:
    encoding = Encoding.fit([KNOWN])
    with pytest.warns(UserWarning, match="m1.csv: ignored unknown columns: 'x', 'y'") as caught:
        rows = encoding.transform({"x": [1, 2], **KNOWN, "y": [1, 2]}, where="m1.csv")
    assert len(caught) == 1
    np.testing.assert_array_equal(rows, encoding.transform(KNOWN))


@pytest.mark.parametrize("train", [np.zeros((2, 5)), {f"c{j}": ["x", "y"] for j in range(5)}])
@pytest.mark.parametrize("X", [np.zeros((2, 4)), [[0, 0, 0, 0]], np.zeros((2, 4), object)])
def test_wrong_width(train: Any, X: Any) -> None:
    with pytest.raises(InputError, match=r"^X has 4 columns, the model was trained on 5$"):
        Encoding.fit([train]).transform(X, where="X")


def test_named_table_for_an_array_needs_its_names() -> None:
    encoding = Encoding.fit([np.eye(2)])
    assert encoding.transform(pa.table({"x1": [1.0], "x0": [0.0]})).tolist() == [[-1.0, 1.0]]
    with pytest.raises(InputError, match="column 'x1' is missing"):
        encoding.transform(pa.table({"a": [1.0], "x0": [0.0]}))


def test_widths_in_training() -> None:
    with pytest.raises(InputError, match="m2 has 3 columns, the model was trained on 2"):
        Encoding.fit([np.eye(2), np.eye(3)], where=["m1", "m2"])


# Hostile model files


def good() -> dict[str, Any]:
    table = {**KNOWN, "gaps": [1.0, None], "none": [None, None]}
    return json.loads(json.dumps(Encoding.fit([table]).to_dict()))  # type: ignore[no-any-return]


def test_the_good_one_loads() -> None:
    assert Encoding.from_dict(good()).n_attributes == 9


WRONG: list[tuple[tuple[Any, ...], Any]] = [
    ((), None),
    ((), []),
    (("more",), 1),
    (("columns",), "temp"),
    (("columns",), ["temp"]),
    (("columns", 0), 1),
    (("columns", 0), "on"),
    (("encoders",), []),
    (("encoders",), {}),
    (("encoders", 0), None),
    (("encoders", 0, "kind"), "pickle"),
    (("encoders", 0, "kind"), "date"),
    (("encoders", 0, "kind"), ["number"]),
    (("encoders", 0, "name"), "other"),
    (("encoders", 0, "name"), 5),
    (("encoders", 0, "mean"), "0"),
    (("encoders", 0, "mean"), math.nan),
    (("encoders", 0, "mean"), 1e19),
    (("encoders", 0, "mean"), True),
    (("encoders", 0, "mean"), [0.0]),
    (("encoders", 0, "scale"), 0.0),
    (("encoders", 0, "scale"), -1.0),
    (("encoders", 0, "scale"), math.inf),
    (("encoders", 0, "missing"), 1),
    (("encoders", 0, "more"), 1),
    (("encoders", 2, "hour"), None),
    (("encoders", 2, "weekday"), "yes"),
    (("encoders", 3, "categories"), []),
    (("encoders", 3, "categories"), ["red", "red"]),
    (("encoders", 3, "categories"), ["red", 1]),
    (("encoders", 3, "categories"), "rb"),
    (("encoders", 3, "categories"), [str(i) for i in range(33)]),
    (("encoders", 3, "other"), True),
    (("encoders", 3, "other"), "no"),
    (("encoders", 3, "shares"), [0.5]),
    (("encoders", 3, "shares"), [0.5, 0.0]),
    (("encoders", 3, "shares"), [0.5, math.nan]),
    (("encoders", 3, "shares"), [0.5, 2.0]),
    (("dropped",), {}),
    (("dropped",), ["none"]),
    (("dropped",), {"none": 1}),
    (("dropped",), {"none": "x", "temp": "y"}),
    (("dropped",), {"none": "x", "more": "y"}),
]


@pytest.mark.parametrize(("path", "value"), WRONG)
def test_hostile_fields_are_refused(path: tuple[Any, ...], value: Any) -> None:
    data: Any = good()
    if path:
        inner = data
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = copy.deepcopy(value)
    else:
        data = value
    with pytest.raises(InputError, match=r"^encoding") as caught:
        Encoding.from_dict(data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["columns", "encoders", "dropped"])
def test_absent_fields_are_refused(key: str) -> None:
    data = good()
    del data[key]
    with pytest.raises(InputError, match=r"^encoding"):
        Encoding.from_dict(data)
    for field in good()["encoders"][3]:
        data = good()
        del data["encoders"][3][field]
        with pytest.raises(InputError, match=r"^encoding"):
            Encoding.from_dict(data)
