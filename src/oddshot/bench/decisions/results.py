"""What was measured in every cell, on every table and draw, and its means, with equal weight a source."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from oddshot.bench.decisions.grid import RATES, DecisionCell
from oddshot.bench.decisions.measure import N_BINS, MeasuredDraw
from oddshot.data.files import atomic_path
from oddshot.errors import InputError, file_error

CELL = ["normal", "anomalies", "unlabelled", "contamination", "copies"]
FLAGGED, FOUND = ([f"{what} {rate}" for rate in RATES] for what in ("flagged", "found"))
WEIGHTS, SUMS_OF_P, SUMS_OF_Y = ([f"{what}{k}" for k in range(N_BINS)] for what in ("w", "p", "y"))
VALUES = [*FLAGGED, *FOUND, "auc", *WEIGHTS, *SUMS_OF_P, *SUMS_OF_Y]
GRID_COLUMNS = [*CELL, "rate", "tables", "flagged", "worst", "found", "auc", "calibration_error"]


def to_frame(measured: Sequence[MeasuredDraw], cells: Sequence[DecisionCell]) -> pd.DataFrame:
    """A row for every cell, table and draw that was measured: CELL, table, source, draw, VALUES."""
    grid = pd.DataFrame([asdict(cell) for cell in cells], columns=CELL)
    frames = []
    for one in sorted(measured, key=lambda one: (one.source, one.table, one.draw)):
        there = np.isfinite(one.values[:, 0])
        frame = grid[there].assign(table=one.table, source=one.source, draw=one.draw)
        values = pd.DataFrame(one.values[there], columns=VALUES, index=frame.index)
        frames.append(pd.concat([frame, values], axis=1))
    return pd.concat(frames, ignore_index=True)


def write_raw(path: Path, frame: pd.DataFrame) -> None:
    """Write all measured values, compressed."""
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.5g", compression="gzip", lineterminator="\n")


def read_raw(path: Path) -> pd.DataFrame:
    """What `write_raw` wrote."""
    return _read_csv(path, "gzip", {*CELL, "table", "source", *VALUES}, "--raw")


def read_grid(path: Path) -> pd.DataFrame:
    """An earlier grid.csv."""
    return _read_csv(path, None, set(GRID_COLUMNS), "this command")


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over draws, then tables, then sources, a row for every cell and rate: GRID_COLUMNS.

    worst: the largest share of normal rows flagged on a table, the mean over its draws. calibration_error: |mean
    probability − share of anomalies| in bins of the probability, of all tables together.
    """
    tables = frame.groupby([*CELL, "source", "table"], sort=False)[VALUES].mean()
    means = tables.groupby([*CELL, "source"], sort=False).mean().groupby(CELL, sort=False).mean()
    by_cell = tables.groupby(CELL, sort=False)
    worst, n_tables = by_cell[FLAGGED].max(), by_cell.size()
    # The difference of the sums is that of the means times the weight of the bin; all bins weigh one together.
    error = np.abs(means[SUMS_OF_P].to_numpy() - means[SUMS_OF_Y].to_numpy()).sum(1)
    parts = []
    for rate, flagged, found in zip(RATES, FLAGGED, FOUND, strict=True):
        part = {"rate": rate, "tables": n_tables, "flagged": means[flagged], "worst": worst[flagged]}
        parts.append(pd.DataFrame(part | {"found": means[found], "auc": means["auc"], "calibration_error": error}))
    summary = pd.concat(parts).reset_index()
    return summary.sort_values([*CELL, "rate"], ignore_index=True)[GRID_COLUMNS]


def to_csv(summary: pd.DataFrame) -> str:
    """A line for every cell and rate."""
    text: str = summary.to_csv(index=False, float_format="%.3f", lineterminator="\n")
    return text


def cells_of(summary: pd.DataFrame) -> list[DecisionCell]:
    """The cell of every row of a summary."""
    return [DecisionCell(*values) for values in zip(*(summary[name] for name in CELL), strict=True)]


def _read_csv(path: Path, compression: Literal["gzip"] | None, columns: set[str], origin: str) -> pd.DataFrame:
    try:
        frame = pd.read_csv(path, compression=compression)
    except OSError as error:
        raise file_error("read", path, error) from error
    except (ValueError, EOFError) as error:
        raise InputError(f"{path}: cannot be read ({error}); expected a file that {origin} wrote") from error
    missing = sorted(columns - set(frame.columns))
    if missing:
        raise InputError(f"{path}: no column {missing[0]!r}; expected a file that {origin} wrote")
    return frame
