"""What the cells of one column hold, whatever the table stored them as.

`column` is a pyarrow.ChunkedArray of n cells. A cell without a value is NaN in the arrays of numbers.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.data.tables import parsing
from oddshot.errors import InputError

Floats = NDArray[np.float64]
Content = Literal["nothing", "number", "boolean", "date", "text", "other"]

LIMIT = 1e18
"""Numbers beyond it are refused: their squares would leave the range of float32."""

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_DAY = 86_400


@dataclass(frozen=True)
class Place:
    """Where a column comes from, for messages."""

    where: str
    column: str
    first_row: int = 1

    def error(self, index: int, value: object, problem: str) -> InputError:
        """The one line about cell `index` of the column."""
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return InputError(f"{self.where}: row {self.first_row + index}, column {self.column!r}: {shown} {problem}")

    def too_large(self, index: int, value: object) -> InputError:
        """The one line about a number beyond LIMIT."""
        return self.error(index, value, "is too large; expected a number within ±1e18")


def content(column: Any) -> Content:
    """What the column's type can hold."""
    return _content_of(column.type)


def _content_of(kind: Any) -> Content:
    t = pa.types
    if t.is_dictionary(kind):
        return _content_of(kind.value_type)
    if t.is_null(kind):
        return "nothing"
    if t.is_boolean(kind):
        return "boolean"
    if t.is_string(kind) or t.is_large_string(kind):
        return "text"
    if t.is_timestamp(kind) or t.is_date(kind) or t.is_time(kind):
        return "date"
    if t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind) or t.is_duration(kind):
        return "number"
    return "other"


def numbers(column: Any, place: Place) -> Floats:
    """Cells as numbers: [n]. Refuses text that is no number, infinities and what is beyond LIMIT."""
    column = _expect(column, ("number", "boolean", "text"), parsing.doubles, place, "a number")
    if pa.types.is_duration(column.type):
        values = _doubles(column.cast(pa.int64())) / _PER_SECOND[column.type.unit]
    else:
        values = _doubles(column)
    _check_magnitude(values, place)
    return values


def truths(column: Any, place: Place) -> Floats:
    """Cells as 1.0 (true) and 0.0 (false): [n]."""
    column = _expect(column, ("boolean", "number", "text"), parsing.booleans, place, "true or false")
    values = _doubles(column)
    wrong = ~np.isnan(values) & (values != 0) & (values != 1)
    if wrong.any():
        index = int(wrong.argmax())
        raise place.error(index, values[index].item(), "is not true or false")
    return values


def seconds(column: Any, place: Place) -> Floats:
    """Points in time as seconds since 1970-01-01 00:00 UTC, times of day as seconds since midnight: [n]."""
    column = _expect(column, ("date", "text"), parsing.timestamps, place, "a date or time such as 2024-01-31 12:00")
    values = seconds_of(column)
    _check_magnitude(values, place)
    return values


def seconds_of(column: Any) -> Floats:
    """Cells of a date, time or timestamp type as seconds: [n]."""
    kind = column.type
    if pa.types.is_date32(kind):
        return _doubles(column.cast(pa.int32())) * _DAY
    if pa.types.is_date64(kind):
        return _doubles(column.cast(pa.int64())) / _PER_SECOND["ms"]
    if pa.types.is_null(kind):
        return _doubles(column)
    whole = pa.int32() if pa.types.is_time32(kind) else pa.int64()
    return _doubles(column.cast(whole)) / _PER_SECOND[kind.unit]


def dictionary(column: Any) -> tuple[NDArray[np.int32], Any]:
    """Which value each cell is: [n], -1 for null; and the values, as an Arrow array, maybe some that no cell has."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    encoded = encoded.unify_dictionaries()
    if encoded.num_chunks == 0:
        return np.empty(0, np.int32), pa.array([], encoded.type.value_type)
    parts = [chunk.indices.cast(pa.int32()) for chunk in encoded.chunks]
    codes = [(part.fill_null(-1) if part.null_count else part).to_numpy() for part in parts]
    return np.concatenate(codes), encoded.chunk(0).dictionary


def distinct(column: Any) -> tuple[NDArray[np.int32], Any]:
    """Which of the distinct values each cell is: [n], -1 for null; and these values, as an Arrow array."""
    codes, values = dictionary(column)
    used = np.bincount(codes + 1, minlength=len(values) + 1)[1:] > 0  # part of a table keeps the whole's dictionary
    if used.all():
        return codes, values
    position = np.append(np.cumsum(used) - 1, -1).astype(np.int32)
    return position[codes], values.filter(pa.array(used))


def has_values(column: Any) -> bool:
    """Whether any cell has a value."""
    if content(column) == "nothing" or column.null_count == len(column):
        return False
    values = distinct(column)[1] if content(column) == "text" else column
    if content(values) == "text":
        return bool(parsing.clean(values).null_count < len(values))
    return not bool(pc.all(pc.is_null(values, nan_is_null=True)).as_py())


def _check_magnitude(values: Floats, place: Place) -> None:
    """Refuse infinities and numbers beyond LIMIT; values: [n], NaN allowed."""
    if len(values) and not max(np.fmax.reduce(values), -np.fmin.reduce(values)) <= LIMIT:
        wrong = np.abs(values) > LIMIT
        if wrong.any():
            index = int(wrong.argmax())
            raise place.too_large(index, values[index].item())


def parse_text(column: Any, parser: parsing.Parser, place: Place, expected: str) -> Any:
    """A column of text parsed; an error that names the first cell that is not what was expected."""
    parsed = parsing.attempt(column, parser)
    if parsed is None:
        index = parsing.first_failure(column, parser)
        raise place.error(index, column[index].as_py(), f"is not {expected}")
    return parsed


def _expect(column: Any, allowed: tuple[Content, ...], parser: parsing.Parser, place: Place, expected: str) -> Any:
    """The column decoded and, if text, parsed; an error if it holds something else."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    found = content(column)
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column))])
    if found == "text":
        return parse_text(column, parser, place, expected)
    if found not in (*allowed, "nothing"):
        raise InputError(f"{place.where}: column {place.column!r} holds {column.type} values, expected {expected}")
    return column


def _doubles(column: Any) -> Floats:
    values: Floats = np.asarray(column.cast(pa.float64(), safe=False))
    return values
