"""Columns of plain numbers in Arrow tables, many at once: column by column, wide tables would be slow.

Plain are numbers in columns of a floating-point type, without gaps or infinities. Whatever is not obvious at a glance,
such as what might be a key or a date, is left to the functions for one column.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oddshot.data.encoding.numeric_column import NumericColumn
from oddshot.data.encoding.running import MIN_ROWS, is_named_like_time
from oddshot.data.encoding.scaling import FloatArray, compute_robust_moments
from oddshot.data.tables.columns import MAX_MAGNITUDE

_NUMBERS_AT_ONCE = 1 << 20  # at most, to limit memory; longer columns are not worth it
_FLOATS = (pa.float64(), pa.float32())


def fit_plain_numbers(tables: Sequence[Any], names: Sequence[str]) -> dict[str, NumericColumn]:
    """Return the encoders of the columns that certainly are numbers of use, by their names; they need no warning."""
    n_at_once = _NUMBERS_AT_ONCE // max(sum(table.num_rows for table in tables), 1)
    if n_at_once == 0:
        return {}
    plain = [name for name in names if not is_named_like_time(name) and _is_plain(tables, name)]
    found: dict[str, NumericColumn] = {}
    for first in range(0, len(plain), n_at_once):
        group = plain[first : first + n_at_once]
        found |= _fit_group(group, [_matrix([table[name] for name in group]) for table in tables])
    return found


def plain_matrix(table: Any) -> FloatArray | None:
    """Return a table of few plain numbers, which may have gaps, as [n, M], NaN in gaps; None for any other table."""
    if table.num_rows * table.num_columns > _NUMBERS_AT_ONCE or not all(one in _FLOATS for one in table.schema.types):
        return None
    matrix = _matrix(table.columns)
    return None if (np.abs(matrix) > MAX_MAGNITUDE).any() else matrix


def _is_plain(tables: Sequence[Any], name: str) -> bool:
    """Return whether a column has a floating-point type and no gaps in any of the tables."""
    columns = [table[name] for table in tables]
    return all(column.type in _FLOATS and column.null_count == 0 for column in columns)


def _fit_group(names: Sequence[str], blocks: Sequence[FloatArray]) -> dict[str, NumericColumn]:
    """Return the encoders of some of these columns. blocks: their numbers in each table, [n, M]."""
    is_kept = _are_of_use(blocks)
    kept, names = [block.T[is_kept].T for block in blocks], [names[j] for j in np.flatnonzero(is_kept).tolist()]
    if not names:
        return {}
    moments = compute_robust_moments(kept)
    farthest = moments.limit * moments.scale
    is_distant = np.any([(np.abs(block - moments.mean) > farthest).any(axis=0) for block in kept], axis=0)
    return {
        name: NumericColumn.from_moments(name, "number", moments, j)
        for j, name in enumerate(names)
        if not is_distant[j]
    }


def _are_of_use(blocks: Sequence[FloatArray]) -> NDArray[np.bool_]:
    """Return which columns certainly are no keys, clocks or days, [M]: those with numbers that are not whole, and,
    where there are rows enough to tell, not sorted. blocks: their numbers in each table, [n, M]."""
    out: NDArray[np.bool_] = np.any([(np.trunc(block) != block).any(axis=0) for block in blocks], axis=0)
    for block in blocks:
        out &= (np.abs(block) <= MAX_MAGNITUDE).all(axis=0)  # NaN is not
    if sum(map(len, blocks)) >= MIN_ROWS:
        steps = np.diff(next((block for block in blocks if len(block) >= MIN_ROWS), blocks[0]), axis=0)
        out &= (steps <= 0).any(axis=0) & (steps >= 0).any(axis=0)
    return out


def _matrix(columns: Sequence[Any]) -> FloatArray:
    """Return Arrow columns of floating-point types, at least one, as a matrix, NaN in gaps: [n, M].

    The numbers of a column are adjacent: sums over the rows are then rounded as those of one column alone.
    """
    out = np.empty((len(columns), len(columns[0])))
    for row, column in zip(out, columns, strict=True):
        row[:] = column.to_numpy()
    return out.T
