"""Convert data frames of any library, and arrays, to Arrow tables."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oddshot.data.missing_cells import are_missing
from oddshot.data.tables.column_names import check_unique_names
from oddshot.errors import InputError, one_line

_CONVERSION_ERRORS = (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError, TypeError)  # of Decimal("Infinity")


def as_table(X: Any, where: str = "table") -> Any:
    """Convert a pandas or polars frame, an Arrow table, a dict of columns or a 2-D array to a pyarrow.Table.

    The columns of an array [n, M] are named x0, x1, ... where: names the table in error messages.
    """
    if isinstance(X, pa.Table):
        check_unique_names(X.column_names, where)
        X = X.drop_columns([name for name in X.column_names if re.fullmatch(r"__index_level_\d+__", name)])
        if all(map(_is_common_type, X.schema.types)) and not any(map(_has_null_value, X.columns)):
            return X.replace_schema_metadata(None) if X.schema.metadata else X
        columns = _columns_by_name(X.column_names, X.columns, where)
    elif isinstance(X, pa.RecordBatch):
        return as_table(pa.Table.from_batches([X]), where)
    elif hasattr(X, "to_arrow"):  # polars
        return as_table(X.to_arrow(), where)
    elif hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        columns = _columns_by_name(X.columns, (_to_arrow_array(X.iloc[:, j]) for j in range(X.shape[1])), where)
    elif isinstance(X, Mapping):
        check_cells(X, where)
        columns = _columns_by_name(X.keys(), (_to_arrow_array(cells) for cells in X.values()), where)
    elif hasattr(X, "__arrow_c_stream__") and not hasattr(X, "iloc"):  # a Series of pandas has both
        return as_table(pa.table(X), where)
    else:
        matrix = as_matrix(X, where)
        columns = {f"x{j}": _to_arrow_array(matrix[:, j]) for j in range(matrix.shape[1])}
    if len({len(cells) for cells in columns.values()}) > 1:
        raise InputError(f"{where}: columns of different lengths")
    return pa.table({name: _to_common_type(cells) for name, cells in columns.items()})


def check_cells(columns: Mapping[Any, Any], where: str) -> None:
    """Refuse a dict whose values are not columns, such as a dict of the cells of one row."""
    for name, cells in columns.items():
        is_column = isinstance(cells, Iterable) and not isinstance(cells, str | bytes | Mapping)
        if not is_column or (isinstance(cells, np.ndarray) and cells.ndim != 1):
            raise InputError(f"{where}: column {name!r} is {one_line(cells)}; expected a list of its cells")


def count_rows(X: Any, where: str = "table") -> int:
    """Return the number of rows of an array or of a table of any library."""
    if not has_column_names(X):
        return len(as_matrix(X, where))
    is_frame = hasattr(X, "columns") and hasattr(X, "shape")  # of pandas or polars: known without conversion
    return int(X.shape[0]) if is_frame else int(as_table(X, where).num_rows)


def flatten_structs(table: Any) -> Any:
    """Replace each column of structs by columns of their fields, named a.b; lists stay as they are."""
    while any(map(pa.types.is_struct, table.schema.types)):
        table = table.flatten()
    return table


def as_matrix(X: Any, where: str = "table") -> NDArray[Any]:
    """Convert an array or nested lists, whose columns have no names, to an array: [n, M]."""
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


def take_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """These rows of an array or of an Arrow table."""
    return X.take(rows) if isinstance(X, pa.Table) else X[rows]


def has_column_names(X: Any) -> bool:
    """Return whether the columns of X are named; those of arrays and lists are matched by position."""
    return not isinstance(X, np.ndarray | list | tuple)


def _columns_by_name(names: Iterable[Any], columns: Iterable[Any], where: str) -> dict[str, Any]:
    text_names = [str(name) for name in names]
    check_unique_names(text_names, where)
    return dict(zip(text_names, columns, strict=True))


def _to_arrow_array(cells: Any) -> Any:
    """Convert the cells of one column to an Arrow array; cells of mixed types become text."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiu":
        dtype = cells.dtype.newbyteorder("=") if cells.itemsize <= 8 else np.dtype(np.float64)  # no float128 in Arrow
        return pa.array(np.ascontiguousarray(cells, dtype))
    try:
        return pa.array(cells, from_pandas=True)
    except _CONVERSION_ERRORS:
        cells = list(cells)
        is_missing = are_missing(cells)
        return pa.array([None if missing else str(cell) for cell, missing in zip(cells, is_missing, strict=True)])


def _is_common_type(arrow_type: Any) -> bool:
    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    is_special = isinstance(arrow_type, pa.BaseExtensionType) or pa.types.is_run_end_encoded(arrow_type)
    is_view = pa.types.is_string_view(arrow_type) or pa.types.is_binary_view(arrow_type)
    return not (is_special or is_view or _is_short_decimal(arrow_type))


def _has_null_value(column: Any) -> bool:
    """Return whether null is one of the values of a dictionary-encoded column, where the codes hide it."""
    return pa.types.is_dictionary(column.type) and any(chunk.dictionary.null_count for chunk in _chunks(column))


def _chunks(column: Any) -> list[Any]:
    """Return the arrays that a column consists of."""
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _runs(chunk: Any) -> Any:
    """Return the number of the run that each cell of a run-end encoded array lies in."""
    cells = chunk.offset + np.arange(len(chunk))
    return pa.array(np.searchsorted(chunk.run_ends.to_numpy(), cells, side="right"))


def _is_short_decimal(arrow_type: Any) -> bool:
    return bool(pa.types.is_decimal(arrow_type) and arrow_type.bit_width < 128)


def _to_common_type(column: Any) -> Any:
    """Convert types that few Arrow functions support, such as views and short decimals, to common ones."""
    arrow_type = column.type
    if pa.types.is_run_end_encoded(arrow_type):
        decoded = [_to_common_type(chunk.values).take(_runs(chunk)) for chunk in _chunks(column)]
        return pa.chunked_array(decoded) if decoded else pa.chunked_array([], pa.string())
    if pa.types.is_dictionary(arrow_type) and (not _is_common_type(arrow_type) or _has_null_value(column)):
        decoded = [_to_common_type(chunk.dictionary).take(chunk.indices) for chunk in _chunks(column)]
        return pa.chunked_array(decoded) if decoded else pa.chunked_array([], pa.string())
    if isinstance(arrow_type, pa.BaseExtensionType):
        return _to_common_type(column.cast(arrow_type.storage_type))
    if pa.types.is_string_view(arrow_type):
        return column.cast(pa.large_string())
    if pa.types.is_binary_view(arrow_type):
        return column.cast(pa.large_binary())
    if _is_short_decimal(arrow_type):
        return column.cast(pa.decimal128(arrow_type.precision, arrow_type.scale))
    return column
