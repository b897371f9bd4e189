"""`oddshot bench decisions`: what thresholds and probabilities hold for every number of rows."""

from pathlib import Path
from typing import Annotated

import typer

from oddshot.cli.bench_options import CacheDir, DataDir, Workers
from oddshot.cli.options import check_outputs
from oddshot.cli.standard_output import say


def decisions(
    data_dir: DataDir = None,
    cache_dir: CacheDir = None,
    tables: Annotated[
        Path | None,
        typer.Option(metavar="TABLES.npz", help="Further tables, as results/universal/keel_tables.py writes them."),
    ] = None,
    split: Annotated[
        str,
        typer.Option(
            metavar="choosing|reporting|all", help="Tables for choosing settings, for reporting results, or both."
        ),
    ] = "reporting",
    max_tables: Annotated[
        int, typer.Option(min=1, metavar="N", help="Tables of each source, those with the most anomalies first.")
    ] = 1,
    fleet: Annotated[
        str,
        typer.Option(
            metavar="A,B",
            help="Instead of tables: fleets, such as digits or nbaiot, each with a model that is trained on ten tasks "
            "of it with the defaults.",
        ),
    ] = "",
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Model file to use instead of the model that ships.")
    ] = None,
    draws: Annotated[int, typer.Option(min=1, metavar="N", help="Number of random draws of each table.")] = 3,
    copies: Annotated[
        str,
        typer.Option(
            metavar="A,B", help="Of as-is, twice (every row is given twice) and near (near-copies); by default all."
        ),
    ] = "",
    every: Annotated[
        int, typer.Option(min=1, metavar="N", help="Measure only one in N cells, always the same ones.")
    ] = 1,
    workers: Workers = None,
    compare: Annotated[
        Path | None, typer.Option(metavar="GRID.csv", help="The grid.csv of an earlier run, to say what changed.")
    ] = None,
    raw: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv.gz", help="File to write what was measured on every table and draw to."),
    ] = None,
    from_raw: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE.csv.gz", help="Measure nothing, and report what --raw has written."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write the tables and the picture to.")] = Path(
        "results/decisions"
    ),
    quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress.")] = False,
) -> None:
    """Measure what thresholds and probabilities hold, for every number of labelled and unlabelled rows.

    For 2 to 300 labelled normal rows, 0 to 100 labelled anomalies and 0 to 400 unlabelled rows: the shares of normal
    rows and of anomalies that are flagged, AUC and calibration error. Writes grid.csv, table.md and grid.png.

    \b
    Examples:
      oddshot bench decisions --data-dir data --tables TABLES.npz
      oddshot bench decisions --tables TABLES.npz --split choosing --every 20 --draws 1 --out /tmp/decisions
      oddshot bench decisions --tables TABLES.npz --model candidate.safetensors --compare grid.csv --out /tmp/decisions
      oddshot bench decisions --fleet digits --out /tmp/fleets
    """
    from oddshot.bench.decisions.command import GridRequest, run_grid

    check_outputs([path for path in (tables, model, compare, from_raw) if path is not None], raw=raw)
    text, written = run_grid(
        GridRequest(
            data_dir=data_dir,
            cache_dir=cache_dir,
            tables=tables,
            split=split,
            max_tables=max_tables,
            fleet=fleet,
            model=model,
            draws=draws,
            copies=copies,
            every=every,
            workers=workers,
            compare=compare,
            raw=raw,
            from_raw=from_raw,
            out=out,
            quiet=quiet,
        )
    )
    say(*text.split("\n"))
    say(f"written: {', '.join(written)} in {out}")
