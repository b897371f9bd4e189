"""Tables with the same columns, but maybe of other types, one below the other."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from oddshot.data.tables.categories import spell
from oddshot.data.tables.cells import content


def stack(tables: Sequence[Any]) -> Any:
    """One table with the rows of all; tables: with the same column names."""
    if len(tables) == 1:
        return tables[0]
    names = tables[0].column_names
    return pa.table({name: _stack_column([table[name] for table in tables]) for name in names})


def _stack_column(columns: Sequence[Any]) -> Any:
    """Cells of all columns in a type that has room for them: their own if they agree, else numbers, else text."""
    kinds = {column.type for column in columns if content(column) != "nothing"}
    contents = {content(column) for column in columns} - {"nothing"}
    if len(kinds) == 1:
        (kind,) = kinds
    elif contents == {"number"} and not any(pa.types.is_duration(kind) for kind in kinds):
        kind = pa.float64()
    else:
        kind = pa.string()
    return pa.chunked_array([chunk for column in columns for chunk in _cast(column, kind).chunks], kind)


def _cast(column: Any, kind: Any) -> Any:
    if column.type == kind or content(column) == "nothing":
        return column.cast(kind)
    if pa.types.is_string(kind):
        decoded = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        text = content(decoded) == "text"
        chunks = [chunk.cast(kind) if text else spell(chunk) for chunk in decoded.chunks]
        return pa.chunked_array(chunks, kind)
    return column.cast(kind, safe=False)
