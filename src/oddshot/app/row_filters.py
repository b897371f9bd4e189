"""Rows that have some values, numbers, dates or text in a column."""

import re
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.app.column_values import BOOLEAN_TEXTS, ColumnValues
from oddshot.app.row_query import DateFilter, RangeFilter, ValueFilter
from oddshot.data.tables.columns import arrow_kind, timestamps_to_seconds
from oddshot.errors import InputError

_NUMBER = re.compile(r"-?\d+(?:\.(\d*))?")
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([ T]\d\d(:\d\d(:\d\d)?)?)?)?)?")
_EPOCH = datetime(1970, 1, 1)
_ROUNDING = 1e-7  # of a number that is stored as float32

BoolArray = NDArray[np.bool_]


def find_values(values: ColumnValues, wanted: ValueFilter | RangeFilter | DateFilter) -> BoolArray:
    """Whether each row of a column passes a filter: [n]."""
    numbers = values.numbers
    if isinstance(wanted, ValueFilter):
        names = [value for value in wanted.values if value is not None]
        is_missing = np.isnan(numbers) if len(names) < len(wanted.values) else np.zeros(len(numbers), bool)
        return is_missing | _find_names(values, wanted.column, names) if names else is_missing
    if isinstance(wanted, RangeFilter):
        _check_kind(values, wanted.column, "number", "a range")
        return _find_range(numbers, wanted.low, wanted.high)
    _check_kind(values, wanted.column, "date", "a time span")
    first = None if wanted.first is None else _seconds(wanted.first)
    if wanted.last is None or isinstance(wanted.last, datetime):
        return _find_range(numbers, first, None if wanted.last is None else _seconds(wanted.last))
    return _find_range(numbers, first, None) & (numbers < _seconds(wanted.last + timedelta(days=1)))


def find_text(column: Any, text: str) -> BoolArray:
    """Whether each cell of an Arrow column has a text in it, in any case: [n].

    Among numbers, a number finds those that begin with it, 12.3 also 12.34; among dates, a date finds those in that
    year, month, day, hour or minute.
    """
    kind = arrow_kind(column)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if kind == "text" or pa.types.is_time(column.type):
        matches = pc.match_substring(column.cast(pa.string()), text, ignore_case=True)
        return np.asarray(matches.fill_null(False))
    if kind == "number" and (number := _NUMBER.fullmatch(text)):
        return _find_beginning(column, text, len(number[1] or ""))
    if kind == "date" and _DATE.fullmatch(text):
        return _find_date(timestamps_to_seconds(column), text)
    if kind == "boolean":
        matching = [name == "true" for name in BOOLEAN_TEXTS if text.lower() in name]
        return np.asarray(pc.is_in(column, value_set=pa.array(matching, pa.bool_())))
    return np.zeros(len(column), bool)


def _find_names(values: ColumnValues, column: str, names: list[str]) -> BoolArray:
    if values.texts is None:
        raise InputError(f"column {column!r} holds {values.kind}s; expected a filter by range, or by a missing value")
    places = pc.index_in(pa.array(names), value_set=values.texts).drop_null()
    return np.isin(values.numbers, np.asarray(places))


def _check_kind(values: ColumnValues, column: str, kind: str, filter_name: str) -> None:
    if values.kind != kind:
        raise InputError(f"column {column!r} holds no {kind}s, so it cannot be filtered by {filter_name}")


def _find_range(numbers: Any, low: float | None, high: float | None) -> BoolArray:
    is_inside: BoolArray = ~np.isnan(numbers)
    if low is not None:
        is_inside &= numbers >= low
    if high is not None:
        is_inside &= numbers <= high
    return is_inside


def _seconds(moment: date) -> float:
    """Seconds since 1970 of a date or a time in UTC."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    offset = moment.utcoffset()
    return (moment.replace(tzinfo=None) - _EPOCH).total_seconds() - (offset.total_seconds() if offset else 0.0)


def _find_beginning(column: Any, text: str, n_decimals: int) -> BoolArray:
    """Whether the numbers of a column are as written up to the last decimal of `text`."""
    if pa.types.is_duration(column.type):
        return np.zeros(len(column), bool)
    numbers = np.asarray(column.cast(pa.float64(), safe=False))
    start, unit = abs(float(text)), 10.0**-n_decimals
    size = -numbers if text.startswith("-") else numbers
    slack = _ROUNDING * max(start, unit)
    found: BoolArray = (size >= start - slack) & (size < start + unit - slack)
    return found


def _find_date(seconds: Any, text: str) -> BoolArray:
    try:
        first = np.datetime64(text.replace(" ", "T"))
    except ValueError:  # the 45th of a month
        return np.zeros(len(seconds), bool)
    start, end = (moment.astype("M8[s]").astype(np.int64) for moment in (first, first + 1))
    found: BoolArray = (seconds >= start) & (seconds < end)
    return found
