"""`oddshot score`: adapt a model to the labelled rows of a new task and score tables of any size."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oddshot.cli.options import (
    Address,
    AnomalyValue,
    Columns,
    EngineName,
    Ignore,
    JsonFile,
    Keep,
    Kinds,
    Label,
    NormalValue,
    Quiet,
    check_outputs,
    column_choice,
    label_meaning,
    split_names,
    write_json,
)
from oddshot.cli.standard_output import STANDARD_OUTPUT, frees_standard_output, output_path, say, say_written
from oddshot.cli.starting import starting
from oddshot.data.files import named_path

if TYPE_CHECKING:
    from oddshot.scoring.distributed import RayScoring

N_CONTEXT_ROWS = 1000


@frees_standard_output
def score(
    files: Annotated[
        list[str],
        typer.Argument(
            help="CSV, Parquet, ARFF, JSON-lines or Excel files (or patterns) to score; - is standard input."
        ),
    ],
    support: Annotated[
        Path,
        typer.Option(
            parser=named_path,
            metavar="<path>",
            help="Table with the few labelled rows of the new task; it may hold unlabelled rows as well.",
        ),
    ],
    label: Label,
    out: Annotated[
        Path,
        typer.Option(
            parser=named_path,
            metavar="<path>",
            help="File for the scores, .csv or .parquet; - is standard output, as CSV.",
        ),
    ],
    model: Annotated[
        Path | None, typer.Option(help="File or name of a model.", show_default="the model that ships")
    ] = None,
    anomaly_value: AnomalyValue = None,
    normal_value: NormalValue = None,
    false_positive_rate: Annotated[
        float | None,
        typer.Option(
            help="Share of normal rows that may be flagged as anomalies, from 0.001 to 0.5.", show_default="0.05"
        ),
    ] = None,
    engine: EngineName = "local",
    address: Address = None,
    ignore: Ignore = None,
    columns: Columns = None,
    kind: Kinds = None,
    keep: Keep = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse a cell that is no number in a column of numbers.")
    ] = False,
    quiet: Quiet = False,
    json_file: JsonFile = None,
) -> None:
    """Score the rows of a new task, given a few labelled rows of it.

    The output has a line for each row, in the order of the input: file, row (the first is 1), the columns of --keep,
    score (higher is more anomalous), probability of an anomaly (as if half of all rows were anomalies) and anomaly
    (1 or 0). Unlabelled rows in the support improve the scores of the model that ships. Large files are read in
    chunks. With --engine ray, the machines of a cluster score many files at the same time; all of them must be able to
    read the files. A cell that is no number in a column of numbers is a missing value, which is counted and named; if
    more than 5 % of a column's cells are such, or with --strict, it is an error. Nothing is written unless all rows
    could be scored.

    \b
    Examples:
      oddshot score --support labelled.csv --label fault new.csv --out scores.csv
      oddshot score --model fleet.safetensors --support labelled.csv --label fault new/*.parquet --out scores.parquet
      oddshot score --support labelled.csv --label fault new.csv --out scores.csv --keep id,time
      zcat new.csv.gz | oddshot score --support labelled.csv --label fault - --out - | sort -t, -k3 -g -r | head
    """
    with starting(show=not quiet):
        from oddshot.adapted.task import AdaptedTask, find_encoding
        from oddshot.data.tables import find_files, read_support
        from oddshot.data.tables.labels import swapped_labels_notice
        from oddshot.scoring.kept_columns import check_kept_names
        from oddshot.scoring.streaming import SCHEMA, ScoringOptions, check_output, score_files
        from oddshot.universal.names import model_file
        from oddshot.universal.shipped import find_model

        progress = _progress(quiet=quiet)
    score_on_engine = _scoring_engine(engine, address)
    paths = find_files(files)
    inputs = [*paths, support] if model is None else [*paths, support, model_file(model)]
    check_outputs(inputs, out=out, json=json_file)
    if out != STANDARD_OUTPUT:
        check_output(out)
    kept = tuple(dict.fromkeys(split_names(keep)))
    check_kept_names(kept, SCHEMA.names)
    meaning = label_meaning(anomaly_value, normal_value)
    choice = column_choice(ignore, columns, kind, label=label)
    loaded = find_model(model)
    X, y = read_support(support, label, meaning)
    encoding = find_encoding(loaded, X, y, choice, _context(paths[0]) if loaded.encoding is None else ())
    task = AdaptedTask.from_table(loaded, X, y, false_positive_rate, encoding if loaded.encoding is None else None)
    for notice in filter(None, (task.notice, swapped_labels_notice(y))):
        warnings.warn(notice, stacklevel=1)
    with output_path(out, ".csv") as path, progress as on_rows:
        counts = score_files(task, paths, path, on_rows, score_on_engine, ScoringOptions(kept, strict))
    nothing_found = task.nothing_found_notice(counts.rows, counts.anomalies)
    if nothing_found:
        warnings.warn(nothing_found, stacklevel=1)
    if not quiet:
        say(*encoding.describe())
    say(f"{counts.rows:,} rows scored, {counts.anomalies:,} anomalies (score above {task.threshold:.4g})")
    if counts.n_bad_cells:
        say(f"{counts.n_bad_cells:,} bad cells taken as missing; the first are named above")
    say_written(out)
    figures = {
        "rows": counts.rows,
        "anomalies": counts.anomalies,
        "threshold": task.threshold,
        "bad_cells": counts.n_bad_cells,
        "first_bad_cells": counts.first_bad_cells(),
    }
    write_json(json_file, figures)


def _progress(*, quiet: bool) -> AbstractContextManager[Callable[[str, int], None] | None]:
    """The bar of the rows that are scored; a quiet command does without the modules that draw it."""
    if quiet:
        return nullcontext()
    from oddshot.training.progress import scoring_bar

    return scoring_bar()


def _context(path: Path) -> list[Any]:
    """The first rows of a file to score: together with a small support they show which columns number the rows."""
    from oddshot.data.tables import stream_table
    from oddshot.errors import OddshotError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the file is read again, and warned of then
        try:
            return [next(stream_table(path, N_CONTEXT_ROWS))]
        except OddshotError:
            return []


def _scoring_engine(name: str, address: str | None) -> "RayScoring | None":
    """The function that scores files; None to score them in this process."""
    from oddshot.errors import InputError

    if name == "ray":
        from oddshot.scoring.distributed import RayScoring

        return RayScoring(address)
    if name != "local":
        raise InputError(f"engine {name!r}; there are local and ray")
    if address is not None:
        raise InputError("--address is for --engine ray")
    return None
