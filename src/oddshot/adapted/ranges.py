"""Columns whose values to score lie beyond the rows that a task was adapted with: a clock, a new unit, a new sensor."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding import Encoding
from oddshot.data.encoding.date_column import DateColumn
from oddshot.data.encoding.interval_column import IntervalColumn
from oddshot.data.encoding.numeric_column import NumericColumn

EncodedRows = NDArray[np.float32]

_MIN_SEEN_ROWS = 5  # fewer have no range to speak of
_ROWS_TOGETHER = 64  # compared as one long row: NumPy is slow where rows are short
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
            is_number |= isinstance(encoder, IntervalColumn) and not encoder.constant
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
        values = rows if len(self.attributes) == rows.shape[1] else rows[:, self.attributes]
        n_long, width = len(values) // _ROWS_TOGETHER, _ROWS_TOGETHER * len(self.low)
        n_whole = n_long * _ROWS_TOGETHER
        counts = self._count(values[:n_whole].reshape(n_long, width), _ROWS_TOGETHER)
        together: NDArray[np.int64] = counts.reshape(_ROWS_TOGETHER, len(self.low)).sum(axis=0)
        return together + self._count(values[n_whole:], 1)

    def _count(self, values: EncodedRows, n_together: int) -> NDArray[np.int64]:
        """The same for each of the rows that are side by side: [n, n_together · K] -> [n_together · K]."""
        low, high = np.tile(self.low, n_together), np.tile(self.high, n_together)
        counts: NDArray[np.int64] = ((values < low) | (values > high)).sum(axis=0, dtype=np.int32).astype(np.int64)
        return counts
