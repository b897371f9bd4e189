from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from oddshot.data.encoding import ColumnChoice, Encoding
from oddshot.data.encoding.description import describe_table
from oddshot.data.encoding.running import RUNNING_NUMBER, UNIQUE_KEY, date_order, runs_with_rows, why_left_out
from oddshot.data.tables import as_table
from oddshot.errors import InputError

ROWS = np.arange(100.0)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "tables", "reason"),
    [
        ("x", [ROWS], RUNNING_NUMBER),
        ("x", [5000 - 3 * ROWS], RUNNING_NUMBER),
        ("x", [np.cumsum(RNG.integers(1, 9, 50)).astype(float)], RUNNING_NUMBER),
        ("x", [ROWS[:5]], RUNNING_NUMBER),
        ("x", [ROWS[:4]], None),
        ("x", [np.array([1.0, 4, 9, 16, 25])], None),  # five rows may be sorted by chance
        ("row", [np.array([1.0, 4, 9, 16, 25])], RUNNING_NUMBER),
        ("x", [0.25 * ROWS], RUNNING_NUMBER),
        ("x", [np.sort(RNG.normal(size=50))], None),  # sorted by a measurement
        ("time", [np.sort(RNG.normal(size=50))], RUNNING_NUMBER),
        ("Time", [np.floor(np.sort(RNG.uniform(0, 30, 50)))], RUNNING_NUMBER),  # with ties
        ("x", [np.floor(np.sort(RNG.uniform(0, 30, 50)))], None),
        ("x", [RNG.normal(size=100)], None),
        ("x", [RNG.permutation(ROWS)], UNIQUE_KEY),
        ("x", [RNG.permutation(1000)[:50].astype(float)], None),
        ("customer id", [RNG.permutation(1000)[:50].astype(float)], UNIQUE_KEY),
        ("customerId", [RNG.permutation(1000)[:50].astype(float)], UNIQUE_KEY),
        ("width", [RNG.permutation(1000)[:50].astype(float)], None),
        ("paid", [RNG.permutation(1000)[:50].astype(float)], None),
        ("id", [np.array([1.0, 1, 2, 2] * 10)], None),
        ("x", [ROWS, ROWS], RUNNING_NUMBER),  # each task counts its rows
        ("x", [np.array([40.0, 7, 3, 90, 12, 8]), 100 + ROWS], RUNNING_NUMBER),  # labelled rows in any order
        ("x", [ROWS[:9] ** 2, ROWS[9:10] ** 2, ROWS[:10] ** 2], RUNNING_NUMBER),  # long together only
        ("x", [np.where(ROWS % 2, np.nan, ROWS)], None),
        ("x", [np.array([np.nan])], None),
    ],
)
def test_columns_of_numbers(name: str, tables: list[np.ndarray], reason: str | None) -> None:
    assert why_left_out(name, tables) == reason


def test_seconds_since_1970_have_a_telling_name() -> None:
    seconds = 1_700_000_000 + 60 * ROWS
    assert date_order("timestamp", [seconds]) == "seconds"
    assert date_order("timestamp", [seconds + 0.25]) == "seconds"
    assert date_order("created_at", [1000 * seconds]) == "milliseconds"
    assert date_order("created_at", [1000 * seconds + 0.25]) is None
    assert date_order("ts", [10**6 * seconds]) == "microseconds"
    assert date_order("ts", [10**9 * seconds]) == "nanoseconds"
    assert date_order("price", [seconds]) is None
    assert date_order("timestamp", [ROWS]) is None
    assert date_order("timestamp", [seconds[:1]]) is None


def test_days_written_as_one_number() -> None:
    days = np.array([20231231, 20240229, 20240101, np.nan])
    assert date_order("x", [days]) == "number ymd"
    assert date_order("x", [days[:2]]) is None  # two may be days by chance
    assert date_order("x", [days + 1]) is None  # 30 February
    assert date_order("x", [days - 2e7]) is None
    encoding = Encoding.fit([{"x": days[:3].repeat(10), "y": RNG.normal(size=30)}])
    assert encoding.kinds == {"x": "date", "y": "number"}
    with pytest.raises(InputError, match=r"row 2, column 'x': 20241301.0 is not a date such as 20241231$"):
        encoding.transform({"x": [20240101, 20241301], "y": [0.0, 0.0]})


