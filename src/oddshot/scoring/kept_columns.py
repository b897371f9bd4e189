"""Columns of the files to score that are copied into the output, so that scores can be joined with the rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from oddshot.adapted.task import AdaptedTask
from oddshot.data.tables.column_names import format_names
from oddshot.data.tables.columns import CellLocation, arrow_kind, read_any_numbers
from oddshot.data.tables.skipped_cells import SkippedCells
from oddshot.data.tables.spreadsheet_text import escape_formulas
from oddshot.errors import InputError

_MAX_COLUMNS_SHOWN = 20  # in an error message
_NEGATIVE_NUMBER = r"^-[\d.,]+$"


def check_kept_names(names: Iterable[str], own_names: Sequence[str]) -> None:
    """Refuse names that the output has already."""
    for name in names:
        if name in own_names:
            raise InputError(f"--keep {name}: the output has a column of that name; rename the one of the input")


def split_kept(chunk: Any, names: Sequence[str], task: AdaptedTask, file: str) -> tuple[Any, Any]:
    """Return the rows of a chunk without the kept columns that the task does not know, and the kept columns."""
    for name in names:
        if name not in chunk.column_names:
            columns = format_names(chunk.column_names, _MAX_COLUMNS_SHOWN)
            raise InputError(f"{file}: no column {name!r} to keep; its columns are {columns}")
    kinds = task.encoding.stored_kinds
    kept = pa.table({name: _plain(chunk[name], name, file, is_number=kinds.get(name) == "number") for name in names})
    return chunk.drop_columns([name for name in names if name not in task.encoding.columns]), kept


def _plain(column: Any, name: str, file: str, is_number: bool) -> Any:
    """A column in a type that all formats of scores have. is_number: whether cells of text are taken as missing."""
    kind = arrow_kind(column)
    if is_number and kind == "text":
        numbers = read_any_numbers(column, CellLocation(file, name, skipped=SkippedCells()))
        return pa.chunked_array([pa.array(numbers, from_pandas=True)])
    if kind == "other":
        raise InputError(f"{file}: column {name!r} holds {column.type} values, which cannot be kept")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if kind == "null" else column


def as_first_types(part: Any, schema: Any, file: str) -> Any:
    """Return output rows with the types of the first file, which the output has."""
    if part.schema.equals(schema):
        return part
    for name, wanted in zip(schema.names, schema.types, strict=True):
        try:
            part = part.set_column(schema.names.index(name), name, part[name].cast(wanted))
        except pa.ArrowException:
            found = part[name].type
            raise InputError(
                f"{file}: column {name!r} holds {found} values, and the first file {wanted} ones; "
                "it cannot be kept for both together"
            ) from None
    return part


def without_formulas(column: Any) -> Any:
    """Return a column for a file that a spreadsheet may open; negative numbers are no formulas."""
    if arrow_kind(column) != "text":
        return column
    is_number = pc.match_substring_regex(column, _NEGATIVE_NUMBER)
    return pc.if_else(is_number, column, escape_formulas(column))
