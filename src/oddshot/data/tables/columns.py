"""Read the values of one column, whichever Arrow type stores them.

`column` is a pyarrow.ChunkedArray of n cells. Missing values are NaN in the arrays of numbers that are returned.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.data.tables import parsing
from oddshot.data.tables.skipped_cells import N_CELLS_NAMED, NamedCell, SkippedCells, shortened
from oddshot.data.tables.written_dates import NUMBER_ORDERS, DateOrder, parse_written_dates, seconds_of_numbers
from oddshot.data.tables.written_numbers import PLAIN, Notation, find_numbers, parse_written_numbers
from oddshot.errors import InputError

FloatArray = NDArray[np.float64]
RowNumbers = int | NDArray[np.int64]
"""How messages number rows: the number of the first, or of each."""

ArrowKind = Literal["null", "number", "boolean", "date", "text", "other"]

MAX_MAGNITUDE = 1e18
"""Numbers of a larger magnitude are refused: their squares would exceed the range of float32."""

_EXPECTED_DATES = {
    "iso": "a date or time such as 2024-01-31 12:00",
    "dmy": "a date such as 31.12.2024, the day first",
    "mdy": "a date such as 12/31/2024, the month first",
    "ymd": "a date such as 2024/12/31",
    "number ymd": "a date such as 20241231",
}
_UNITS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_SECONDS_PER_DAY = 86_400
_N_PROBED_VALUES = 100
_N_PROBED_ROWS = 10_000


@dataclass(frozen=True)
class CellLocation:
    """Names a column in error messages.

    where: the file or table. column: the column's name. rows: how messages number its cells. skipped: of rows to score,
    gathers cells that are taken as missing; without it, bad ones are errors, and there is a warning of others.
    """

    where: str
    column: str
    rows: RowNumbers = 1
    skipped: SkippedCells | None = None

    def error(self, index: int, value: object, problem: str) -> InputError:
        """Return an error about the cell at `index`, which holds `value`."""
        place = f"{self.where}: row {self._row(index)}, column {self.column!r}"
        return InputError(f"{place}: {shortened(value)} {problem}")

    def takes_bad_cells(self, otherwise: bool = False) -> bool:
        """Whether a cell that is not what the column holds is taken as missing. otherwise: of rows to learn from."""
        return otherwise if self.skipped is None else not self.skipped.is_strict

    def skip(self, is_skipped: NDArray[np.bool_], values: Any, problem: str, is_bad: bool = False) -> None:
        """Say that cells, at least one of [n], are taken as missing. values: of all cells, an array of any library."""
        skipped = SkippedCells() if self.skipped is None else self.skipped
        rows = np.flatnonzero(is_skipped).tolist()
        cells = [NamedCell(self._row(i), self.column, _as_python(values[i])) for i in rows[:N_CELLS_NAMED]]
        skipped.add(cells, len(rows), problem, is_bad)
        if self.skipped is None:
            for notice in skipped.notices():
                warnings.warn(f"{self.where}: {notice}", stacklevel=1)  # one place: the same notice is shown once

    def note_missing(self, is_missing: NDArray[np.bool_]) -> None:
        """Gather how many of some cells, [n], are missing in a column that had all values before."""
        if self.skipped is not None and is_missing.any():
            self.skipped.add_missing(self.column, int(is_missing.sum()))

    def below(self, n_rows: int) -> "CellLocation":
        """Return the location of the cells below the first n_rows."""
        return replace(self, rows=self.rows + n_rows if isinstance(self.rows, int) else self.rows[n_rows:])

    def _row(self, index: int) -> int:
        return self.rows + index if isinstance(self.rows, int) else int(self.rows[index])

    def too_large_error(self, index: int, value: object) -> InputError:
        """Return an error about a number beyond MAX_MAGNITUDE at `index`."""
        return self.error(index, value, "is too large; expected a number within ±1e18")

    def warn(self, notice: str) -> None:
        """Warn about the column as a whole."""
        warnings.warn(f"{self.where}: column {self.column!r}: {notice}", stacklevel=3)

    def type_error(self, column: Any, expected: str) -> InputError:
        """Return an error about a column whose Arrow type is not the expected one."""
        return InputError(f"{self.where}: column {self.column!r} holds {column.type} values, expected {expected}")


def _as_python(value: Any) -> object:
    """The value of a scalar of Arrow or NumPy."""
    return value.as_py() if isinstance(value, pa.Scalar) else value.item()


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
    """Return the cells as numbers: [n]. Infinite ones are missing.

    Other text and numbers beyond MAX_MAGNITUDE are errors, or missing where the location takes bad cells. notation: how
    text is written. is_tolerant: whether other text is missing in rows to learn from.
    """
    return within_magnitude(read_any_numbers(column, location, notation, is_tolerant), location)


def read_any_numbers(
    column: Any, location: CellLocation, notation: Notation = PLAIN, is_tolerant: bool = False
) -> FloatArray:
    """Return the cells as numbers of any magnitude, infinite ones included: [n]. Other text as in read_numbers."""
    parser = partial(parse_written_numbers, notation=notation)
    if arrow_kind(column) == "text" and location.takes_bad_cells(is_tolerant):
        column = _without_other_text(column, location, notation)
    column = _decode(column, ("number", "boolean", "text"), parser, location, "a number")
    return _to_float64(column)


def _without_other_text(column: Any, location: CellLocation, notation: Notation) -> Any:
    """Return a column of text as numbers, or as text in which cells that are no numbers are null."""
    parsed = try_parse_column(column, partial(parse_written_numbers, notation=notation))
    if parsed is not None:
        return parsed
    codes, values = distinct_values(column)
    values = values.cast(pa.string())
    is_number = find_numbers(values, notation)
    is_bad = ~np.append(is_number, True)[codes]
    if is_bad.any():
        location.skip(is_bad, column, "is not a number", is_bad=True)
    return pa.chunked_array([values.take(pa.array(codes, mask=is_bad | (codes < 0)))])


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

    order: how text, or numbers, are written.
    """
    is_number = order in NUMBER_ORDERS
    expected = _EXPECTED_DATES.get(order, f"a number of {order}")
    parser = partial(parse_written_dates, order=order)
    column = _decode(column, ("date", "text", "number") if is_number else ("date", "text"), parser, location, expected)
    if arrow_kind(column) != "number":
        return within_magnitude(timestamps_to_seconds(column), location)
    values = _to_float64(column)
    seconds = seconds_of_numbers(values, order)
    wrong = np.isnan(seconds) & ~np.isnan(values)
    if wrong.any():
        index = int(wrong.argmax())
        raise location.error(index, values[index].item(), f"is not {expected}")
    return within_magnitude(seconds, location)


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
    if len(column) > _N_PROBED_VALUES and has_values(column.slice(0, _N_PROBED_VALUES)):
        return True
    values = distinct_values(column)[1] if arrow_kind(column) == "text" else column
    if arrow_kind(values) == "text":
        return bool(parsing.clean_text(values, parsing.MISSING_AMONG_NUMBERS).null_count < len(values))
    return not bool(pc.all(pc.is_null(values, nan_is_null=True)).as_py())


