"""The encoder of columns of dates and times."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from oddshot.data.encoding.column_encoder import AttributeArray, ColumnEncoder, FillRows
from oddshot.data.encoding.running import runs_with_rows
from oddshot.data.encoding.scaling import FloatArray, compute_moments, standardise
from oddshot.data.encoding.validation import check_fields, is_bool, is_mean, is_scale
from oddshot.data.tables import parsing
from oddshot.data.tables.columns import CellLocation, arrow_kind, distinct_texts, read_any_numbers, read_timestamps
from oddshot.data.tables.written_dates import (
    UNITS_PER_SECOND,
    DateOrder,
    detect_dates,
    is_date_order,
    seconds_of_numbers,
)
from oddshot.errors import InputError

NOTHING_RECURS = "dates in which nothing recurs, neither hour, weekday nor month (a clock)"

_SECONDS_PER_DAY = 86_400.0
_SECONDS_PER_YEAR = 365 * _SECONDS_PER_DAY
_FIRST_MONDAY = 4 * _SECONDS_PER_DAY  # 1970-01-05
_WEEKDAY_SIN_COS = np.array(
    [(math.sin(2 * math.pi * day / 7), math.cos(2 * math.pi * day / 7)) for day in range(7)], np.float32
)
_MONTH_SIN_COS = np.array(
    [(math.sin(2 * math.pi * month / 12), math.cos(2 * math.pi * month / 12)) for month in range(12)], np.float32
)
_MIN_ROWS = 20  # with fewer rows, dates may be a clock even if they are in no order
_MIN_SECONDS = 1e8  # since 1970; below, numbers such as 20240131 or 45321.5 are dates in other notations
_MAX_SECONDS = 1e11  # numbers above that are milliseconds since 1970


@dataclass(frozen=True)
class DateColumn(ColumnEncoder):
    """Hour, weekday and month as sine and cosine where they recurred in training, and if absolute, scaled seconds.

    order: how dates are written where they are text. Files of earlier versions have no fields from absolute on.
    """

    kind: Literal["date"]
    mean: float
    scale: float
    hour: bool
    weekday: bool
    missing: bool
    absolute: bool = True
    month: bool = False
    order: DateOrder = "iso"

    def __post_init__(self) -> None:
        parts = dict.fromkeys(("hour", "weekday", "missing", "absolute", "month"), is_bool)
        check_fields(self, mean=is_mean, scale=is_scale, order=is_date_order, **parts)

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The scaled timestamp, its hour, weekday and month, and whether it is missing."""
        hour = ("hour sin", "hour cos") * self.hour
        weekday = ("weekday sin", "weekday cos") * self.weekday
        month = ("month sin", "month cos") * self.month
        parts = hour + weekday + month + ("missing",) * self.missing
        return (self.name,) * self.absolute + tuple(f"{self.name} {part}" for part in parts)

    def read(self, column: Any, location: CellLocation) -> FillRows:
        """Return a function that writes the 1 to 8 attributes."""
        timestamps = read_timestamps(column, location, self.order)
        earliest = np.nan_to_num(np.fmin.reduce(timestamps, initial=np.nan))

        def fill(rows: slice, out: AttributeArray) -> None:
            missing = np.isnan(timestamps[rows])
            seconds = np.where(missing, earliest, timestamps[rows])
            if self.absolute:
                standardise(timestamps[rows], self.mean, self.scale, out[:, 0])
            self._fill_recurring(seconds, out[:, self.absolute :])
            if missing.any():
                out[missing] = 0.0
            if self.missing:
                out[:, -1] = missing
            else:
                location.note_missing(missing)

        return fill

    def _fill_recurring(self, seconds: FloatArray, out: AttributeArray) -> None:
        """Write hour, weekday and month to the first columns of out. seconds: [n] since 1970."""
        start = 2 * self.hour
        if self.hour:
            angle = (2 * np.pi * day_fraction(seconds)).astype(np.float32)  # several times faster than float64
            out[:, 0], out[:, 1] = np.sin(angle), np.cos(angle)
        if self.weekday or self.month:
            calendar = self._calendar(np.floor(seconds / _SECONDS_PER_DAY))
            out[:, start : start + calendar.shape[1]] = calendar

    def _calendar(self, days: FloatArray) -> AttributeArray:
        """Return weekday and month, each as sine and cosine: [n] days since 1970 -> [n, 2 or 4]."""
        first, last = days.min(), days.max()
        if last - first < len(days) - 1:  # look each day up: to find its month takes longer
            every_day = self._calendar(np.arange(first, last + 1))
            found: AttributeArray = every_day.take((days - first).astype(np.intp), axis=0)
            return found
        seconds, parts = days * _SECONDS_PER_DAY, []
        if self.weekday:
            parts.append(_WEEKDAY_SIN_COS.take(weekday(seconds).astype(np.intp), axis=0))
        if self.month:
            parts.append(_MONTH_SIN_COS.take(month(seconds), axis=0))
        return np.concatenate(parts, axis=1)

    @property
    def parts(self) -> tuple[str, ...]:
        """What is used of the dates."""
        parts = ("time", self.absolute), ("hour", self.hour), ("weekday", self.weekday), ("month", self.month)
        return tuple(part for part, used in parts if used)

    def describe(self) -> str:
        """Return the name and what is used of the dates."""
        first = {"dmy": ", day first", "mdy": ", month first"}.get(self.order, "")
        return f"{self.name} ({', '.join(self.parts)}{first})"


