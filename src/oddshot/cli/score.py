"""`oddshot score`: adapt a model to a new task's labelled rows and score tables of any size."""

from pathlib import Path
from typing import Annotated

import typer

from oddshot.cli.options import AnomalyValue, Device, JsonFile, Label, refuse_overwriting, write_json


def score(
    files: Annotated[list[str], typer.Argument(help="CSV, Parquet or ARFF files (or patterns) to score.")],
    support: Annotated[Path, typer.Option(help="The new task's few labelled rows.")],
    label: Label,
    out: Annotated[Path, typer.Option(help="Where to write the scores: .csv or .parquet.")],
    model: Annotated[
        Path | None, typer.Option(help="A file that `oddshot train` wrote; without one, no network is used.")
    ] = None,
    anomaly_value: AnomalyValue = None,
    device: Device = "auto",
    json_file: JsonFile = None,
) -> None:
    """Score the rows of a new task from its few labelled ones.

    Writes file, row (1 = the first), score (higher = more anomalous) and anomaly (1 or 0), in the input's order. Large
    files are read a chunk at a time.

    Example: oddshot score --model fleet.safetensors --support labelled.csv --label fault new/*.parquet --out scores.csv
    """
    from oddshot.data.tables import find_files, read_support
    from oddshot.detector import FewShotDetector
    from oddshot.modelfile import load_model
    from oddshot.progress import scoring_bar
    from oddshot.scoring import score_files

    paths = find_files(files)
    refuse_overwriting(out, [*paths, support] if model is None else [*paths, support, model])
    detector = FewShotDetector(None if model is None else load_model(model, device))
    detector.fit(*read_support(support, label=label, anomaly_value=anomaly_value))
    with scoring_bar() as on_rows:
        counts = score_files(detector, paths, out, on_rows)
    typer.echo(f"{counts.rows:,} rows scored, {counts.anomalies:,} anomalies (score above {detector.threshold_:.4g})")
    typer.echo(f"written: {out}")
    figures = {"rows": counts.rows, "anomalies": counts.anomalies, "threshold": detector.threshold_}
    write_json(json_file, figures)
