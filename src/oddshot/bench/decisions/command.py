"""What the command does, for `oddshot bench decisions` and for `python -m oddshot.bench.decisions`."""

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from oddshot.bench.decisions.grid import all_cells, every_nth
from oddshot.bench.decisions.report import write_report
from oddshot.bench.decisions.results import read_grid, read_raw, write_raw
from oddshot.bench.decisions.runner import GridTables, measure_tables, tables_of_sources
from oddshot.bench.field.tables import load_keel_tables, load_paper_tables, select_split
from oddshot.data.files import check_writable, make_folder
from oddshot.errors import InputError

TITLES = {"all": "all tables", "choosing": "tables for choosing", "reporting": "tables for reporting"}


@dataclass(frozen=True, kw_only=True)
class GridRequest:
    """The options of the command; its help texts describe them."""

    data_dir: str | None = None
    cache_dir: str | None = None
    tables: Path | None = None
    split: str = "reporting"
    max_tables: int = 1
    fleet: str = ""
    model: Path | None = None
    draws: int = 3
    copies: str = ""
    every: int = 1
    workers: int | None = None
    compare: Path | None = None
    raw: Path | None = None
    from_raw: Path | None = None
    out: Path = Path("results/decisions")
    quiet: bool = False


def run_grid(request: GridRequest) -> tuple[str, list[str]]:
    """Measure, or read what was measured, and write the report. Returns its criteria and the names of the files."""
    earlier = None if request.compare is None else read_grid(request.compare)
    if request.raw is not None:
        check_writable(request.raw)
    make_folder(request.out)
    frame = _measure(request) if request.from_raw is None else read_raw(request.from_raw)
    if request.raw is not None:
        write_raw(request.raw, frame)
    fleets = f"fleets ({request.fleet})" if request.fleet else ""
    return write_report(frame, request.out, fleets or TITLES[request.split], earlier)


def _measure(request: GridRequest) -> pd.DataFrame:
    cells = every_nth(all_cells(request.copies), request.every)
    workers = request.workers or os.cpu_count() or 1
    if request.fleet:
        from oddshot.bench.decisions.fleets import train_fleets

        if request.model is not None:
            raise InputError("--model: a fleet has the model that is trained on it; give --fleet or --model")
        with TemporaryDirectory() as folder:
            groups = train_fleets(request.fleet, request.data_dir, request.cache_dir, Path(folder), request.quiet)
            return measure_tables(groups, cells, request.draws, workers, request.quiet)
    keel = [] if request.tables is None else load_keel_tables(request.tables)
    tables = select_split([*load_paper_tables(request.data_dir, request.cache_dir), *keel], request.split)
    chosen = tuple(tables_of_sources(tables, request.max_tables))
    group = GridTables(chosen, None if request.model is None else str(request.model))
    return measure_tables([group], cells, request.draws, workers, request.quiet)
