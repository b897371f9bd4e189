"""`oddshot score`: adapt a model to the labelled rows of a new task and score tables of any size."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oddshot.cli.options import (
    Address,
    AnomalyValue,
    Columns,
    Device,
    EngineName,
    Ignore,
    JsonFile,
    Kinds,
    Label,
    Quiet,
    column_choice,
    refuse_overwriting,
    write_json,
)
from oddshot.cli.standard_output import STANDARD_OUTPUT, frees_standard_output, output_path, say_written

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
    support: Annotated[Path, typer.Option(help="The new task's few labelled rows.")],
    label: Label,
    out: Annotated[
        Path, typer.Option(help="Where to write the scores: .csv or .parquet; - is standard output, as CSV.")
    ],
    model: Annotated[
        Path | None, typer.Option(help="A file that `oddshot train` wrote.", show_default="the model that ships")
    ] = None,
    anomaly_value: AnomalyValue = None,
    false_positive_rate: Annotated[
        float | None,
        typer.Option(help="Share of normal rows that may be called anomalies, 0.001 to 0.5.", show_default="0.05"),
    ] = None,
    device: Device = "auto",
    engine: EngineName = "local",
    address: Address = None,
    ignore: Ignore = None,
    columns: Columns = None,
    kind: Kinds = None,
    quiet: Quiet = False,
    json_file: JsonFile = None,
) -> None:
    """Score the rows of a new task from its few labelled ones.

    Writes file, row (1 = the first), score (higher = more anomalous), probability (of an anomaly, were both kinds of
    rows equally frequent) and anomaly (1 or 0), in the input's order. Rows of the support without a label help a method
    that uses them. Large files are read a chunk at a time. With --engine ray many files are scored at once, by CPUs
    that can all read them; what is written is the same. Nothing is written unless all rows could be scored.

    \b
    Examples:
      oddshot score --support labelled.csv --label fault new.csv --out scores.csv
      oddshot score --model fleet.safetensors --support labelled.csv --label fault new/*.parquet --out scores.parquet
      zcat new.csv.gz | oddshot score --support labelled.csv --label fault - --out - | sort -t, -k3 -g -r | head
    """
    from oddshot.adapted.task import find_encoding
    from oddshot.data.tables import find_files, read_support
    from oddshot.detector import FewShotDetector
    from oddshot.scoring.streaming import check_output, score_files
    from oddshot.storage.model_file import load_model
    from oddshot.training.progress import scoring_bar
    from oddshot.universal.shipped import load_universal

    score_on_engine, device = _scoring_engine(engine, address, device)
    paths = find_files(files)
    refuse_overwriting([*paths, support] if model is None else [*paths, support, model], out=out, json=json_file)
    if out != STANDARD_OUTPUT:
        check_output(out)
    choice = column_choice(ignore, columns, kind)
    loaded = load_universal(device) if model is None else load_model(model, device)
    X, y = read_support(support, label=label, anomaly_value=anomaly_value)
    encoding = find_encoding(loaded, X, y, choice, _context(paths[0]) if loaded.encoding is None else ())
    detector = FewShotDetector(loaded, false_positive_rate, encoding if loaded.encoding is None else None)
    detector.fit(X, y)
    with output_path(out, ".csv") as path, scoring_bar(enabled=not quiet) as on_rows:
        counts = score_files(detector.task_, paths, path, on_rows, score_on_engine)
    if not quiet:
        typer.echo("\n".join(encoding.describe()))
    typer.echo(f"{counts.rows:,} rows scored, {counts.anomalies:,} anomalies (score above {detector.threshold_:.4g})")
    say_written(out)
    figures = {
        "rows": counts.rows,
        "anomalies": counts.anomalies,
        "threshold": detector.threshold_,
        "familiarity": detector.familiarity_,
    }
    write_json(json_file, figures)


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


def _scoring_engine(name: str, address: str | None, device: str) -> "tuple[RayScoring | None, str]":
    """The function that scores files, None to score them in this process, and the device of the model."""
    from oddshot.errors import InputError

    if name == "ray":
        from oddshot.scoring.distributed import RayScoring

        if device not in ("auto", "cpu"):
            raise InputError(f"--device {device}: --engine ray scores on CPUs")
        return RayScoring(address), "cpu"
    if name != "local":
        raise InputError(f"engine {name!r}; there are local and ray")
    if address is not None:
        raise InputError("--address is for --engine ray")
    return None, device
