"""The time since the row before, as a kind of column."""

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from oddshot.data.encoding import ColumnChoice, Encoding
from oddshot.data.encoding.description import describe_table
from oddshot.data.encoding.interval_column import pair_with_row_before
from oddshot.data.tables import as_table
from oddshot.errors import InputError

CHOICE = ColumnChoice.of({"when": "interval"})
SECONDS = np.array([0, 60, 180, 181, 3600, 90_000])
EXPECTED = np.array([np.nan, 60, 120, 1, 3419, 86_400])


def scaled(intervals: Any) -> Any:
    """As numbers are scaled, 0 where there is no row before."""
    return Encoding.fit([{"n": EXPECTED[1:]}], choice=ColumnChoice.of(["n"])).transform({"n": intervals})[:, :1]


def stamps() -> Any:
    return pd.Series(pd.Timestamp("2024-01-31 08:00") + pd.to_timedelta(SECONDS, unit="s"))


@pytest.mark.parametrize(
    "when",
    [
        stamps(),
        stamps().dt.strftime("%Y-%m-%d %H:%M:%S"),
        stamps().dt.strftime("%d.%m.%Y %H:%M:%S"),
        stamps().dt.strftime("%Y-%m-%d %H:%M:%S").astype("category"),
        1_700_000_000 + SECONDS,
        1000 * (1_700_000_000 + SECONDS),
        [str(1_700_000_000 + second) for second in SECONDS],
    ],
    ids=["timestamps", "text", "day first", "categories", "seconds", "milliseconds", "seconds as text"],
)
def test_the_time_since_the_row_before_is_a_number(when: Any) -> None:
    encoding = Encoding.fit([{"when": when}], choice=CHOICE)
    assert encoding.kinds == {"when": "interval"}
    assert encoding.attribute_names == ("when interval",)
    np.testing.assert_allclose(encoding.transform({"when": when}), scaled(EXPECTED), rtol=1e-6)
    assert Encoding.from_dict(encoding.to_dict()) == encoding


def test_a_missing_date_is_missing_in_its_row_and_unknown_in_the_next() -> None:
    when = stamps().where(np.arange(6) != 2)
    encoding = Encoding.fit([{"when": when}], choice=CHOICE)
    encoded = encoding.transform({"when": when})
    np.testing.assert_array_equal(encoded[:, 1], [0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(encoded[[0, 2, 3], 0], 0)


def test_equal_intervals_have_no_scale() -> None:
    encoding = Encoding.fit([{"when": pd.date_range("2024-01-01", periods=9, freq="h")}], choice=CHOICE)
    later = pd.to_datetime(["2024-03-01 00:00", "2024-03-01 01:00", "2024-03-01 06:00"])
    np.testing.assert_array_equal(encoding.transform({"when": later}), [[0], [0], [1]])


def test_blocks_follow_each_other() -> None:
    table, last = as_table({"when": stamps(), "a": SECONDS}), dict[str, Any]()
    encoding = Encoding.fit([table], choice=CHOICE)
    blocks = [pair_with_row_before(table.slice(top, 2), ["when"], last) for top in (0, 2, 4)]
    blocks.insert(1, pair_with_row_before(table.slice(0, 0), ["when"], last))
    encoded = np.concatenate([encoding.transform(block) for block in blocks])
    np.testing.assert_array_equal(encoded, encoding.transform(table))
    paired = pair_with_row_before(table, ["when"])
    assert pair_with_row_before(paired, ["when"]) is paired
    np.testing.assert_array_equal(encoding.transform(paired.take([5, 1])), encoding.transform(table)[[5, 1]])


def test_what_is_of_no_use_or_no_date() -> None:
    for when, reason in (
        (pa.nulls(3), "all values missing"),
        (pa.array([[1]] * 3), "list<item: int64> values"),
        (["2024-01-31", None, "2024-02-01"], "dates of which none has one in the row before"),
    ):
        told = reason != "all values missing"
        with pytest.warns(UserWarning, match=f"left out 'when': {reason}") if told else nullcontext():
            encoding = Encoding.fit([{"when": when, "a": [1.0, 2.0, 4.0]}], choice=CHOICE)
        assert encoding.dropped == {"when": reason}
    with pytest.raises(InputError, match="row 2, column 'when': 'x' is not a date or time such as"):
        Encoding.fit([{"when": ["2024-01-31", "x"]}], choice=CHOICE)
    encoding = Encoding.fit([{"when": stamps()}], choice=CHOICE)
    with pytest.raises(InputError, match="row 3, column 'when': 'x' is not a date"):
        encoding.transform({"when": ["2024-01-31", "", "x"]})


def test_intervals_are_described() -> None:
    table = as_table({"when": stamps().where(np.arange(6) != 5)})
    (described,) = describe_table(table, Encoding.fit([table], choice=CHOICE))
    assert (described.kind, described.n_missing) == ("interval", 1)
    assert described.note == "1 to 3419, median 90, in seconds since the row before"


def test_infinite_cells_are_counted_once() -> None:
    when = [1.7e9, 1.7e9 + 60, math.inf, 1.7e9 + 200, 1.7e9 + 300]
    with pytest.warns(UserWarning, match="inf is infinite and taken as missing$"):
        Encoding.fit([{"when": when}], choice=CHOICE)
