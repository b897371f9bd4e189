"""What the columns of a table hold, in a few words for people."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding.column_encoder import ColumnEncoder
from oddshot.data.encoding.date_column import DateColumn
from oddshot.data.encoding.encoding import Encoding
from oddshot.data.encoding.interval_column import IntervalColumn, pair_with_row_before, read_intervals
from oddshot.data.encoding.numeric_column import NumericColumn
from oddshot.data.tables import parsing
from oddshot.data.tables.categories import category_codes
from oddshot.data.tables.columns import (
    CellLocation,
    arrow_kind,
    read_booleans,
    read_numbers,
    read_timestamps,
)
from oddshot.data.tables.skipped_cells import SkippedCells

NOT_USED = "not used"
_SECONDS_PER_DAY = 86_400


@dataclass(frozen=True)
class ColumnDescription:
    """A column in a few words. kind: a key of KINDS, or NOT_USED, in which case note is the reason."""

    name: str
    kind: str
    n_missing: int
    note: str


def describe_table(table: Any, encoding: Encoding, where: str = "table") -> list[ColumnDescription]:
    """Describe every column of an Arrow table as the encoding takes it."""
    encoders = {encoder.name: encoder for encoder in encoding.encoders}
    table = pair_with_row_before(table, encoding.intervals)
    out = []
    for name in table.column_names:
        column = table[name]
        if name in encoders:
            n_missing, note = describe_cells(column, encoders[name], CellLocation(where, name, skipped=SkippedCells()))
            out.append(ColumnDescription(name, encoders[name].kind, n_missing, note))
        else:
            reason = encoding.dropped.get(name, "unknown to the model")
            out.append(ColumnDescription(name, NOT_USED, column.null_count, reason))
    return out


def describe_cells(column: Any, encoder: ColumnEncoder, location: CellLocation) -> tuple[int, str]:
    """Return the number of missing values of a column, and the range of the others."""
    if encoder.kind == "category":
        codes, categories = category_codes(column)
        return int((codes < 0).sum()), f"{len(categories):,} different value{'s' * (len(categories) != 1)}"
    if isinstance(encoder, IntervalColumn):
        dates, values = read_intervals(column, location, encoder.order)
        present = values[~np.isnan(values)]
        return int(np.isnan(dates).sum()), f"{_range_text(present)}, in seconds since the row before"
    if isinstance(encoder, DateColumn):
        values = read_timestamps(column, location, encoder.order)
    elif isinstance(encoder, NumericColumn):
        is_number = encoder.kind == "number"
        values = (
            read_numbers(column, location, encoder.notation, encoder.tolerant)
            if is_number
            else read_booleans(column, location)
        )
    else:
        is_text = arrow_kind(column) == "text"
        return int(parsing.clean_text(column.cast("string")).null_count if is_text else column.null_count), ""
    present = values[~np.isnan(values)]
    n_missing = len(values) - len(present)
    if len(present) == 0:
        return n_missing, "no values"
    low, high = present.min(), present.max()
    if encoder.kind == "boolean":
        return n_missing, f"true in {present.mean():.0%}"
    if isinstance(encoder, DateColumn):
        first, last = (str(np.datetime64(int(end), "s")).replace("T", " ") for end in (low, high))
        if 0 <= low <= high < _SECONDS_PER_DAY:  # times without a date
            first, last = first[-8:], last[-8:]
        return n_missing, f"{first} to {last} ({', '.join(encoder.parts)})"
    return n_missing, _range_text(present)


def _range_text(values: NDArray[np.float64]) -> str:
    low, high, middle = map(readable_number, (values.min(), values.max(), float(np.median(values))))
    return f"{low} to {high}, median {middle}"


def readable_number(value: float) -> str:
    """Four digits; powers of ten for very large and very small numbers only."""
    is_plain = value == 0 or 0.001 <= abs(value) < 1e6
    return f"{float(f'{value:.4g}'):.10g}" if is_plain else f"{value:.2e}"
