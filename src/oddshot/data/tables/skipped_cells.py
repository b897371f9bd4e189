"""Cells in which something is written that is taken as missing."""


class SkippedCells:
    """Gathers such cells over any number of blocks of rows, so that there is one notice for each column.

    Several threads may add cells at the same time.
    """

    def __init__(self) -> None:
        self._found: list[tuple[str, int, int, str]] = []

    def add(self, column: str, n_cells: int, first_row: int, problem: str) -> None:
        """Add cells of a block. first_row, problem: where the first of them is, and what is wrong with it."""
        self._found.append((column, first_row, n_cells, problem))

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
