"""Tables of any library become Arrow tables with the wanted columns."""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oddshot.errors import InputError

_CANNOT_CONVERT = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)


def as_table(X: Any, where: str = "table") -> Any:
    """A pandas or polars frame, an Arrow table, a dict of columns or a 2-D array as a pyarrow.Table.

    The columns of an array [n, M] are called x0, x1, ...
    """
    if isinstance(X, pa.Table):
        columns = dict(_pairs(X.column_names, X.columns, where))
    elif isinstance(X, pa.RecordBatch):
        return as_table(pa.Table.from_batches([X]), where)
    elif hasattr(X, "to_arrow"):  # polars
        return as_table(X.to_arrow(), where)
    elif hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        columns = dict(_pairs(X.columns, (_array(X.iloc[:, j]) for j in range(X.shape[1])), where))
    elif isinstance(X, Mapping):
        columns = dict(_pairs(X.keys(), (_array(cells) for cells in X.values()), where))
    elif hasattr(X, "__arrow_c_stream__"):
        return as_table(pa.table(X), where)
    else:
        matrix = as_matrix(X, where)
        columns = {f"x{j}": _array(matrix[:, j]) for j in range(matrix.shape[1])}
    if len({len(cells) for cells in columns.values()}) > 1:
        raise InputError(f"{where}: columns of different lengths")
    return pa.table({name: _plain(cells) for name, cells in columns.items()})


def as_matrix(X: Any, where: str = "table") -> NDArray[Any]:
    """Rows without column names as an array: [n, M]."""
    if not isinstance(X, np.ndarray | list | tuple):
        expected = "expected a data frame, an Arrow table, a dict of columns or a 2-D array"
        raise InputError(f"{where}: a {type(X).__name__} is not a table; {expected}")
    try:
        matrix = np.asarray(X)
    except ValueError:
        raise InputError(f"{where}: rows of different lengths") from None
    if matrix.ndim != 2:
        raise InputError(f"{where}: {matrix.ndim}-D array; expected a 2-D array of rows and columns")
    if matrix.dtype.kind == "c":
        raise InputError(f"{where}: complex numbers; expected real ones")
    return matrix


def has_names(X: Any) -> bool:
    """Whether the columns of X are named; those of arrays and lists are taken in order."""
    return not isinstance(X, np.ndarray | list | tuple)


def take_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """These rows of an array or of an Arrow table."""
    return X.take(rows) if isinstance(X, pa.Table) else X[rows]


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse a column name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{where}: two columns are called {name!r}")
        seen.add(name)


def select_columns(table: Any, names: Sequence[str], where: str) -> Any:
    """The named columns, in this order; a missing one is an error, others are left out with a notice."""
    present = set(table.column_names)
    extra = [name for name in table.column_names if name not in set(names)]
    for name in names:
        if name not in present:
            hint = f" (renamed to {extra[0]!r}?)" if len(extra) == 1 else ""
            raise InputError(f"{where}: column {name!r} is missing{hint}")
    if extra:
        warnings.warn(f"{where}: ignored unknown columns: {listed(extra)}", stacklevel=2)
    return table.select(list(names))


def listed(names: Sequence[object], most: int = 10) -> str:
    """Names for a message, not too many."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def without_row_index(names: Iterable[str], where: object) -> tuple[str, ...]:
    """The names of a file's columns; the row index that pandas writes by default is left out, with a notice."""
    kept = []
    for name in names:
        if re.fullmatch(r"|Unnamed: \d+|__index_level_\d+__", name):
            warnings.warn(f"{where}: ignored column {name!r} (a row index?)", stacklevel=2)
        else:
            kept.append(name)
    return tuple(kept)


def _pairs(names: Iterable[Any], columns: Iterable[Any], where: str) -> Iterable[tuple[str, Any]]:
    texts = [str(name) for name in names]
    check_names(texts, where)
    return zip(texts, columns, strict=True)


def _array(cells: Any) -> Any:
    """Cells of any library as an Arrow array; where their types are mixed, as text."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiu":
        known = cells.dtype.newbyteorder("=") if cells.itemsize <= 8 else np.dtype(np.float64)  # no float128 in Arrow
        return pa.array(np.ascontiguousarray(cells, known))
    try:
        return pa.array(cells, from_pandas=True)
    except _CANNOT_CONVERT:
        import pandas as pd

        cells = list(cells)
        absent = [bool(missing) for missing in pd.isna(pd.Series(cells, dtype=object))]
        return pa.array([None if missing else str(cell) for cell, missing in zip(cells, absent, strict=True)])


def _plain(column: Any) -> Any:
    """The column without extension and view types, which few kernels know."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(column.cast(kind.storage_type))
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        return column.cast(pa.large_string())
    return column
