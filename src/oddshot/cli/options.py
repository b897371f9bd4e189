"""Options and checks that several commands share."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from os.path import realpath, samefile
from pathlib import Path
from typing import Annotated, Any

import typer

from oddshot.cli.standard_output import STANDARD_OUTPUT, write_output
from oddshot.errors import InputError

Label = Annotated[str, typer.Option(help="Column with the labels: 1 anomaly, 0 normal, -1 or empty unlabelled.")]
AnomalyValue = Annotated[
    str | None, typer.Option(help="The label that means anomaly, where labels are text; every other one is normal.")
]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto: CUDA where there is one.")]
EngineName = Annotated[str, typer.Option("--engine", metavar="local|ray", help="This machine, or a Ray cluster.")]
Address = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Of the Ray cluster; else one is started here.")]
JsonFile = Annotated[
    Path | None, typer.Option("--json", help="Also write the figures to this JSON file; - is standard output.")
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="NAME,...", help="Columns to leave out, such as a key or a clock."),
]
Columns = Annotated[
    list[str] | None, typer.Option("--columns", metavar="NAME,...", help="The only columns to use.", show_default="all")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind", metavar="NAME=KIND", help="number, category, boolean, date, text or ignore; can be repeated."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show neither the columns nor progress.")]


def column_choice(ignore: Sequence[str] | None, columns: Sequence[str] | None, kinds: Sequence[str] | None) -> Any:
    """The ColumnChoice that --ignore, --columns and --kind ask for; names with commas can be quoted as in CSV."""
    from oddshot.data.encoding import ColumnChoice

    chosen: dict[str, str] = {}
    for pair in kinds or ():
        name, equals, kind = pair.rpartition("=")
        if not equals or not name:
            raise InputError(f"--kind {pair}: expected NAME=KIND, such as zip=category")
        chosen[name] = kind
    for name in _split_names(ignore):
        if chosen.get(name, "ignore") != "ignore":
            raise InputError(f"column {name!r} is both ignored and a {chosen[name]}")
        chosen[name] = "ignore"
    return ColumnChoice(tuple(_split_names(columns)) if columns else None, chosen)


def _split_names(names: Sequence[str] | None) -> list[str]:
    return [name.strip() for row in csv.reader(names or ()) for name in row if name.strip()]


def write_json(path: Path | None, figures: Mapping[str, Any]) -> None:
    """Write the figures of a command to a JSON file, if a path was given."""
    if path is not None:
        write_output(path, (json.dumps(figures, indent=2) + "\n").encode())


def refuse_overwriting(inputs: Iterable[Path], **outputs: Path | None) -> None:
    """Refuse an output that is one of the inputs or another output, so that a mistyped name destroys no data.

    outputs: by the name of the option.
    """
    read = {realpath(path) for path in inputs}
    written: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        place = realpath(path)
        is_read = place in read or any(_is_same_file(path, other) for other in read)
        if is_read and path != STANDARD_OUTPUT:
            raise InputError(f"{path}: is read by this command; write to another file")
        if place in written:
            raise InputError(f"{path}: --{written[place]} and --{option} name the same file")
        written[place] = option


def _is_same_file(path: Path, other: str) -> bool:
    """Whether two paths are one file by different names, such as hard links."""
    try:
        return samefile(path, other)
    except OSError:
        return False
