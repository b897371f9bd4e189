"""Limits of the service: the size of a request, and the number and lifetime of detectors."""

from dataclasses import dataclass

from oddshot.errors import InputError


@dataclass(frozen=True)
class ServiceLimits:
    """Limits of the service. Numbers beyond ±1e18 are refused as well, by the encoding of the columns."""

    max_body_bytes: int = 32 * 2**20  # of one request
    max_rows: int = 100_000  # of one request
    max_columns: int = 1_000
    max_cells: int = 4_000_000  # rows times columns of one request
    max_labelled_rows: int = 500  # of a support: the cost of some methods is quadratic in them
    max_seconds: float = 10.0  # of one request, after its body has arrived
    max_pending_adaptations: int = 32  # requests for more are refused
    max_cached_detectors: int = 1_000  # in memory; the least recently used detector is dropped first
    max_cached_bytes: int = 2**30  # in memory, of each worker
    max_stored_detectors: int = 100_000  # in the SQLite file
    max_stored_bytes: int = 2**34
    time_to_live_seconds: float = 7 * 86_400.0  # of a detector, since its last use

    def check_rows(self, n_rows: int, n_columns: int, where: str) -> None:
        """Refuse a table that is empty or too large. where: the field of the request, for the message."""
        if n_rows == 0 or n_columns == 0:
            raise InputError(f"{where}: no {'rows' if n_rows == 0 else 'columns'}; expected at least one")
        if n_rows > self.max_rows:
            raise InputError(f"{where}: {n_rows:,} rows; at most {self.max_rows:,} are taken at a time")
        if n_columns > self.max_columns:
            raise InputError(f"{where}: {n_columns:,} columns; at most {self.max_columns:,} are taken")
        if n_rows * n_columns > self.max_cells:
            raise InputError(f"{where}: {n_rows * n_columns:,} cells; at most {self.max_cells:,} are taken at a time")
