"""What a person should know of rows to score: columns that have moved, gaps, and cells that are taken as missing."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oddshot.adapted.task import AdaptedTask
from oddshot.data.encoding.interval_column import pair_with_row_before
from oddshot.data.tables.column_names import format_names
from oddshot.data.tables.skipped_cells import BadCells, SkippedCells

MIN_ROWS = 20  # of fewer, some are often beyond the few labelled ones
MAX_SHARE = 0.5  # of the rows may lie beyond the range; anomalies alone are fewer


class ScoringMonitor:
    """Encodes any number of blocks of rows to score, and gathers what is to be said of them together.

    is_strict: whether a bad cell is refused at once.
    """

    def __init__(self, task: AdaptedTask, is_strict: bool = False) -> None:
        self._task, self._skipped, self._where = task, SkippedCells(is_strict), "table"
        self._last: dict[str, Any] = {}  # dates of the last row, for the time since the row before
        self._n_rows, self._n_beyond = 0, np.zeros(len(task.ranges.names), np.int64)

    def encode(self, X: Any, where: str, first_row: int = 1) -> NDArray[np.float32]:
        """Encode rows, as AdaptedTask.encode: [n, attributes]. They follow those of the block before."""
        if self._task.encoding.intervals and isinstance(X, pa.Table):
            X = pair_with_row_before(X, self._task.encoding.intervals, self._last)
        self._where, encoded = where, self._task.encode(X, where, first_row, self._skipped)
        self._n_beyond += self._task.ranges.count_beyond(encoded)
        self._n_rows += len(encoded)
        return encoded

    @property
    def bad_cells(self) -> BadCells:
        """The cells so far that are not what their column holds, and are taken as missing."""
        return self._skipped.bad_cells

    def notices(self) -> list[str]:
        """Return a sentence for each column with cells taken as missing, one on gaps, and one on columns that moved.

        Called when all rows are encoded: then a column with too many bad cells is refused.
        """
        self._skipped.check_bad_shares(self._where, self._n_rows)
        parts = (*self._skipped.notices(), self._skipped.gaps_notice(self._n_rows), self._moved_notice())
        return [notice for notice in parts if notice]

    def _moved_notice(self) -> str:
        moved = np.flatnonzero(self._n_beyond > MAX_SHARE * self._n_rows)
        if self._n_rows < MIN_ROWS or len(moved) == 0:
            return ""
        names = [self._task.ranges.names[j] for j in moved]
        most = int(self._n_beyond[moved].max())
        columns = f"column{'s' * (len(names) > 1)} {format_names(names)}"
        return (
            f"{columns}: {most:,} of {self._n_rows:,} rows to score lie beyond the rows that were labelled or given "
            "unlabelled; if this is a clock or a counter, ignore it"
        )
