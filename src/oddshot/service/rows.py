"""Rows of a request, JSON or Arrow, as a matrix where all cells are numbers, otherwise as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.data.tables.column_names import check_unique_names
from oddshot.data.tables.conversion import as_table
from oddshot.errors import InputError
from oddshot.service.limits import ServiceLimits

CELL_TYPES = {float, int, str, bool, type(None)}
_NUMBER_TYPES = frozenset(
    {pa.float64(), pa.float32(), pa.int64(), pa.int32(), pa.int16(), pa.int8(), pa.uint8(), pa.uint16()}
)
_MAX_DECODED_BYTES = 2**28  # of dictionary-encoded text with the value repeated in every row


@dataclass(frozen=True)
class JsonRows:
    """n rows of a JSON body. cells: n lists of len(names) numbers, strings, booleans or None."""

    names: tuple[str, ...]
    cells: list[list[Any]]

    def __len__(self) -> int:
        return len(self.cells)

    def matrix(self, names: Sequence[str]) -> NDArray[Any] | None:
        """The named columns as numbers, [n, len(names)]; None if any cell is missing or not a number."""
        matrix = np.array(self.cells) if _all_numbers(self.cells) else None
        if matrix is None or matrix.dtype.kind not in "fiu":
            return None
        return matrix if tuple(names) == self.names else matrix[:, [self.names.index(name) for name in names]]

    def table(self) -> Any:
        """All columns as an Arrow table; a column of mixed types becomes text."""
        return as_table(dict(zip(self.names, map(list, zip(*self.cells, strict=True)), strict=True)))


@dataclass(frozen=True)
class ArrowRows:
    """n rows of an Arrow body. content: an Arrow table without nested or binary columns."""

    content: Any
    names: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.content.num_rows)

    def matrix(self, names: Sequence[str]) -> NDArray[Any] | None:
        """The named columns as numbers, [n, len(names)]; None if any has missing values or another type."""
        table = self.content if tuple(names) == self.names else self.content.select(list(names))
        columns = table.columns
        if not _NUMBER_TYPES.issuperset(table.schema.types) or any(column.null_count for column in columns):
            return None
        return np.column_stack([column.to_numpy() for column in columns])

    def table(self) -> Any:
        """All columns as an Arrow table."""
        return self.content


RequestRows = JsonRows | ArrowRows


def rows_from_json(rows: Any, columns: Any, limits: ServiceLimits, where: str) -> JsonRows:
    """Check the rows of a JSON body.

    rows: a list of objects with the same keys; or, where columns is a list of names, of lists of that length.
    where: the field of the request, for messages.
    """
    if not isinstance(rows, list):
        raise InputError(f"{where}: {type_name(rows)}; expected a list of rows")
    if columns is not None:
        if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
            raise InputError(f"{where}: columns is not a list of names")
        names, cells = tuple(columns), rows
        check_unique_names(names, where)
    else:
        names = tuple(rows[0]) if rows and isinstance(rows[0], dict) else ()
        cells = [_cells_of_object(row, names, number, where) for number, row in enumerate(rows, 1)]
    limits.check_rows(len(cells), len(names), where)
    for number, row in enumerate(cells, 1):
        if not isinstance(row, list):
            raise InputError(
                f"{where}: row {number} is {type_name(row)}; expected a list of cells, one for each column"
            )
        if len(row) != len(names):
            raise InputError(f"{where}: row {number} has {len(row)} cells; there are {len(names)} columns")
        if not CELL_TYPES.issuperset(map(type, row)):
            raise _cell_error(row, names, number, where)
    return JsonRows(names, cells)


def rows_from_arrow(table: Any, limits: ServiceLimits, where: str) -> ArrowRows:
    """Check the table of an Arrow body. where: the field of the request, for messages."""
    limits.check_rows(table.num_rows, table.num_columns, where)
    names = tuple(table.column_names)
    check_unique_names(names, where)
    if _NUMBER_TYPES.issuperset(table.schema.types):
        return ArrowRows(table, names)
    n_decoded_bytes = 0
    for name, column in zip(names, table.columns, strict=True):
        kind = column.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
            n_decoded_bytes += _decoded_bytes(column)
        if pa.types.is_nested(kind) or _is_binary(kind) or isinstance(kind, pa.BaseExtensionType):
            raise InputError(f"{where}: column {name!r} holds {str(kind)[:60]} values; expected numbers, text or dates")
    if n_decoded_bytes > _MAX_DECODED_BYTES:
        raise InputError(f"{where}: text that takes more than {_MAX_DECODED_BYTES // 2**20} MiB, written out")
    return ArrowRows(as_table(table, where), names)


def _cells_of_object(row: Any, names: tuple[str, ...], number: int, where: str) -> list[Any]:
    if not isinstance(row, dict):
        raise InputError(f"{where}: row {number} is {type_name(row)}; expected an object, or columns beside rows")
    if len(row) != len(names):
        raise InputError(f"{where}: row {number} has {len(row)} columns, row 1 has {len(names)}")
    try:
        return [row[name] for name in names]
    except KeyError as error:
        raise InputError(f"{where}: row {number} has no column {error}; a missing value is null") from None


def _cell_error(row: list[Any], names: tuple[str, ...], number: int, where: str) -> InputError:
    name, cell = next(pair for pair in zip(names, row, strict=True) if type(pair[1]) not in CELL_TYPES)
    expected = "expected a number, text, true, false or null"
    return InputError(f"{where}: row {number}, column {name!r}: {type_name(cell)}; {expected}")


def _all_numbers(cells: list[list[Any]]) -> bool:
    return all({float, int}.issuperset(map(type, row)) for row in cells)


def _is_binary(kind: Any) -> bool:
    t = pa.types
    return bool(t.is_binary(kind) or t.is_large_binary(kind) or t.is_binary_view(kind) or t.is_fixed_size_binary(kind))


def _decoded_bytes(column: Any) -> int:
    """Bytes of a dictionary-encoded text column if its values were repeated in every row."""
    total = 0
    for chunk in column.chunks:
        values = chunk.dictionary
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            total += pc.sum(pc.binary_length(values).take(chunk.indices)).as_py() or 0
    return total


def type_name(value: Any) -> str:
    """What a value of a JSON body is, for messages."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
