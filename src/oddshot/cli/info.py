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
    check_outputs,
    column_choice,
    write_json,
)
from oddshot.cli.standard_output import frees_standard_output, say
from oddshot.data.files import named_path


@frees_standard_output
def info(
    file: Annotated[
        Path,
        typer.Argument(
            parser=named_path,
            metavar="FILE",
            help="A model (its file or its name), or a table (CSV, Parquet, ARFF, JSON lines or Excel).",
        ),
    ],
    label: Annotated[str | None, typer.Option(help="Column of the table with the labels.")] = None,
    ignore: Ignore = None,
    columns: Columns = None,
    kind: Kinds = None,
    json_file: JsonFile = None,
) -> None:
    """Show the method, the columns and the training of a model file, or the kinds of the columns of a table.

    Example: oddshot info fleet.safetensors, or oddshot info new.csv
    """
    from oddshot.data.tables.readers import has_table_suffix

    check_outputs([file], json=json_file)
    choice = column_choice(ignore, columns, kind, label=label)
    facts = _table_facts(file, label, choice) if has_table_suffix(file) else _model_facts(file)
    write_json(json_file, facts)


def _table_facts(path: Path, label: str | None, choice: Any) -> dict[str, Any]:
    """Print the kind of each column of a table, its gaps, and what would be left out and why."""
    from oddshot.data.encoding import Encoding
    from oddshot.data.encoding.description import describe_table
    from oddshot.data.tables import read_table
    from oddshot.data.tables.column_names import format_names
    from oddshot.errors import InputError, printable

    table = read_table(path, [] if label is None else [label])
    if label is not None:
        if label not in table.column_names:
            raise InputError(f"{path}: no column {label!r}; its columns are {format_names(table.column_names, 20)}")
        table = table.drop_columns([label])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*left out", UserWarning)  # shown below
        encoding = Encoding.fit([table], [str(path)], choice)
    described = describe_table(table, encoding, str(path))
    say(f"{path}: {table.num_rows:,} rows, {table.num_columns:,} columns, {encoding.n_attributes:,} attributes")
    names = [printable(column.name) for column in described]
    width = max(map(len, names))
    for name, column in zip(names, described, strict=True):
        gaps = f", {column.n_missing:,} missing" if column.n_missing else ""
        say(f"  {name:<{width}}  {column.kind}{gaps}{': ' * bool(column.note)}{column.note}")
    return {
        "rows": table.num_rows,
        "attributes": encoding.n_attributes,
        "columns": {one.name: {"kind": one.kind, "missing": one.n_missing, "note": one.note} for one in described},
    }


def _model_facts(path: Path) -> dict[str, Any]:
    """Print what a model file holds."""
    import dataclasses

    from oddshot.universal.shipped import find_model

    loaded = find_model(path)
    facts: dict[str, Any] = {
        "method": loaded.method.name,
        "settings": dataclasses.asdict(loaded.method.config),
        "weights": loaded.n_weights,
        "columns": None if loaded.encoding is None else dict(loaded.encoding.kinds),
        "attributes": None if loaded.encoding is None else loaded.encoding.n_attributes,
        "threshold": loaded.threshold,
        "training": loaded.training,
        "calibrated": loaded.calibration is not None,
    }
    width = "any number of" if loaded.encoding is None else facts["attributes"]
    say(f"{path}: method {facts['method']}, {facts['weights']:,} weights, {width} attributes")
    if loaded.encoding is not None:
        say(*loaded.encoding.describe())
    for title in ("settings", "training"):
        shown = {name: value for name, value in facts[title].items() if name != "candidates"}
        say(f"{title}: " + ", ".join(f"{name} {value}" for name, value in shown.items()))
    for title, figure in facts["training"].get("candidates", {}).items():
        say(f"candidate {title}: AUC {figure['auc']:.3f}")
    if loaded.calibration is None:
        say(f"threshold: {loaded.threshold:.3g} of the way from normal rows to labelled anomalies")
    else:
        say("calibrated: thresholds are false-positive rates")
    return facts
