"""`oddshot bench field`: the detector as users have it, beside simple methods that see the same rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oddshot.cli.bench_options import CacheDir, DataDir, Workers
from oddshot.cli.standard_output import say

if TYPE_CHECKING:
    from oddshot.bench.field.tables import FieldTable

MAX_PRINTED_FAILURES = 10


def field(
    data_dir: DataDir = None,
    cache_dir: CacheDir = None,
    tables: Annotated[
        Path | None,
        typer.Option(metavar="TABLES.npz", help="Further tables, as results/universal/keel_tables.py writes them."),
    ] = None,
    only: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="Groups or situations, for example apart,growth/10+2. The group fleets runs only if it is named.",
        ),
    ] = "",
    split: Annotated[
        str,
        typer.Option(
            metavar="choosing|reporting|all", help="Tables for choosing settings, for reporting results, or both."
        ),
    ] = "reporting",
    methods: Annotated[
        str, typer.Option(metavar="A,B", help="Names of methods: oddshot and the simple ones. By default all.")
    ] = "",
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Model file to use instead of the model that ships.")
    ] = None,
    draws: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of random draws of each situation on each table.")
    ] = 5,
    workers: Workers = None,
    store: Annotated[Path, typer.Option(metavar="FILE", help="SQLite file that keeps finished results.")] = Path(
        "field.db"
    ),
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write the tables and the picture to.")] = Path(
        "results/field"
    ),
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress.")] = False,
) -> None:
    """Compare the detector with simple methods on the same rows, in the situations of its users.

    Stop it at any time: the same command computes only what the store lacks. Writes field.csv, table.md and
    field.png.

    \b
    Examples:
      oddshot bench field --data-dir data --tables TABLES.npz --store field.db
      oddshot bench field --tables TABLES.npz --split choosing --only apart,tiny --out /tmp/field
      oddshot bench field --tables TABLES.npz --split choosing --model candidate.safetensors --out /tmp/field
    """
    import os

    from oddshot.bench.field.keys import TrialSettings
    from oddshot.bench.field.runner import TrialFiles, run_and_report
    from oddshot.bench.field.tables import select_split

    chosen = select_split(_load_tables(data_dir, cache_dir, tables), split)
    names = tuple(name.strip() for name in methods.split(",") if name.strip())
    settings = TrialSettings(draws, names, None if model is None else str(model))
    situations = [name.strip() for name in only.split(",") if name.strip()]
    files = TrialFiles(store, out, data_dir, cache_dir)
    outcome = run_and_report(situations, chosen, settings, files, workers or os.cpu_count() or 1, split, quiet)
    for line in outcome.failures[:MAX_PRINTED_FAILURES]:
        say(f"failed: {line}", err=True)
    say(*outcome.summary.split("\n"))
    say(f"written: {', '.join(outcome.written)} in {out}")
    if outcome.failures:
        raise typer.Exit(1)


def _load_tables(data_dir: str | None, cache_dir: str | None, tables: Path | None) -> "list[FieldTable]":
    """The paper's tables that are here, those of the file, and the synthetic ones."""
    from oddshot.bench.field.tables import load_keel_tables, load_paper_tables, synthetic_tables

    keel = [] if tables is None else load_keel_tables(tables)
    return [*load_paper_tables(data_dir, cache_dir), *keel, *synthetic_tables()]
