"""Cells without a value: those in which something is written that is taken as missing, and gaps."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from oddshot.data.tables.column_names import join_names
from oddshot.errors import InputError

MAX_BAD_SHARE = 0.05  # of the cells of a column; above it, the column is another one than it should be
N_CELLS_NAMED = 3
_MAX_COLUMNS_SHOWN = 10
MAX_VALUE_CHARACTERS = 60


class NamedCell(NamedTuple):
    """A cell that is taken as missing. value: what is written in it."""

    row: int
    column: str
    value: object


@dataclass(frozen=True)
class BadCells:
    """How many cells are not what their column holds, and the first N_CELLS_NAMED of them."""

    count: int = 0
    first: tuple[NamedCell, ...] = ()


@dataclass(frozen=True)
class _Found:
    """Cells of a column in a block of rows. cells: the first of n_cells. is_bad: whether they are counted as bad."""

    cells: Sequence[NamedCell]
    n_cells: int
    problem: str
    is_bad: bool


class SkippedCells:
    """Gathers such cells over any number of blocks of rows, so that each is said once.

    is_strict: whether a bad cell is to be refused where it is found. Several threads may add cells at the same time.
    """

    def __init__(self, is_strict: bool = False) -> None:
        self.is_strict = is_strict
        self._found: list[_Found] = []
        self._missing: list[tuple[str, int]] = []

    def add(self, cells: Sequence[NamedCell], n_cells: int, problem: str, is_bad: bool) -> None:
        """Add cells of a column and block. cells: the first of them. problem: what is wrong with them."""
        self._found.append(_Found(cells, n_cells, problem, is_bad))

    def add_missing(self, column: str, n_cells: int) -> None:
        """Add cells of a block that are missing, for whatever reason, in a column that had all values before."""
        self._missing.append((column, n_cells))

    @property
    def bad_cells(self) -> BadCells:
        """The bad cells of all columns."""
        bad = [found for found in self._found if found.is_bad]
        first = sorted((cell for found in bad for cell in found.cells), key=lambda cell: cell[:2])
        return BadCells(sum(found.n_cells for found in bad), tuple(first[:N_CELLS_NAMED]))

    def check_bad_shares(self, where: str, n_rows: int) -> None:
        """Refuse a column with too many bad cells. where: the table in the message. n_rows: of all blocks together."""
        counts: Counter[str] = Counter()
        for found in self._found:
            counts[found.cells[0].column] += found.n_cells * found.is_bad
        for column, n_cells in counts.items():
            if n_cells > MAX_BAD_SHARE * n_rows:
                blocks = [found for found in self._found if found.is_bad and found.cells[0].column == column]
                first = min(blocks, key=lambda found: found.cells[0].row)
                row, _, value = first.cells[0]
                raise InputError(
                    f"{where}: row {row}, column {column!r}: {shortened(value)} {first.problem}; {n_cells:,} of "
                    f"{n_rows:,} cells of this column cannot be read, and at most {100 * MAX_BAD_SHARE:.0f} % may be "
                    "taken as missing"
                )

    def gaps_notice(self, n_rows: int) -> str:
        """Return a sentence on the gaps in columns that had none before, or nothing. n_rows: of all blocks together."""
        gaps: Counter[str] = Counter()
        for column, n_cells in self._missing:
            gaps[column] += n_cells
        for found in self._found:  # said already
            gaps[found.cells[0].column] -= found.n_cells
        ordered = sorted(gaps.items(), key=lambda gap: (-gap[1], gap[0]))
        shown = [f"{column!r} ({n_cells:,} of {n_rows:,} rows)" for column, n_cells in ordered if n_cells > 0]
        if not shown:
            return ""
        columns, have = ("column", "has") if len(shown) == 1 else ("columns", "have")
        return (
            f"{columns} {join_names(shown, _MAX_COLUMNS_SHOWN)} {have} gaps in the rows to score, but none in the rows "
            "that were learned from; a gap is scored as an average value"
        )

    def notices(self) -> list[str]:
        """Return a sentence for each column, which names the first of its cells and how many more there are."""
        columns = dict.fromkeys(found.cells[0].column for found in self._found)
        return [self._notice(column) for column in columns]

    def _notice(self, column: str) -> str:
        blocks = [found for found in self._found if found.cells[0].column == column]
        blocks.sort(key=lambda found: found.cells[0].row)
        first, *others = sorted(cell for found in blocks for cell in found.cells)[:N_CELLS_NAMED]
        n_more = sum(found.n_cells for found in blocks) - 1 - len(others)
        more = [f"row {cell.row}: {shortened(cell.value)}" for cell in others] + [f"{n_more:,} more"] * (n_more > 0)
        also = f" (also {', '.join(more)})" if more else ""
        place = f"row {first.row}, column {column!r}"
        return f"{place}: {shortened(first.value)} {blocks[0].problem} and taken as missing{also}"


def shortened(value: object) -> str:
    """What is written in a cell, as messages show it."""
    shown = repr(value)
    return shown if len(shown) <= MAX_VALUE_CHARACTERS else shown[: MAX_VALUE_CHARACTERS - 3] + "..."