def test_what_runs_with_the_rows() -> None:
    assert runs_with_rows([ROWS, ROWS])
    assert runs_with_rows([np.array([3.0])])
    assert not runs_with_rows([RNG.permutation(ROWS)])


def table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame({"id": range(50), "x": rng.normal(size=50), "when": pd.date_range("2024-01-01", periods=50)})


def test_keys_are_left_out_of_named_tables_only() -> None:
    with pytest.warns(
        UserWarning, match=r"table 1: left out 'id': a number that runs with the rows \(the kind number keeps"
    ):
        encoding = Encoding.fit([table()])
    assert encoding.kinds == {"x": "number", "when": "date"}
    assert encoding.attribute_names == ("x", "when weekday sin", "when weekday cos")
    array = Encoding.fit([table()[["id", "x"]].to_numpy()])
    assert array.kinds == {"x0": "number", "x1": "number"}


@pytest.mark.parametrize("first", [10**19, 4 * 10**18])
@pytest.mark.parametrize("make", [list, lambda ids: list(map(str, ids)), lambda ids: np.array(ids, np.uint64)])
def test_numbers_of_many_digits_are_identifiers(first: int, make: Callable[[list[int]], Any]) -> None:
    ids = [first + 7 * i**2 % 1001 for i in range(30)]
    columns = {"customer": make(ids), "x": np.random.default_rng(0).normal(size=30)}
    with pytest.warns(
        UserWarning, match=r"table 1: left out 'customer': numbers of 19 digits and more \(an identifier\)$"
    ):
        encoding = Encoding.fit([columns])
    assert encoding.kinds == {"x": "number"}
    with pytest.raises(InputError, match=r"row 1, column 'customer': .* is too large"):
        Encoding.fit([columns], choice=ColumnChoice.of({"customer": "number"}))
    with pytest.raises(InputError, match=r"no column is of use \('customer': numbers of 19 digits"):
        Encoding.fit([{"customer": columns["customer"]}])


def test_a_single_number_of_many_digits_is_no_identifier() -> None:
    with pytest.raises(InputError, match=r"row 3, column 'load': 1e\+19 is too large"):
        Encoding.fit([{"load": [1.0, 2.0, 1e19, 3.0]}])


def test_a_person_decides() -> None:
    kinds = Encoding.fit([table()], choice=ColumnChoice.of({"id": "number", "when": "number"}))
    assert kinds.attribute_names == ("id", "x", "when")
    assert Encoding.fit([table()], choice=ColumnChoice.of(["id", "x"])).attribute_names == ("id", "x")
    ignored = Encoding.fit([table()], choice=ColumnChoice.of({"id": "ignore", "when": "ignore"}))
    assert ignored.dropped == {"id": "ignored as asked", "when": "ignored as asked"}
    assert Encoding.from_dict(ignored.to_dict()) == ignored
    category = Encoding.fit([table()], choice=ColumnChoice.of({"id": "category", "x": "text"}))
    assert category.kinds == {"id": "category", "x": "text", "when": "date"}
    since_1970 = Encoding.fit([{"n": ["1700000000", "1700086400"] * 10}], choice=ColumnChoice.of({"n": "date"}))
    assert since_1970.kinds == {"n": "date"}


