"""The encoder of dates of which the time since the row before is used.

Rows are taken apart, by label or in blocks, after which the row before is another one. So the dates are first paired
with those of the row before, by `pair_with_row_before`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from oddshot.data.encoding.column_encoder import ALL_MISSING, AttributeArray, ColumnEncoder, FillRows
from oddshot.data.encoding.date_column import find_order
from oddshot.data.encoding.scaling import FloatArray, compute_robust_moments, deviation_from_constant, standardise
from oddshot.data.encoding.validation import check_fields, is_bool, is_mean, is_scale
from oddshot.data.tables.columns import CellLocation, arrow_kind, has_values, read_timestamps
from oddshot.data.tables.skipped_cells import SkippedCells
from oddshot.data.tables.written_dates import DateOrder, is_date_order

_NOW, _BEFORE = "date", "date of the row before"


@dataclass(frozen=True)
class IntervalColumn(ColumnEncoder):
    """Seconds since the row before, scaled as numbers are; 0 for the first row.

    constant, limit: as of NumericColumn. order: how dates are written where they are text.
    """

    kind: Literal["interval"]
    mean: float
    scale: float
    missing: bool
    constant: bool
    limit: float
    order: DateOrder

    def __post_init__(self) -> None:
        checks = dict.fromkeys(("missing", "constant"), is_bool)
        check_fields(self, mean=is_mean, scale=is_scale, limit=is_scale, order=is_date_order, **checks)

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The scaled interval, and whether the date is missing."""
        return (f"{self.name} interval", f"{self.name} missing") if self.missing else (f"{self.name} interval",)

    @property
    def first_limit(self) -> float:
        """Numbers beyond it are far outside of the others."""
        return self.limit

    def read(self, column: Any, location: CellLocation) -> FillRows:
        """Return a function that writes the 1 or 2 attributes."""
        dates, seconds = read_intervals(column, location, self.order)

        def fill(rows: slice, out: AttributeArray) -> None:
            if self.constant:
                deviation_from_constant(seconds[rows], self.mean, out[:, 0])
            else:
                standardise(seconds[rows], self.mean, self.scale, out[:, 0])
            missing = np.isnan(dates[rows])
            if self.missing:
                out[:, 1] = missing
            else:
                location.note_missing(missing)

        return fill


def fit_intervals(columns: Sequence[Any], locations: Sequence[CellLocation]) -> IntervalColumn | str:
    """Fit the encoder of a column of dates, given as the same column of each training table."""
    with_values = [column for column in (_split(column)[0] for column in columns) if has_values(column)]
    if not with_values:
        return ALL_MISSING
    for column in with_values:
        if arrow_kind(column) == "other":
            return f"{column.type} values"
    order = find_order(with_values, locations[0])
    found = [read_intervals(column, location, order) for column, location in zip(columns, locations, strict=True)]
    moments = compute_robust_moments([seconds[:, None] for _, seconds in found])
    if moments.n_present[0] == 0:
        return "dates of which none has one in the row before"
    return IntervalColumn(
        locations[0].column,
        "interval",
        mean=float(moments.mean[0]),
        scale=float(moments.scale[0]),
        missing=any(bool(np.isnan(dates).any()) for dates, _ in found),
        constant=bool(moments.is_constant[0]),
        limit=float(moments.limit[0]),
        order=order,
    )


def read_intervals(column: Any, location: CellLocation, order: DateOrder) -> tuple[FloatArray, FloatArray]:
    """Return the dates in seconds since 1970, and the seconds since the row before: [n] each, NaN where missing."""
    dates, dates_before = _split(column)
    now = read_timestamps(dates, location, order)
    before = read_timestamps(dates_before, replace(location, skipped=SkippedCells()), order)  # said of the row before
    return now, now - before


def pair_with_row_before(table: Any, names: Iterable[str], last: dict[str, Any] | None = None) -> Any:
    """Return an Arrow table with pairs in the named columns: the date, and that of the row before.

    last: the last dates of the block of rows before this one, by the column's name; those of this block take their
    place.
    """
    for name in names:
        if name not in table.column_names or _is_paired(table[name]):
            continue
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        first = pa.nulls(1, column.type) if last is None or name not in last else last[name].cast(column.type)
        dates = pa.concat_arrays([first, *column.chunks])
        if last is not None and len(column):
            last[name] = dates[-1:]
        pairs = pa.StructArray.from_arrays([dates[1:], dates[:-1]], [_NOW, _BEFORE])
        table = table.set_column(table.column_names.index(name), name, pairs)
    return table


def _is_paired(column: Any) -> bool:
    is_struct = pa.types.is_struct(column.type)
    return is_struct and [field.name for field in column.type.fields] == [_NOW, _BEFORE]


def _split(column: Any) -> tuple[Any, Any]:
    """The dates of a column of pairs, and those of the rows before."""
    dates, dates_before = column.flatten()
    return dates, dates_before
