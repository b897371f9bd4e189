"""Rows as a request brings them, JSON or Arrow: as a matrix where all cells are numbers, else as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.data.tables.frames import as_table, check_names
from oddshot.errors import InputError
from oddshot.service.limits import Limits

_CELLS = {float, int, str, bool, type(None)}
_NUMBERS = frozenset(
    {pa.float64(), pa.float32(), pa.int64(), pa.int32(), pa.int16(), pa.int8(), pa.uint8(), pa.uint16()}
)
_SPREAD_OUT = 2**28  # bytes that a dictionary's values may take, written out


@dataclass(frozen=True)
class JsonRows:
    """n rows with cells of plain types. cells: n lists of len(names)."""

    names: tuple[str, ...]
    cells: list[list[Any]]

    def __len__(self) -> int:
        return len(self.cells)

    def matrix(self, names: Sequence[str]) -> NDArray[Any] | None:
        """These columns as numbers, [n, len(names)]; None where a cell is something else or missing."""
        found = np.array(self.cells) if _all_numbers(self.cells) else None
        if found is None or found.dtype.kind not in "fiu":
            return None
        return found if tuple(names) == self.names else found[:, [self.names.index(name) for name in names]]

    def table(self) -> Any:
        """All columns as an Arrow table; a column of mixed cells is text."""
        return as_table(dict(zip(self.names, map(list, zip(*self.cells, strict=True)), strict=True)))


@dataclass(frozen=True)
class ArrowRows:
    """n rows as an Arrow table, of types that have one value a cell."""

    content: Any
    names: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.content.num_rows)

    def matrix(self, names: Sequence[str]) -> NDArray[Any] | None:
        """These columns as numbers, [n, len(names)]; None where one holds something else or misses values."""
        table = self.content if tuple(names) == self.names else self.content.select(list(names))
        columns = table.columns
        if not _NUMBERS.issuperset(table.schema.types) or any(column.null_count for column in columns):
            return None
        return np.column_stack([column.to_numpy() for column in columns])

    def table(self) -> Any:
        """The table itself."""
        return self.content


Rows = JsonRows | ArrowRows


def rows_from_json(rows: Any, columns: Any, limits: Limits, where: str) -> JsonRows:
    """rows: objects with the same names, or with columns, a list of names, lists as long as that."""
    if not isinstance(rows, list):
        raise InputError(f"{where}: {_kind(rows)}; expected a list of rows")
    if columns is not None:
        if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
            raise InputError(f"{where}: columns is not a list of names")
        names, cells = tuple(columns), rows
        check_names(names, where)
    else:
        names = tuple(rows[0]) if rows and isinstance(rows[0], dict) else ()
        cells = [_by_name(row, names, number, where) for number, row in enumerate(rows, 1)]
    limits.check_rows(len(cells), len(names), where)
    for number, row in enumerate(cells, 1):
        if not isinstance(row, list):
            raise InputError(f"{where}: row {number} is {_kind(row)}; expected a list of cells, one for each column")
        if len(row) != len(names):
            raise InputError(f"{where}: row {number} has {len(row)} cells; there are {len(names)} columns")
        if not _CELLS.issuperset(map(type, row)):
            raise _no_cell(row, names, number, where)
    return JsonRows(names, cells)


def rows_from_arrow(table: Any, limits: Limits, where: str) -> ArrowRows:
    """A table that was read, its columns of plain types."""
    limits.check_rows(table.num_rows, table.num_columns, where)
    names = tuple(table.column_names)
    check_names(names, where)
    if _NUMBERS.issuperset(table.schema.types):
        return ArrowRows(table, names)
    room = _SPREAD_OUT
    for name, column in zip(names, table.columns, strict=True):
        kind = column.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
            room -= _spread_out(column)
        if pa.types.is_nested(kind) or _is_binary(kind) or isinstance(kind, pa.BaseExtensionType):
            raise InputError(f"{where}: column {name!r} holds {str(kind)[:60]} values; expected numbers, text or dates")
    if room < 0:
        raise InputError(f"{where}: text that takes more than {_SPREAD_OUT // 2**20} MiB, written out")
    return ArrowRows(as_table(table, where), names)


def _by_name(row: Any, names: tuple[str, ...], number: int, where: str) -> list[Any]:
    if not isinstance(row, dict):
        raise InputError(f"{where}: row {number} is {_kind(row)}; expected an object, or columns beside rows")
    if len(row) != len(names):
        raise InputError(f"{where}: row {number} has {len(row)} columns, row 1 has {len(names)}")
    try:
        return [row[name] for name in names]
    except KeyError as error:
        raise InputError(f"{where}: row {number} has no column {error}; a missing value is null") from None


def _no_cell(row: list[Any], names: tuple[str, ...], number: int, where: str) -> InputError:
    name, cell = next(pair for pair in zip(names, row, strict=True) if type(pair[1]) not in _CELLS)
    expected = "expected a number, text, true, false or null"
    return InputError(f"{where}: row {number}, column {name!r}: {_kind(cell)}; {expected}")


def _all_numbers(cells: list[list[Any]]) -> bool:
    return all({float, int}.issuperset(map(type, row)) for row in cells)


def _is_binary(kind: Any) -> bool:
    t = pa.types
    return bool(t.is_binary(kind) or t.is_large_binary(kind) or t.is_binary_view(kind) or t.is_fixed_size_binary(kind))


def _spread_out(column: Any) -> int:
    """Bytes of a dictionary column's text if every cell had its own."""
    total = 0
    for chunk in column.chunks:
        values = chunk.dictionary
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            total += pc.sum(pc.binary_length(values).take(chunk.indices)).as_py() or 0
    return total


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
