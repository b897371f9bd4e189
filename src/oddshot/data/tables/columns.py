"""Read the values of one column, whichever Arrow type stores them.

`column` is a pyarrow.ChunkedArray of n cells. Missing values are NaN in the arrays of numbers that are returned.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.data.tables import parsing
from oddshot.data.tables.written_dates import DateOrder, epoch_timestamps, parse_written_dates
from oddshot.data.tables.written_numbers import PLAIN, Notation, find_numbers, parse_written_numbers
from oddshot.errors import InputError

FloatArray = NDArray[np.float64]
ArrowKind = Literal["null", "number", "boolean", "date", "text", "other"]

MAX_MAGNITUDE = 1e18
"""Numbers of a larger magnitude are refused: their squares would exceed the range of float32."""

_EXPECTED_DATES = {
    "iso": "a date or time such as 2024-01-31 12:00",
    "dmy": "a date such as 31.12.2024, the day first",
    "mdy": "a date such as 12/31/2024, the month first",
    "ymd": "a date such as 2024/12/31",
}
_UNITS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_SECONDS_PER_DAY = 86_400
_N_PROBED_VALUES = 100
_MAX_VALUE_CHARACTERS = 60  # of a cell that an error message shows


@dataclass(frozen=True)
class CellLocation:
    """Names a column in error messages.

    where: the file or table. column: the column's name. first_row: the number that messages give to its first cell.
    """

    where: str
    column: str
    first_row: int = 1

    def error(self, index: int, value: object, problem: str) -> InputError:
        """Return an error about the cell at `index`, which holds `value`."""
        shown = repr(value)
        shown = shown if len(shown) <= _MAX_VALUE_CHARACTERS else shown[: _MAX_VALUE_CHARACTERS - 3] + "..."
        return InputError(f"{self.where}: row {self.first_row + index}, column {self.column!r}: {shown} {problem}")

    def too_large_error(self, index: int, value: object) -> InputError:
        """Return an error about a number beyond MAX_MAGNITUDE at `index`."""
        return self.error(index, value, "is too large; expected a number within ±1e18")

    def warn(self, notice: str) -> None:
        """Warn about the column as a whole."""
        warnings.warn(f"{self.where}: column {self.column!r}: {notice}", stacklevel=3)

    def type_error(self, column: Any, expected: str) -> InputError:
        """Return an error about a column whose Arrow type is not the expected one."""
        return InputError(f"{self.where}: column {self.column!r} holds {column.type} values, expected {expected}")


def arrow_kind(column: Any) -> ArrowKind:
    """Return which kind of values the Arrow type of a column stores."""
    return _kind_of_type(column.type)


def _kind_of_type(arrow_type: Any) -> ArrowKind:
    t = pa.types
    if t.is_dictionary(arrow_type):
        return _kind_of_type(arrow_type.value_type)
    if t.is_null(arrow_type):
        return "null"
    if t.is_boolean(arrow_type):
        return "boolean"
    if t.is_string(arrow_type) or t.is_large_string(arrow_type):
        return "text"
    if t.is_timestamp(arrow_type) or t.is_date(arrow_type) or t.is_time(arrow_type):
        return "date"
    if t.is_integer(arrow_type) or t.is_floating(arrow_type):
        return "number"
    if t.is_decimal(arrow_type) or t.is_duration(arrow_type):
        return "number"
    return "other"


def read_numbers(
    column: Any, location: CellLocation, notation: Notation = PLAIN, is_tolerant: bool = False
) -> FloatArray:
    """Return the cells as numbers: [n]. Other text, infinities and numbers beyond MAX_MAGNITUDE are errors.

    notation: how text is written. is_tolerant: whether other text is taken as missing, with a warning.
    """
    if is_tolerant and arrow_kind(column) == "text":
        column = _without_other_text(column, location, notation)
    parser = partial(parse_written_numbers, notation=notation)
    column = _decode(column, ("number", "boolean", "text"), parser, location, "a number")
    if pa.types.is_duration(column.type):
        values = _to_float64(column.cast(pa.int64())) / _UNITS_PER_SECOND[column.type.unit]
    else:
        values = _to_float64(column)
    _check_magnitude(values, location)
    return values


def _without_other_text(column: Any, location: CellLocation, notation: Notation) -> Any:
    """Replace the cells of a column of text that are no numbers by null, with a warning."""
    text = column.cast(pa.string()).combine_chunks()
    is_number = find_numbers(text, notation)
    if not is_number.all():
        index, n_others = int(is_number.argmin()), int((~is_number).sum())
        more = f" (and {n_others - 1:,} more)" if n_others > 1 else ""
        problem = f"is not a number and taken as missing{more}"
        warnings.warn(str(location.error(index, text[index].as_py(), problem)), stacklevel=4)
        text = pc.if_else(pa.array(is_number), text, pa.scalar(None, text.type))
    return pa.chunked_array([text])


def read_booleans(column: Any, location: CellLocation) -> FloatArray:
    """Return the cells as 1.0 for true and 0.0 for false: [n]."""
    column = _decode(column, ("boolean", "number", "text"), parsing.parse_booleans, location, "true or false")
    values = _to_float64(column)
    wrong = ~np.isnan(values) & (values != 0) & (values != 1)
    if wrong.any():
        index = int(wrong.argmax())
        raise location.error(index, values[index].item(), "is not true or false")
    return values


def read_timestamps(column: Any, location: CellLocation, order: DateOrder = "iso") -> FloatArray:
    """Return timestamps as seconds since 1970-01-01 00:00 UTC, times of day as seconds since midnight: [n].

    order: how text, or numbers since 1970, are written.
    """
    is_epoch = order in ("seconds", "milliseconds")
    expected = "a number of " + order if is_epoch else _EXPECTED_DATES[order]
    parser = partial(parse_written_dates, order=order)
    column = _decode(column, ("date", "text", "number") if is_epoch else ("date", "text"), parser, location, expected)
    if arrow_kind(column) == "number":
        _check_magnitude(_to_float64(column), location)
        column = epoch_timestamps(column, order)
    values = timestamps_to_seconds(column)
    _check_magnitude(values, location)
    return values


def timestamps_to_seconds(column: Any) -> FloatArray:
    """Convert a column of a date, time or timestamp type to seconds: [n]."""
    arrow_type = column.type
    if pa.types.is_date32(arrow_type):
        return _to_float64(column.cast(pa.int32())) * _SECONDS_PER_DAY
    if pa.types.is_date64(arrow_type):
        return _to_float64(column.cast(pa.int64())) / _UNITS_PER_SECOND["ms"]
    if pa.types.is_null(arrow_type):
        return _to_float64(column)
    integer = pa.int32() if pa.types.is_time32(arrow_type) else pa.int64()
    return _to_float64(column.cast(integer)) / _UNITS_PER_SECOND[arrow_type.unit]


def dictionary_codes(column: Any) -> tuple[NDArray[np.int32], Any]:
    """Return the code of each cell, [n], -1 for null, and the Arrow array of values that the codes index.

    Some of the values may occur in no cell: a slice of a table keeps the dictionary of the whole table.
    """
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    encoded = encoded.unify_dictionaries()
    if encoded.num_chunks == 0:
        return np.empty(0, np.int32), pa.array([], encoded.type.value_type)
    parts = [chunk.indices.cast(pa.int32()) for chunk in encoded.chunks]
    codes = [(part.fill_null(-1) if part.null_count else part).to_numpy() for part in parts]
    return np.concatenate(codes), encoded.chunk(0).dictionary


def distinct_values(column: Any) -> tuple[NDArray[np.int32], Any]:
    """Return the code of each cell, [n], -1 for null, and the Arrow array of the values that do occur."""
    codes, values = dictionary_codes(column)
    occurs = np.bincount(codes + 1, minlength=len(values) + 1)[1:] > 0
    if occurs.all():
        return codes, values
    new_code = np.append(np.cumsum(occurs) - 1, -1).astype(np.int32)
    return new_code[codes], values.filter(pa.array(occurs))


def has_values(column: Any) -> bool:
    """Return whether any cell has a value."""
    if arrow_kind(column) == "null" or column.null_count == len(column):
        return False
    values = distinct_values(column)[1] if arrow_kind(column) == "text" else column
    if arrow_kind(values) == "text":
        return bool(parsing.clean_text(values, parsing.MISSING_AMONG_NUMBERS).null_count < len(values))
    return not bool(pc.all(pc.is_null(values, nan_is_null=True)).as_py())


def distinct_texts(columns: Sequence[Any]) -> Any:
    """Return the different values of those columns that are stored as text, as one Arrow array."""
    texts = [distinct_values(column)[1].cast(pa.string()) for column in columns if arrow_kind(column) == "text"]
    return pa.concat_arrays(texts) if texts else pa.array([], pa.string())


def all_text_parses(values: Any, parser: parsing.Parser) -> bool:
    """Return whether every cell of an Arrow array of text can be parsed."""
    probe = values[:_N_PROBED_VALUES]  # mostly settles it
    return all(parsing.try_parse(part, parser) is not None for part in (probe, values))


def parse_text_column(column: Any, parser: parsing.Parser, location: CellLocation, expected: str) -> Any:
    """Parse a column of text; the error names the first cell that is not what was expected."""
    parsed = parsing.try_parse(column, parser)
    if parsed is None:
        index = parsing.first_unparsable(column, parser)
        raise location.error(index, column[index].as_py(), f"is not {expected}")
    return parsed


def _decode(
    column: Any, allowed: tuple[ArrowKind, ...], parser: parsing.Parser, location: CellLocation, expected: str
) -> Any:
    """Return the column without dictionary encoding and, if it is text, parsed; other kinds than those are errors."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = arrow_kind(column)
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column))])
    if kind == "text":
        return parse_text_column(column, parser, location, expected)
    if kind not in (*allowed, "null"):
        raise location.type_error(column, expected)
    return column


def _check_magnitude(values: FloatArray, location: CellLocation) -> None:
    """Refuse infinities and numbers beyond MAX_MAGNITUDE; values: [n], NaN allowed."""
    if len(values) and not max(np.fmax.reduce(values), -np.fmin.reduce(values)) <= MAX_MAGNITUDE:
        wrong = np.abs(values) > MAX_MAGNITUDE
        if wrong.any():
            index = int(wrong.argmax())
            raise location.too_large_error(index, values[index].item())


def _to_float64(column: Any) -> FloatArray:
    values: FloatArray = np.asarray(column.cast(pa.float64(), safe=False))
    return values