def distinct_texts(columns: Sequence[Any]) -> Any:
    """Return the different values of those columns that are stored as text, as one Arrow array."""
    texts = [distinct_values(column)[1].cast(pa.string()) for column in columns if arrow_kind(column) == "text"]
    return pa.concat_arrays(texts) if texts else pa.array([], pa.string())


def first_distinct_texts(columns: Sequence[Any], n: int = _N_PROBED_VALUES) -> Any:
    """Return the first n of distinct_texts; in most columns the first rows already have n different texts."""
    first = next((column for column in columns if arrow_kind(column) == "text"), None)
    if first is not None and not pa.types.is_dictionary(first.type):
        texts = distinct_texts([first.slice(0, _N_PROBED_ROWS)])
        if len(texts) >= n:
            return texts[:n]
    return distinct_texts(columns)[:n]


def all_text_parses(values: Any, parser: parsing.Parser) -> bool:
    """Return whether every cell of an Arrow array of text can be parsed."""
    probe = values[:_N_PROBED_VALUES]  # mostly settles it
    parts = (probe, values) if len(values) > len(probe) else (values,)
    return all(parsing.try_parse(part, parser) is not None for part in parts)


def parse_text_column(column: Any, parser: parsing.Parser, location: CellLocation, expected: str) -> Any:
    """Parse a column of text; the error names the first cell that is not what was expected."""
    parsed = try_parse_column(column, parser)
    if parsed is None:
        column = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        index = parsing.first_unparsable(column, parser)
        raise location.error(index, column[index].as_py(), f"is not {expected}")
    return parsed


