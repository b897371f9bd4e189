import datetime
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from oddshot.data.encoding import ColumnChoice, Encoding
from oddshot.data.encoding.column_encoder import ColumnEncoder, FillRows
from oddshot.data.encoding.kinds import KINDS, ColumnKind
from oddshot.data.tables import as_table, read_table, stream_table
from oddshot.data.tables.categories import canonical_text
from oddshot.data.tables.columns import CellLocation
from oddshot.errors import InputError


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
        ([[True], ["no"]], "boolean"),
        ([[True], ["maybe"]], "category"),
        ([["yes", "no"]], "category"),  # too few rows to know that there is no third word
        ([["yes", "No"] * 10], "boolean"),
        ([["ja", "nein"] * 10, ["-", "ja"]], "boolean"),
        ([["yes", "no", "maybe"] * 10], "category"),
        ([["$1,234.50", "$5"], ["0", "-"]], "number"),
        ([["1.234,50 €", "3,5 €"]], "number"),
        ([["12 %", "7 %"]], "number"),
        ([["12 %", "7 mm"]], "category"),
        ([["A1", "A2"]], "category"),
        ([[1.5, 2.5], ["1,5", "2"]], "category"),
        ([[1.5, 2.5], ["1,234.5", "2"]], "number"),
        ([[datetime.date(2024, 1, 31)], ["31.12.2024"]], "category"),
        ([["31.12.2024", "1.2.2024"]], "date"),
        ([["12/31/24 5:30 PM", "1/2/24 6:00 AM"]], "date"),
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
    if kind == "date":
        return
    values = np.concatenate([encoding.transform(table)[:, 0] for table in tables])
    n_present = sum(cell not in (None, "", "NA", "-") for table in tables for cell in as_table(table)["c"].to_pylist())
    np.testing.assert_allclose(values.sum(), 0, atol=1e-4)  # standardised over all tables together
    np.testing.assert_allclose((values**2).sum(), n_present, rtol=1e-5, atol=1e-5)


def test_what_is_dropped_and_why() -> None:
    names = [f"name {i}" for i in range(10_000)]
    names[:189] = ["name 1000"] * 189
    table = pa.table(
        {
            "id": names,
            "none": [None] * 10_000,
            "list": [[1.0]] * 10_000,
            "x": [1, 2] * 5_000,
            "nan": [math.nan] * 10_000,
        }
    )
    told = r"^table 1: left out 'id': text with .* \(an identifier\?\); 'list': list<item: double> values$"
    with pytest.warns(UserWarning, match=told):
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


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (
            [f"{i}.5{('%', ' mm')[i % 2]}" for i in range(60)],
            r"numbers written in several ways, such as '0.5%' and '1.5 mm'",
        ),
        ([f"{i}.5" if i % 4 else "low" for i in range(60)], r"numbers beside other text, such as 'low' \(leave such"),
        ([f"10.0.0.{i}" for i in range(60)], r"text with 60 different values in 60 rows \(an identifier\?\)"),
    ],
)
def test_the_reason_says_what_to_change_about_numbers(cells: list[str], reason: str) -> None:
    with pytest.warns(UserWarning, match=f"left out 'n': {reason}"):
        Encoding.fit([{"n": cells, "x": range(0, 120, 2)}], choice=ColumnChoice.of({"x": "number"}))


def test_hexadecimal_numbers_are_codes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("error,x\n" + "".join(f"{(0x1F, 7, 0x3B)[i % 3]:#x},{i * i % 17}\n" for i in range(30)))
    encoding = Encoding.fit([read_table(path)])
    assert encoding.kinds == {"error": "category", "x": "number"}
    (chunk,) = stream_table(path, kinds=encoding.stored_kinds)
    np.testing.assert_array_equal(encoding.transform(chunk), encoding.transform(read_table(path)))


def test_detection_limits_are_read_as_numbers_and_said() -> None:
    cells = ["<0.5" if i % 3 == 0 else f"{0.5 + i / 7:.2f}" for i in range(30)]
    with pytest.warns(UserWarning, match=r"column 'lead': cells such as '<0\.5' are taken as the number alone"):
        encoding = Encoding.fit([{"lead": cells}])
    assert encoding.kinds == {"lead": "number"}
    np.testing.assert_array_equal(encoding.transform({"lead": ["<0.5"]}), encoding.transform({"lead": ["0.5"]}))


def test_no_column_of_use() -> None:
    with pytest.raises(InputError, match=r"m1: no column is of use \('a': all values missing\)"):
        Encoding.fit([{"a": [None, None]}], where=["m1"])
    with pytest.raises(InputError, match="no table"):
        Encoding.fit([])
    with pytest.raises(InputError, match="no column is of use"):
        Encoding.fit([np.zeros((0, 3))])


def test_a_warning_names_the_text_among_numbers() -> None:
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
        "when": [datetime.date(2024, 1, 31), datetime.date(2024, 2, 9)],
        "note": [None, None],
    }
    assert Encoding.fit([table]).describe() == [
        "2 numbers: temp, load",
        "1 boolean: on",
        "1 category: colour (2)",
        "1 date: when (weekday)",
        "dropped note: all values missing",
    ]


def test_names_of_attributes() -> None:
    table = {
        "temp": [1.5, None],
        "colour": ["red", "blue"],
        "when": ["2024-01-31 12:00", "2024-02-09 13:00"],
        "day": ["2024-01-01", "2024-12-31"],
    }
    assert Encoding.fit([table]).attribute_names == (
        *("temp", "temp missing", "colour=blue", "colour=red"),
        *("when hour sin", "when hour cos", "when weekday sin", "when weekday cos"),
        *("day weekday sin", "day weekday cos", "day month sin", "day month cos"),
    )


@dataclass(frozen=True)
class SwitchColumn(ColumnEncoder):
    """The words on and off as 1 and -1."""

    @property
    def attribute_names(self) -> tuple[str, ...]:
        return (self.name,)

    def read(self, column: Any, location: CellLocation) -> FillRows:
        values = np.array([{"on": 1.0, "off": -1.0}.get(cell, 0.0) for cell in column.to_pylist()])

        def fill(rows: slice, out: np.ndarray) -> None:
            out[:, 0] = values[rows]

        return fill


def parse_switches(text: Any) -> Any:
    if not pc.all(pc.is_in(text, value_set=pa.array(["on", "off"], text.type)), min_count=0).as_py():
        raise pa.ArrowInvalid("neither on nor off")
    return text


def test_a_kind_is_added_by_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(columns: Any, locations: Any) -> SwitchColumn:
        return SwitchColumn(locations[0].column, "switch")

    monkeypatch.setitem(KINDS, "switch", ColumnKind("switch", "switches", SwitchColumn, fit, (), parse_switches, True))
    (tmp_path / "a.csv").write_text("pump,valve\non,on\noff,shut\n")
    encoding = Encoding.fit([read_table(tmp_path / "a.csv")])
    assert encoding.kinds == {"pump": "switch", "valve": "category"}
    assert encoding.describe() == ["1 category: valve (2)", "1 switch: pump"]
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding
    (chunk,) = stream_table(tmp_path / "a.csv", kinds=encoding.kinds)
    np.testing.assert_array_equal(encoding.transform(chunk)[:, 0], [1, -1])


def test_dates_of_a_dictionary_are_categories_as_dates_are() -> None:
    dates = pa.array([0, 86_400_000_000, None], pa.timestamp("us"))
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), dates)
    assert canonical_text(encoded).to_pylist() == canonical_text(dates.take(pa.array([0, 1, 0]))).to_pylist()
