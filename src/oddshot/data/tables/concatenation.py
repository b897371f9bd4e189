"""Concatenate tables whose columns have the same names, but possibly different types."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from oddshot.data.tables.categories import canonical_text
from oddshot.data.tables.columns import arrow_kind


def concat_tables(tables: Sequence[Any]) -> Any:
    """Concatenate the rows of tables that have the same column names."""
    if len(tables) == 1:
        return tables[0]
    names = tables[0].column_names
    return pa.table({name: _concat_column([table[name] for table in tables]) for name in names})


def _concat_column(columns: Sequence[Any]) -> Any:
    """Concatenate columns: with their own type if they agree, as float64 if all are numbers, else as text."""
    types = {column.type for column in columns if arrow_kind(column) != "null"}
    kinds = {arrow_kind(column) for column in columns} - {"null"}
    if len(types) == 1:
        (common_type,) = types
    elif kinds == {"number"} and not any(pa.types.is_duration(arrow_type) for arrow_type in types):
        common_type = pa.float64()
    else:
        common_type = pa.string()
    return pa.chunked_array([chunk for column in columns for chunk in _cast(column, common_type).chunks], common_type)


def _cast(column: Any, arrow_type: Any) -> Any:
    """Cast a column; what becomes text is written as the category that it is, 1 and not 1.0."""
    if column.type == arrow_type or arrow_kind(column) == "null":
        return column.cast(arrow_type)
    if pa.types.is_string(arrow_type):
        decoded = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        is_text = arrow_kind(decoded) == "text"
        chunks = [chunk.cast(arrow_type) if is_text else canonical_text(chunk) for chunk in decoded.chunks]
        return pa.chunked_array(chunks, arrow_type)
    return column.cast(arrow_type, safe=False)
