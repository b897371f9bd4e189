"""Columns whose values to score lie beyond the rows that a task was adapted with: a clock, a new unit, a new sensor."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding import Encoding
from oddshot.data.encoding.date_column import DateColumn
from oddshot.data.encoding.numeric_column import NumericColumn
from oddshot.data.tables.column_names import format_names

EncodedRows = NDArray[np.float32]

_MIN_ROWS = 20  # to be scored; of fewer, some are often beyond the few labelled ones
_MIN_SEEN_ROWS = 5  # fewer have no range to speak of
_MAX_SHARE = 0.5  # of the rows may lie beyond the range; anomalies alone are fewer
_MARGIN = 0.5  # of the width of the range, on either side


@dataclass(frozen=True)
class SeenRanges:
    """The range of each column of numbers or absolute time in the rows that a task was adapted with.

    names: of K columns. attributes: [K], their places among the encoded attributes. low, high: [K], with a margin.
    """

    names: tuple[str, ...]
    attributes: NDArray[np.int64]
    low: EncodedRows
    high: EncodedRows

    @classmethod
    def of(cls, encoding: Encoding, rows: EncodedRows) -> "SeenRanges":
        """Find the ranges in encoded rows: [n, attributes]."""
        names, attributes, start = [], [], 0
        for encoder in encoding.encoders:
            is_number = isinstance(encoder, NumericColumn) and encoder.kind == "number" and not encoder.constant
            if is_number or (isinstance(encoder, DateColumn) and encoder.absolute):
                names.append(encoder.name)
                attributes.append(start)
            start += len(encoder.attribute_names)
        places = np.array(attributes, np.int64)
        low, high = rows[:, places].min(axis=0), rows[:, places].max(axis=0)
        margin = _MARGIN * (high - low)
        is_wide = (high > low) & (len(rows) >= _MIN_SEEN_ROWS)  # a constant column tells nothing of its range
        return cls(
            tuple(name for name, wide in zip(names, is_wide, strict=True) if wide),
            places[is_wide],
            (low - margin)[is_wide],
            (high + margin)[is_wide],
        )

    def count_beyond(self, rows: EncodedRows) -> NDArray[np.int64]:
        """How many of the encoded rows, [n, attributes], lie beyond the range of each column: [K]."""
        values = rows[:, self.attributes]
        counts: NDArray[np.int64] = ((values < self.low) | (values > self.high)).sum(axis=0)
        return counts


@dataclass
class RangeMonitor:
    """Counts, over any number of blocks of rows, those beyond the ranges."""

    ranges: SeenRanges
    n_rows: int = 0
    n_beyond: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, rows: EncodedRows) -> None:
        """Count the rows of a block: [n, attributes]."""
        counts = self.ranges.count_beyond(rows)
        self.n_beyond = counts if self.n_rows == 0 else self.n_beyond + counts
        self.n_rows += len(rows)

    def notice(self) -> str:
        """Name the columns of which most rows lie beyond what was seen, or nothing."""
        if self.n_rows < _MIN_ROWS:
            return ""
        moved = np.flatnonzero(self.n_beyond > _MAX_SHARE * self.n_rows)
        if len(moved) == 0:
            return ""
        names = [self.ranges.names[j] for j in moved]
        most = int(self.n_beyond[moved].max())
        columns = f"column{'s' * (len(names) > 1)} {format_names(names)}"
        return (
            f"{columns}: {most:,} of {self.n_rows:,} rows to score lie beyond the rows that were labelled or given "
            "unlabelled; if this is a clock or a counter, leave it out (--ignore NAME)"
        )
