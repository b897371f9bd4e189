"""Names of rows: the values of a column that are different in all rows."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow.compute as pc

from oddshot.app.sheet import Sheet
from oddshot.errors import InputError

_N_PROBED_ROWS = 10_000  # mostly settle that a column does not name the rows


def propose_id_column(sheet: Sheet) -> str | None:
    """The first column that names the rows and that the detector does not use, if there is one."""
    unused = sheet.encoding.dropped
    return next((name for name in sheet.table.column_names if name in unused and is_unique(sheet.table[name])), None)


def check_id_column(sheet: Sheet, column: str) -> None:
    """Refuse a column that does not name every row with a value of its own."""
    if not is_unique(sheet.table[column]):
        raise InputError(f"column {column!r} does not name the rows: some have no value, or the same one")


def row_names(sheet: Sheet, column: str | None, rows: Any) -> list[str | None]:
    """The names of rows; None for each if no column is chosen."""
    if column is None:
        return [None] * len(rows)
    return [_name(value) for value in sheet.table[column].take(np.asarray(rows, np.int64)).to_pylist()]


def find_rows(sheet: Sheet, column: str, names: Iterable[str]) -> dict[str, int]:
    """The rows with these names; names that no row has are missing."""
    row_of = {_name(value): row for row, value in enumerate(sheet.table[column].to_pylist())}
    return {name: row_of[name] for name in names if name in row_of}


def _name(value: object) -> str:
    return " ".join(str(value).split())


def is_unique(column: Any) -> bool:
    """Whether every cell has a value of its own."""
    try:
        return all(
            part.null_count == 0 and len(pc.unique(part)) == len(part)
            for part in (column.slice(0, _N_PROBED_ROWS), column)
        )
    except NotImplementedError:  # a type that Arrow does not compare
        return False