def try_parse_column(column: Any, parser: parsing.Parser) -> Any | None:
    """Parse a column of text; None if some cell cannot be parsed."""
    return _parse_distinct(column, parser) if _repeats_texts(column) else parsing.try_parse(column, parser)


def _repeats_texts(column: Any) -> bool:
    """Return whether a long column of text seems to have far fewer values than cells: some repeat in the first rows."""
    if pa.types.is_dictionary(column.type):
        return True
    first_rows = column.slice(0, _N_PROBED_ROWS)
    return len(column) > _N_PROBED_ROWS and len(pc.unique(first_rows)) < 0.9 * len(first_rows)


def _parse_distinct(column: Any, parser: parsing.Parser) -> Any | None:
    """Parse the different cells of a column of text, each once."""
    codes, values = distinct_values(column)
    parsed = parsing.try_parse(values, parser)
    return None if parsed is None else parsed.take(pa.array(codes, mask=codes < 0))


def _decode(
    column: Any, allowed: tuple[ArrowKind, ...], parser: parsing.Parser, location: CellLocation, expected: str
) -> Any:
    """Return the column without dictionary encoding and, if it is text, parsed; other kinds than those are errors."""
    kind = arrow_kind(column)
    if pa.types.is_dictionary(column.type) and kind != "text":
        column = column.cast(column.type.value_type)
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column))])
    if kind == "text":
        return parse_text_column(column, parser, location, expected)
    if kind not in (*allowed, "null"):
        raise location.type_error(column, expected)
    return column


def within_magnitude(values: FloatArray, location: CellLocation) -> FloatArray:
    """Return numbers with NaN for infinite ones; others beyond MAX_MAGNITUDE are errors. values: [n], NaN allowed."""
    if len(values) == 0 or max(np.fmax.reduce(values), -np.fmin.reduce(values)) <= MAX_MAGNITUDE:
        return values
    is_infinite = np.isinf(values)
    if is_infinite.any():
        location.skip(is_infinite, values, "is infinite")
        values = np.where(is_infinite, np.nan, values)
    is_wrong = np.abs(values) > MAX_MAGNITUDE
    if is_wrong.any() and location.takes_bad_cells():
        location.skip(is_wrong, values, "is too large (beyond ±1e18)", is_bad=True)
        return np.where(is_wrong, np.nan, values)
    if is_wrong.any():
        index = int(is_wrong.argmax())
        raise location.too_large_error(index, values[index].item())
    return values


def _to_float64(column: Any) -> FloatArray:
    """Return numbers, booleans, or durations in seconds: [n]."""
    if pa.types.is_duration(column.type):
        return _to_float64(column.cast(pa.int64())) / _UNITS_PER_SECOND[column.type.unit]
    numbers = column.cast(pa.float64(), safe=False)
    if isinstance(numbers, pa.ChunkedArray):
        numbers = numbers.combine_chunks()  # twice as fast as NumPy
    values: FloatArray = np.asarray(numbers)
    return values
