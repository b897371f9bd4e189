"""One column of a table becomes one or more attributes: scaled numbers, one for each category, parts of a date.

Every encoder has `name` (of the column), `kind`, `names` (of its attributes) and `read(column, place)`. That reads all
n cells and returns a function fill(rows, out), which writes the attributes of a slice of rows to out: [len(rows),
len(names)], so that the caller can go through a table of many columns in blocks that fit in the processor's cache.

A cell without a value is 0 in each attribute, and 1 in "<column> missing", which is there if the column missed values
in training. Fields are checked: they may come from a foreign model file.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding.rules import check_fields
from oddshot.data.encoding.scaling import FARTHEST, standardise
from oddshot.data.tables.categories import spell
from oddshot.data.tables.cells import Place, content, dictionary, numbers, seconds, truths
from oddshot.errors import InputError

Rows = NDArray[np.float32]
Fill = Callable[[slice, Rows], None]

_DAY = 86_400.0
_MONDAY = 4 * _DAY  # 1970-01-05 was one
_WEEK = np.array([(math.sin(2 * math.pi * day / 7), math.cos(2 * math.pi * day / 7)) for day in range(7)], np.float32)


@dataclass(frozen=True)
class NumericColumn:
    """Numbers, or truths as 0 and 1: minus the mean, divided by the standard deviation of the training rows."""

    name: str
    kind: Literal["number", "boolean"]
    mean: float
    scale: float
    missing: bool

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The scaled value, and whether it is missing."""
        return (self.name, f"{self.name} missing") if self.missing else (self.name,)

    def read(self, column: Any, place: Place) -> Fill:
        """Fills [:, 1 or 2]."""
        values = (numbers if self.kind == "number" else truths)(column, place)

        def fill(rows: slice, out: Rows) -> None:
            absent = standardise(values[rows], self.mean, self.scale, out[:, 0])
            if self.missing:
                out[:, 1] = absent

        return fill


@dataclass(frozen=True)
class DateColumn:
    """Points in time: scaled seconds, and where they varied in training the hour and the weekday as sine and cosine."""

    name: str
    kind: Literal["date"]
    mean: float
    scale: float
    hour: bool
    weekday: bool
    missing: bool

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The scaled time, its parts, and whether it is missing."""
        hour = ("hour sin", "hour cos") * self.hour
        weekday = ("weekday sin", "weekday cos") * self.weekday
        return (self.name, *(f"{self.name} {part}" for part in hour + weekday + ("missing",) * self.missing))

    def read(self, column: Any, place: Place) -> Fill:
        """Fills [:, 1 to 6]."""
        moments = seconds(column, place)

        def fill(rows: slice, out: Rows) -> None:
            when = moments[rows]
            absent = standardise(when, self.mean, self.scale, out[:, 0])
            when = np.where(absent, 0.0, when)
            if self.hour:
                angle = (2 * np.pi * day_fraction(when)).astype(np.float32)  # several times faster from here on
                out[:, 1], out[:, 2] = np.sin(angle), np.cos(angle)
            if self.weekday:
                after_hour = 1 + 2 * self.hour
                out[:, after_hour : after_hour + 2] = _WEEK.take(weekday(when).astype(np.intp), axis=0)
            out[absent, 1:] = 0.0
            if self.missing:
                out[:, -1] = absent

        return fill


@dataclass(frozen=True)
class CategoryColumn:
    """Categories: an attribute for each frequent one and, if there were more, one for all others; each scaled.

    shares: how many of the training rows that have a value each attribute is 1 in, as a fraction; `other` is last.
    """

    name: str
    kind: Literal["category"]
    categories: tuple[str, ...]
    other: bool
    shares: tuple[float, ...]
    missing: bool

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.shares) != len(self.categories) + self.other:
            raise InputError(f"encoding of column {self.name!r}: expected one share for each category")

    @property
    def names(self) -> tuple[str, ...]:
        """One for each category, the others, and whether it is missing."""
        ends = (" other",) * self.other + (" missing",) * self.missing
        return (*(f"{self.name}={category}" for category in self.categories), *(self.name + end for end in ends))

    def read(self, column: Any, place: Place) -> Fill:
        """Fills [:, len(names)]; a column of any type will do."""
        if content(column) == "other":
            raise InputError(f"{place.where}: column {place.column!r} holds {column.type} values, expected text")
        codes, values = dictionary(column)
        rows_of_values = self._rows(spell(values).to_pylist())

        def fill(rows: slice, out: Rows) -> None:
            out[:] = rows_of_values.take(codes[rows], axis=0)

        return fill

    def _rows(self, values: Sequence[str | None]) -> Rows:
        """What each of V values becomes and, last, a cell without a value: [V + 1, len(names)]."""
        position = {category: i for i, category in enumerate(self.categories)}
        others = len(self.categories) if self.other else -1
        hot = np.array([others if value is None else position.get(value, others) for value in values], np.intp)
        known = np.flatnonzero(hot >= 0)
        share = np.array(self.shares)
        ones = np.zeros((len(values), len(share)))
        ones[known, hot[known]] = 1.0
        spread = np.sqrt(share * (1 - share))
        rows = np.zeros((len(values) + 1, len(self.names)), np.float32)
        rows[:-1, : len(share)] = np.clip((ones - share) / np.where(spread > 0, spread, 1.0), -FARTHEST, FARTHEST)
        absent = np.array([*(value is None for value in values), True])
        rows[absent] = 0.0
        if self.missing:
            rows[absent, -1] = 1.0
        return rows


ColumnEncoder = NumericColumn | DateColumn | CategoryColumn
_BY_KIND: dict[str, type[Any]] = {
    "number": NumericColumn,
    "boolean": NumericColumn,
    "date": DateColumn,
    "category": CategoryColumn,
}


def encoder_from_dict(data: object) -> ColumnEncoder:
    """Back from dataclasses.asdict by way of JSON, trusting nothing."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(kind, str) or kind not in _BY_KIND:
        raise InputError(f"encoding: {str(data)[:60]!r} is not an encoder")
    if set(data) != {field.name for field in fields(_BY_KIND[kind])}:
        raise InputError(f"encoding of column {str(data.get('name'))[:60]!r}: wrong fields for a {kind}")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    encoder: ColumnEncoder = _BY_KIND[kind](**values)
    return encoder


def day_fraction(when: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much of the day has passed, 0 at midnight; when: [n] in seconds."""
    return (when - _DAY * np.floor(when / _DAY)) / _DAY  # several times faster than %


def weekday(when: NDArray[np.float64]) -> NDArray[np.float64]:
    """0 for Monday to 6 for Sunday; when: [n] in seconds."""
    day: NDArray[np.float64] = np.floor((when - _MONDAY) / _DAY)
    week: NDArray[np.float64] = np.floor(day / 7)
    return day - 7 * week
