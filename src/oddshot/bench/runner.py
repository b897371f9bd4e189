"""Running grids into a store, with a progress display."""

from collections.abc import Sequence
from pathlib import Path

from oddshot.bench.grid import Engine, Grid, RunCounts, run_grids
from oddshot.bench.progress import show_progress
from oddshot.bench.record import RunKey, RunRecord
from oddshot.bench.selection import default_auc
from oddshot.bench.store import open_store


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
    if not grids:
        return RunCounts(0, 0, 0), []
    known = set[RunKey]()
    with open_store(path) as store, show_progress(default_auc(grids[0].settings.protocol), quiet) as display:

        def on_start(counts: RunCounts, keys: Sequence[RunKey]) -> None:
            known.update(keys)
            display.on_start(counts, [record for record in store.records() if record.key in known])

        counts = run_grids(
            grids,
            store,
            engine,
            device=device,
            retry_failed=retry_failed,
            on_start=on_start,
            on_finish=display.on_finish,
        )
        failures = [record for record in store.records() if record.key in known and record.status == "failed"]
    return counts, failures
