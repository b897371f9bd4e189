"""Cells without a value: those in which something is written that is taken as missing, and gaps."""

from collections import Counter

from oddshot.data.tables.column_names import join_names

_MAX_COLUMNS_SHOWN = 10


class SkippedCells:
    """Gathers such cells over any number of blocks of rows, so that each is said once.

    Several threads may add cells at the same time.
    """

    def __init__(self) -> None:
        self._found: list[tuple[str, int, int, str]] = []
        self._missing: list[tuple[str, int]] = []

    def add(self, column: str, n_cells: int, first_row: int, problem: str) -> None:
        """Add cells of a block. first_row, problem: where the first of them is, and what is wrong with it."""
        self._found.append((column, first_row, n_cells, problem))

    def add_missing(self, column: str, n_cells: int) -> None:
        """Add cells of a block that are missing, for whatever reason, in a column that had all values before."""
        self._missing.append((column, n_cells))

    def gaps_notice(self, n_rows: int) -> str:
        """Return a sentence on the gaps in columns that had none before, or nothing. n_rows: of all blocks together."""
        gaps: Counter[str] = Counter()
        for column, n_cells in self._missing:
            gaps[column] += n_cells
        for column, _, n_cells, _ in self._found:  # said already
            gaps[column] -= n_cells
        ordered = sorted(gaps.items(), key=lambda gap: (-gap[1], gap[0]))
        found = [f"{column!r} ({n_cells:,} of {n_rows:,} rows)" for column, n_cells in ordered if n_cells > 0]
        if not found:
            return ""
        columns, have = ("column", "has") if len(found) == 1 else ("columns", "have")
        return (
            f"{columns} {join_names(found, _MAX_COLUMNS_SHOWN)} {have} gaps in the rows to score, but none in the rows "
            "that were learned from; a gap is scored as an average value"
        )

    def notices(self) -> list[str]:
        """Return a sentence for each column, which names the first of its cells and how many more there are."""
        columns = dict.fromkeys(column for column, *_ in self._found)
        return [self._notice(column) for column in columns]

    def _notice(self, column: str) -> str:
        found = sorted((row, n_cells, problem) for name, row, n_cells, problem in self._found if name == column)
        first_row, _, problem = found[0]
        n_more = sum(n_cells for _, n_cells, _ in found) - 1
        more = f" (and {n_more:,} more)" if n_more else ""
        return f"row {first_row}, column {column!r}: {problem} and taken as missing{more}"