def fit_dates(
    columns: Sequence[Any], locations: Sequence[CellLocation], order: DateOrder | None = None
) -> DateColumn | str:
    """Fit the encoder of a column of dates, given as the same column of each training table.

    A part is used where the dates cover a whole day, week or year: of less, the rows to score may show another piece.
    Absolute time is used where it does not run with the rows. Where nothing is left, the reason is returned.
    """
    order = order or find_order(columns, locations[0])
    timestamps = _read(columns, locations, order)
    moments = compute_moments([one[:, None] for one in timestamps])
    present = np.concatenate(timestamps)
    present = present[~np.isnan(present)]
    span = float(np.ptp(present))
    is_time_of_day = bool(present.min() >= 0 and present.max() < _SECONDS_PER_DAY)
    runs = len(present) < _MIN_ROWS or runs_with_rows(timestamps)
    encoder = DateColumn(
        name=locations[0].column,
        kind="date",
        mean=float(moments.mean[0]),
        scale=float(moments.scale[0]),
        hour=bool(np.ptp(day_fraction(present)) > 0) and (is_time_of_day or span >= _SECONDS_PER_DAY),
        weekday=bool(np.ptp(weekday(present)) > 0) and span >= 6 * _SECONDS_PER_DAY,
        missing=bool(moments.n_missing[0] > 0),
        absolute=bool(span > 0) and not is_time_of_day and not runs,
        month=span >= 0.9 * _SECONDS_PER_YEAR,
        order=order,
    )
    return encoder if encoder.absolute or encoder.hour or encoder.weekday or encoder.month else NOTHING_RECURS


def fit_clock(columns: Sequence[Any], locations: Sequence[CellLocation]) -> DateColumn:
    """Fit an encoder of absolute time alone: the dates as numbers."""
    order = find_order(columns, locations[0])
    moments = compute_moments([one[:, None] for one in _read(columns, locations, order)])
    mean, scale, missing = float(moments.mean[0]), float(moments.scale[0]), bool(moments.n_missing[0] > 0)
    return DateColumn(locations[0].column, "date", mean, scale, False, False, missing, order=order)


def day_fraction(seconds: FloatArray) -> FloatArray:
    """Return the fraction of the day that has passed, 0 at midnight; seconds: [n] since 1970."""
    return (seconds - _SECONDS_PER_DAY * np.floor(seconds / _SECONDS_PER_DAY)) / _SECONDS_PER_DAY  # faster than %


def weekday(seconds: FloatArray) -> FloatArray:
    """Return 0 for Monday to 6 for Sunday; seconds: [n] since 1970."""
    day: FloatArray = np.floor((seconds - _FIRST_MONDAY) / _SECONDS_PER_DAY)
    week: FloatArray = np.floor(day / 7)
    return day - 7 * week


def month(seconds: FloatArray) -> Any:
    """Return 0 for January to 11 for December; seconds: [n] since 1970."""
    return np.floor(seconds).astype("M8[s]").astype("M8[M]").astype(np.int64) % 12


def find_order(columns: Sequence[Any], location: CellLocation) -> DateOrder:
    """Return how the dates are written, with a warning where the order of day and month is a guess."""
    texts = distinct_texts(columns)
    written = detect_dates(texts) if len(texts) else None
    if written is None:
        numbers = [read_any_numbers(column, location) for column in columns if arrow_kind(column) == "number"]
        if (parsed := parsing.try_parse(texts, parsing.parse_numbers)) is not None:
            numbers.append(np.asarray(parsed, np.float64))
        return _order_of_numbers(np.concatenate(numbers), location) if any(map(len, numbers)) else "iso"
    if written.guessed:
        first = "the day" if written.order == "dmy" else "the month"
        location.warn(f"no date tells whether day or month comes first; {first} is taken to")
    return written.order


def _order_of_numbers(values: FloatArray, location: CellLocation) -> DateOrder:
    """Return how numbers write dates, or seconds since midnight; others are refused. values: [n], NaN allowed."""
    values = values[np.isfinite(values)]
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    is_time_of_day = low >= 0 and high < _SECONDS_PER_DAY and bool((np.trunc(values) == values).all())
    if low > high or is_time_of_day:
        return "seconds"
    for order, n_units in UNITS_PER_SECOND.items():
        if _MIN_SECONDS * n_units <= low and high < _MAX_SECONDS * n_units:
            return order
    if not np.isnan(seconds_of_numbers(values, "number ymd")).any():
        return "number ymd"
    raise InputError(
        f"{location.where}: column {location.column!r}: numbers from {low:.10g} to {high:.10g} are neither seconds nor "
        "milliseconds since 1970; write dates such as 2024-01-31, or use the kind number"
    )


def _read(columns: Sequence[Any], locations: Sequence[CellLocation], order: DateOrder) -> list[FloatArray]:
    return [read_timestamps(column, location, order) for column, location in zip(columns, locations, strict=True)]
