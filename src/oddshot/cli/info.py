"""`oddshot info`: the contents of a model file, or what would be understood of a table."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from oddshot.cli.options import (
    Columns,
    Ignore,
    JsonFile,
    Kinds,
    column_choice,
    refuse_overwriting,
    write_json,
)
from oddshot.cli.standard_output import frees_standard_output


@frees_standard_output
def info(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file that `oddshot train` wrote, or a table: CSV, Parquet, ...")
    ],
    label: Annotated[str | None, typer.Option(help="Of a table: the column with the labels.")] = None,
    ignore: Ignore = None,
    columns: Columns = None,
    kind: Kinds = None,
    json_file: JsonFile = None,
) -> None:
    """Show what a model file holds: method, columns, how it was trained; or what the columns of a table are.

    Example: oddshot info fleet.safetensors, or oddshot info new.csv
    """
    from oddshot.data.tables.readers import has_table_suffix

    refuse_overwriting([file], json=json_file)
    choice = column_choice(ignore, columns, kind)
    facts = _table_facts(file, label, choice) if has_table_suffix(file) else _model_facts(file)
    write_json(json_file, facts)


def _table_facts(path: Path, label: str | None, choice: Any) -> dict[str, Any]:
    """Print the kind of each column of a table, its gaps, and what would be left out and why."""
    from oddshot.data.encoding import Encoding
    from oddshot.data.encoding.description import describe_table
    from oddshot.data.tables import read_table
    from oddshot.errors import InputError

    table = read_table(path, [] if label is None else [label])
    if label is not None:
        if label not in table.column_names:
            raise InputError(f"{path}: no column {label!r}")
        table = table.drop_columns([label])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*left out", UserWarning)  # shown below
        encoding = Encoding.fit([table], [str(path)], choice)
    described = describe_table(table, encoding)
    typer.echo(f"{path}: {table.num_rows:,} rows, {table.num_columns:,} columns, {encoding.n_attributes:,} attributes")
    width = max(len(column.name) for column in described)
    for column in described:
        gaps = f", {column.n_missing:,} missing" if column.n_missing else ""
        typer.echo(f"  {column.name:<{width}}  {column.kind}{gaps}{': ' * bool(column.note)}{column.note}")
    return {
        "rows": table.num_rows,
        "attributes": encoding.n_attributes,
        "columns": {one.name: {"kind": one.kind, "missing": one.n_missing, "note": one.note} for one in described},
    }


def _model_facts(path: Path) -> dict[str, Any]:
    """Print what a model file holds."""
    import dataclasses

    from oddshot.storage.model_file import load_model

    loaded = load_model(path)
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
    typer.echo(f"{path}: method {facts['method']}, {facts['weights']:,} weights, {width} attributes")
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
    return facts
