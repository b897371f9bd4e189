"""Running grids into a store, with a progress display."""

from collections.abc import Sequence
from pathlib import Path

from oddshot.bench.grid import Engine, Grid, RunCounts, run_grid
from oddshot.bench.progress import show_progress
from oddshot.bench.record import RunKey, RunRecord
from oddshot.bench.selection import default_auc
from oddshot.bench.store import RunStore, open_store


def fill_store(
    path: Path,
    grids: Sequence[Grid],
    engine: Engine,
    *,
    device: str = "auto",
    retry_failed: bool = False,
    quiet: bool = False,
) -> tuple[RunCounts, list[RunRecord]]:
    """Run what the store lacks of the grids. Returns the counts over all grids, and their failed runs."""
    total, keys = RunCounts(0, 0, 0), set[RunKey]()
    with open_store(path) as store:
        for grid in grids:
            counts, grid_keys = _run_with_progress(grid, store, engine, device, retry_failed, quiet)
            total += counts
            keys.update(grid_keys)
        failures = [record for record in store.records() if record.key in keys and record.status == "failed"]
    return total, failures


def _run_with_progress(
    grid: Grid, store: RunStore, engine: Engine, device: str, retry_failed: bool, quiet: bool
) -> tuple[RunCounts, set[RunKey]]:
    """Run what the store lacks of a grid. Returns the counts, and the keys of all runs of the grid."""
    grid_keys = set[RunKey]()
    with show_progress(default_auc(grid.settings.protocol), quiet) as display:

        def on_start(counts: RunCounts, keys: Sequence[RunKey]) -> None:
            grid_keys.update(keys)
            display.on_start(counts, [record for record in store.records() if record.key in grid_keys])

        counts = run_grid(
            grid,
            store,
            engine,
            device=device,
            retry_failed=retry_failed,
            on_start=on_start,
            on_finish=display.on_finish,
        )
    return counts, grid_keys
