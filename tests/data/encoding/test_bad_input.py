import datetime
import math
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from oddshot.data.encoding import ColumnChoice, Encoding
from oddshot.errors import InputError
from tests.data.encoding.references import KNOWN, Cells


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temp": ["1", "abc"]}, "m1.csv: row 2, column 'temp': 'abc' is not a number"),
        ({"temp": [-2e18, 1.0]}, "m1.csv: row 1, column 'temp': -2e+18 is too large; expected a number within ±1e18"),
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
    with pytest.raises(InputError, match="m2: row 3, column 'a': 1e\\+19 is too large"):
        Encoding.fit([{"a": [1.0], "b": ["x"]}, {"a": [1.0, 2.0, 1e19], "b": ["x"] * 3}], where=["m1", "m2"])
    with pytest.raises(InputError, match="table 2: row 1, column 'x1': -1e\\+19 is too large"):
        Encoding.fit([np.zeros((1, 2)), np.array([[0, -1e19]])])


@pytest.mark.parametrize("temp", [[1.0, math.inf, -math.inf], ["1", "inf", "-inf"]])
def test_infinite_cells_are_missing_with_a_warning(temp: Cells) -> None:
    notice = "m1.csv: row 2, column 'temp': inf is infinite and taken as missing (also row 3: -inf)"
    with pytest.warns(UserWarning, match=f"^{re.escape(notice)}$"):
        encoding = Encoding.fit([{"temp": temp, "b": ["x", "y", "x"]}], ["m1.csv"])
    with pytest.warns(UserWarning, match=f"^{re.escape(notice)}$"):
        encoded = encoding.transform({"temp": temp, "b": ["x", "y", "x"]}, "m1.csv")
    np.testing.assert_array_equal(
        encoded, encoding.transform({"temp": [1.0, math.nan, math.nan], "b": ["x", "y", "x"]})
    )


def test_infinite_cells_alone_are_no_values() -> None:
    with pytest.warns(UserWarning, match="taken as missing"):
        encoding = Encoding.fit([{"a": [math.inf, -math.inf, math.inf], "b": [1.0, 2.0, 5.0]}])
    assert encoding.dropped == {"a": "all values missing"}


def test_infinite_cells_of_arrays_are_refused_whatever_the_choice_of_columns() -> None:
    X = np.array([[1.0, 2.0], [3.0, np.inf]])
    for choice in (None, ColumnChoice.of({"x0": "category"})):
        with pytest.raises(InputError, match="table 1: row 2, column 'x1': inf is too large"):
            Encoding.fit([X], choice=choice)
        with pytest.raises(InputError, match="table: row 2, column 'x1': inf is too large"):
            Encoding.fit([np.eye(2)], choice=choice).transform(X)


def test_rows_may_have_numbers_of_their_own() -> None:
    with pytest.raises(InputError, match=r"^support: row 8, column 'a': 1e\+19"):
        Encoding.fit([{"a": [1.0, 1e19, 2.0]}], ["support"], row_numbers=[np.array([3, 8, 9])])
    with pytest.raises(InputError, match=r"^support: row 8, column 'a': 'x'"):
        Encoding.fit([{"a": [1.0, 3.0]}]).transform({"a": ["1", "x"]}, "support", np.array([3, 8]))


def test_rows_are_counted_from_first_row() -> None:
    encoding = Encoding.fit([KNOWN])
    with pytest.raises(InputError, match="row 101, column 'temp': 'abc'"):
        encoding.transform(KNOWN | {"temp": ["1", "abc"]}, row_numbers=100)
    with pytest.raises(InputError, match="X: row 102, column 'x1': inf is too large"):
        Encoding.fit([np.eye(2)]).transform(np.array([[1, 2], [3, 4], [5, np.inf]]), where="X", row_numbers=100)


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
