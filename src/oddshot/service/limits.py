"""How much one request may bring, and how long detectors are kept."""

from dataclasses import dataclass

from oddshot.errors import InputError


@dataclass(frozen=True)
class Limits:
    """Of the service. Numbers beyond ±1e18 are refused as everywhere, see data/cells.py.

    most_labelled: rows of a support with a label; the work of some methods grows with their square. most_cells: rows
    times columns. most_detectors, most_detector_bytes: kept in memory, the least recently used goes first. most_stored,
    most_stored_bytes: kept in the store. seconds_kept: since the last use.
    """

    most_bytes: int = 32 * 2**20
    most_rows: int = 100_000
    most_columns: int = 1_000
    most_cells: int = 4_000_000
    most_labelled: int = 500
    most_detectors: int = 1_000
    most_detector_bytes: int = 2**30
    most_stored: int = 100_000
    most_stored_bytes: int = 2**34
    seconds_kept: float = 7 * 86_400.0

    def check_rows(self, n_rows: int, n_columns: int, where: str) -> None:
        """Refuse a table that is empty or too large."""
        if n_rows == 0 or n_columns == 0:
            raise InputError(f"{where}: no {'rows' if n_rows == 0 else 'columns'}; expected at least one")
        if n_rows > self.most_rows:
            raise InputError(f"{where}: {n_rows:,} rows; at most {self.most_rows:,} are taken at a time")
        if n_columns > self.most_columns:
            raise InputError(f"{where}: {n_columns:,} columns; at most {self.most_columns:,} are taken")
        if n_rows * n_columns > self.most_cells:
            raise InputError(f"{where}: {n_rows * n_columns:,} cells; at most {self.most_cells:,} are taken at a time")
