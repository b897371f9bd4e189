"""A bench at work: a store, an engine, a view, and one grid after another."""

import os
from collections.abc import Sequence
from pathlib import Path

from oddshot.bench.engines import LocalEngine, RayEngine
from oddshot.bench.grid import Engine, Grid, RunCounts, run_grid
from oddshot.bench.progress import show_progress
from oddshot.bench.record import RunKey, RunRecord
from oddshot.bench.selection import default_auc
from oddshot.bench.store import open_store
from oddshot.errors import InputError
from oddshot.model.device import resolve_device


def make_engine(name: str, address: str | None = None, workers: int | None = None, device: str = "auto") -> Engine:
    """`local` or `ray`. workers: where not given, one a core, or one for a GPU that trains all splits together."""
    if name == "local":
        if address is not None:
            raise InputError("--address is for --engine ray")
        usual = 1 if resolve_device(device).type == "cuda" else os.cpu_count() or 1
        return LocalEngine(workers or usual)
    if name == "ray":
        return RayEngine(address, workers)
    raise InputError(f"engine {name!r}; there are local and ray")


def fill_store(
    path: Path,
    grids: Sequence[Grid],
    engine: Engine,
    *,
    device: str = "auto",
    retry_failed: bool = False,
    quiet: bool = False,
) -> tuple[RunCounts, list[RunRecord]]:
    """Run what the store lacks of these grids. Returns the counts over all of them, and the failed runs."""
    total, wanted = RunCounts(0, 0, 0), set[RunKey]()
    with open_store(path) as store:
        for grid in grids:
            with show_progress(default_auc(grid.settings.protocol), quiet) as view:

                def on_start(tally: RunCounts, keys: Sequence[RunKey], view=view) -> None:  # type: ignore[no-untyped-def]
                    wanted.update(keys)
                    here = set(keys)
                    view.on_start(tally, [record for record in store.records() if record.key in here])

                total += run_grid(
                    grid, store, engine, device=device, retry_failed=retry_failed,
                    on_start=on_start, on_finish=view.on_finish,
                )  # fmt: skip
        failures = [record for record in store.records() if record.key in wanted and record.status == "failed"]
    return total, failures
