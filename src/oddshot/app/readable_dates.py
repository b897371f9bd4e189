"""Refuse dates that neither Python nor a page can show: a Parquet file may hold any number as one."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from oddshot.errors import InputError, one_line

_DATE_ERRORS = (ValueError, OverflowError, KeyError, OSError, pa.ArrowException)  # what as_py raises


def check_dates(table: Any, where: str) -> None:
    """Refuse dates beyond the years 1 to 9999, durations beyond Python's, and unknown time zones."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        column = _plain_values(column)
        if not pa.types.is_temporal(column.type):
            continue
        place = f"{where}: column {name!r}"
        if pa.types.is_timestamp(column.type) and not _can_show(pa.scalar(0, column.type)):
            raise InputError(f"{place} has the time zone {one_line(column.type.tz)}, which is not known")
        if pa.types.is_duration(column.type):
            extremes = pc.min_max(column.cast(pa.int64())).as_py().values()  # min_max takes no durations
            if not all(_can_show(pa.scalar(extreme, column.type)) for extreme in extremes):
                raise InputError(f"{place} holds durations too long to show")
        elif not _can_show(pc.min_max(column)):
            raise InputError(f"{place} holds dates beyond the years 1 to 9999")


def _plain_values(column: Any) -> Any:
    """The values of a column, outside of dictionaries and lists."""
    while pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        column = pc.list_flatten(column)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _can_show(value: Any) -> bool:
    try:
        value.as_py()
    except _DATE_ERRORS:
        return False
    return True
