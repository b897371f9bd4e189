"""The encoder of columns of dates and times."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from oddshot.data.encoding.column_encoder import AttributeArray, ColumnEncoder, FillRows
from oddshot.data.encoding.scaling import FloatArray, compute_moments, standardise
from oddshot.data.encoding.validation import check_fields, is_bool, is_mean, is_scale
from oddshot.data.tables.columns import CellLocation, read_timestamps

_SECONDS_PER_DAY = 86_400.0
_FIRST_MONDAY = 4 * _SECONDS_PER_DAY  # 1970-01-05
_WEEKDAY_SIN_COS = np.array(
    [(math.sin(2 * math.pi * day / 7), math.cos(2 * math.pi * day / 7)) for day in range(7)], np.float32
)


@dataclass(frozen=True)
class DateColumn(ColumnEncoder):
    """Timestamps as scaled seconds and, where they varied in training, hour and weekday as sine and cosine."""

    kind: Literal["date"]
    mean: float
    scale: float
    hour: bool
    weekday: bool
    missing: bool

    def __post_init__(self) -> None:
        check_fields(self, mean=is_mean, scale=is_scale, hour=is_bool, weekday=is_bool, missing=is_bool)

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The scaled timestamp, its hour and weekday, and whether it is missing."""
        hour = ("hour sin", "hour cos") * self.hour
        weekday = ("weekday sin", "weekday cos") * self.weekday
        return (self.name, *(f"{self.name} {part}" for part in hour + weekday + ("missing",) * self.missing))

    def read(self, column: Any, location: CellLocation) -> FillRows:
        """Return a function that writes the 1 to 6 attributes."""
        timestamps = read_timestamps(column, location)

        def fill(rows: slice, out: AttributeArray) -> None:
            seconds = timestamps[rows]
            missing = standardise(seconds, self.mean, self.scale, out[:, 0])
            seconds = np.where(missing, 0.0, seconds)
            if self.hour:
                angle = (2 * np.pi * day_fraction(seconds)).astype(np.float32)  # several times faster than float64
                out[:, 1], out[:, 2] = np.sin(angle), np.cos(angle)
            if self.weekday:
                start = 1 + 2 * self.hour
                out[:, start : start + 2] = _WEEKDAY_SIN_COS.take(weekday(seconds).astype(np.intp), axis=0)
            out[missing, 1:] = 0.0
            if self.missing:
                out[:, -1] = missing

        return fill


def fit_dates(columns: Sequence[Any], locations: Sequence[CellLocation]) -> DateColumn:
    """Fit the encoder of a column of dates, given as the same column of each training table."""
    timestamps = [read_timestamps(column, location) for column, location in zip(columns, locations, strict=True)]
    moments = compute_moments([one[:, None] for one in timestamps])
    present = np.concatenate(timestamps)
    present = present[~np.isnan(present)]
    return DateColumn(
        name=locations[0].column,
        kind="date",
        mean=float(moments.mean[0]),
        scale=float(moments.scale[0]),
        hour=bool(np.ptp(day_fraction(present)) > 0),
        weekday=bool(np.ptp(weekday(present)) > 0),
        missing=bool(moments.n_missing[0] > 0),
    )


def day_fraction(seconds: FloatArray) -> FloatArray:
    """Return the fraction of the day that has passed, 0 at midnight; seconds: [n] since 1970."""
    return (seconds - _SECONDS_PER_DAY * np.floor(seconds / _SECONDS_PER_DAY)) / _SECONDS_PER_DAY  # faster than %


def weekday(seconds: FloatArray) -> FloatArray:
    """Return 0 for Monday to 6 for Sunday; seconds: [n] since 1970."""
    day: FloatArray = np.floor((seconds - _FIRST_MONDAY) / _SECONDS_PER_DAY)
    week: FloatArray = np.floor(day / 7)
    return day - 7 * week
