"""`oddshot info`: the contents of a model file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from oddshot.cli.options import JsonFile, write_json


def info(
    model: Annotated[Path, typer.Argument(help="A file that `oddshot train` wrote.")], json_file: JsonFile = None
) -> None:
    """Show what a model file holds: method, columns, how it was trained.

    Example: oddshot info fleet.safetensors
    """
    import dataclasses

    from oddshot.storage.model_file import load_model

    loaded = load_model(model)
    facts: dict[str, Any] = {
        "method": loaded.method.name,
        "settings": dataclasses.asdict(loaded.method.config),
        "weights": loaded.n_weights,
        "columns": None if loaded.encoding is None else dict(loaded.encoding.kinds),
        "attributes": None if loaded.encoding is None else loaded.encoding.n_attributes,
        "threshold": loaded.threshold,
        "training": loaded.training,
        "calibration": None if loaded.calibration is None else sorted(loaded.calibration.cases),
    }
    width = "any number of" if loaded.encoding is None else facts["attributes"]
    typer.echo(f"{model}: method {facts['method']}, {facts['weights']:,} weights, {width} attributes")
    if loaded.encoding is not None:
        typer.echo("\n".join(loaded.encoding.describe()))
    for title in ("settings", "training"):
        shown = {name: value for name, value in facts[title].items() if name != "candidates"}
        typer.echo(f"{title}: " + ", ".join(f"{name} {value}" for name, value in shown.items()))
    for title, figure in facts["training"].get("candidates", {}).items():
        typer.echo(f"candidate {title}: AUC {figure['auc']:.3f}")
    if loaded.calibration is None:
        typer.echo(f"threshold: {loaded.threshold:.3g} of the way from normal rows to labelled anomalies")
    else:
        typer.echo("calibrated for supports with " + "; ".join(facts["calibration"]))
    write_json(json_file, facts)