def test_a_key_is_better_than_nothing() -> None:
    assert Encoding.fit([{"id": list(range(50))}]).kinds == {"id": "number"}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("id", "columns: expected a list of names, or a dict from names to kinds"),
        ([1], "columns: expected a list of names, each of them text"),
        ({"id": "key"}, "column 'id': kind 'key'; kinds are number, boolean, category, date, interval, text, ignore"),
    ],
)
def test_what_is_no_choice(columns: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ColumnChoice.of(columns)


def test_unknown_names_are_refused() -> None:
    for columns in (["y"], {"y": "ignore"}):
        with pytest.raises(InputError, match="m1: no column 'y'; its columns are 'id', 'x', 'when'"):
            Encoding.fit([table()], ["m1"], ColumnChoice.of(columns))


def test_a_choice_survives_json() -> None:
    for choice in (ColumnChoice(), ColumnChoice(("a", "b"), {"b": "date"})):
        assert ColumnChoice.from_dict(choice.to_dict()) == choice
    for data in (None, {}, {"only": "a", "kinds": {}}, {"only": None, "kinds": []}, {"only": None, "kinds": {"a": 1}}):
        with pytest.raises(InputError):
            ColumnChoice.from_dict(data)


def test_free_text_is_left_out_unless_asked_for() -> None:
    rng = np.random.default_rng(2)
    words = np.array(["pump", "valve", "leaks", "again", "today"])
    cells = [" ".join(rng.choice(words, 5)) + f" {i}" for i in range(50)]
    columns = {"x": rng.normal(size=50), "note": cells}
    with pytest.warns(UserWarning, match="table 1: left out 'note': free text with 50 different values in 50 rows"):
        Encoding.fit([columns])
    encoding = Encoding.fit([columns], choice=ColumnChoice.of({"note": "text"}))
    rows = encoding.transform(columns)
    assert rows.shape == (50, 19)
    np.testing.assert_allclose(rows[:, 1:].mean(axis=0), 0, atol=1e-5)
    length = np.array([len(cell) for cell in cells])
    np.testing.assert_allclose(rows[:, 1], (length - length.mean()) / length.std(), rtol=1e-4, atol=1e-5)
    chunks = [
        encoding.transform({name: values[i : i + 7] for name, values in columns.items()}) for i in range(0, 50, 7)
    ]
    np.testing.assert_array_equal(np.concatenate(chunks), rows)
    assert Encoding.from_dict(encoding.to_dict()) == encoding


def test_a_few_cells_of_text_among_numbers_are_missing() -> None:
    cells = [f"{i * 7919 % 100}.5" for i in range(50)]
    cells[3] = "error"
    with pytest.warns(UserWarning, match="m1: row 4, column 'n': 'error' is not a number and taken as missing"):
        encoding = Encoding.fit([{"n": cells}], ["m1"])
    assert encoding.attribute_names == ("n", "n missing")
    with pytest.warns(
        UserWarning, match=r"new: row 12, column 'n': 'off' is not a number .* missing \(also row 13: 'x'\)"
    ):
        rows = encoding.transform({"n": ["1.5", "off", "x"]}, "new", 11)
    np.testing.assert_array_equal(rows[1:], [[0, 1], [0, 1]])


@pytest.mark.parametrize("numbers", [[45321.5, 45322.25], [20240131, 20240231], [-3.5, 4.0], [1.7e9, 1.7e12]])
@pytest.mark.parametrize("make", [float, str])
def test_numbers_that_are_no_dates_are_refused_in_one_line(numbers: list[float], make: Callable[[float], Any]) -> None:
    with pytest.raises(InputError, match=r"^table 1: column 'n': numbers from .* are neither seconds nor milliseconds"):
        Encoding.fit([{"n": list(map(make, numbers))}], choice=ColumnChoice.of({"n": "date"}))


def test_seconds_since_midnight_and_since_1970_are_dates() -> None:
    in_other_units = [[unit, 1.001 * unit] for unit in (1.7e15, 1.7e18)]
    for numbers in ([0, 3600, 86_399], [1.7e9, 1.7e9 + 3 * 86_400], [1.7e12, 1.7e12 + 3e8 + 1], *in_other_units):
        encoding = Encoding.fit([{"n": numbers * 10}], choice=ColumnChoice.of({"n": "date"}))
        assert encoding.kinds == {"n": "date"}


def test_times_of_day_are_described_without_a_date() -> None:
    times = {
        "s": pa.array(range(0, 86_400, 1800), pa.time32("s")),
        "us": pa.array(range(0, 86_400_000_000, 1_800_000_000), pa.time64("us")),
        "text": [f"{hour:02}:{minute:02}:00" for hour in range(24) for minute in (0, 30)],
    }
    encoding = Encoding.fit([times])
    notes = {column.name: column.note for column in describe_table(as_table(times), encoding)}
    assert notes == dict.fromkeys(times, "00:00:00 to 23:30:00 (hour)")


def test_a_kind_needs_a_column_that_is_used() -> None:
    with pytest.raises(InputError, match="column 'b' has the kind number, but is not among the columns to use"):
        ColumnChoice(("a",), {"b": "number"})
    with pytest.raises(InputError, match="column 'a' is both among the columns to use and ignored"):
        ColumnChoice(("a",), {"a": "ignore"})
    assert ColumnChoice(("a",), {"b": "ignore"}).reason_to_drop("b") == "ignored as asked"
