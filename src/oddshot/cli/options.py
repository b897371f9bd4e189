"""Options and checks that several commands share."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from os.path import realpath, samefile
from pathlib import Path
from typing import Annotated, Any

import typer

from oddshot.cli.standard_output import STANDARD_OUTPUT, write_output
from oddshot.data.files import named_path
from oddshot.errors import InputError

Label = Annotated[
    str, typer.Option(help="Column with the labels: 1 is an anomaly, 0 a normal row, -1 or empty an unlabelled row.")
]
AnomalyValue = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE,...",
        help="The label that means anomaly, or several, if labels are text. Every other label means normal.",
    ),
]
NormalValue = Annotated[
    list[str] | None,
    typer.Option(metavar="VALUE,...", help="The label that means normal, or several. Every other label means anomaly."),
]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto, which takes CUDA if it is available.")]
EngineName = Annotated[
    str, typer.Option("--engine", metavar="local|ray", help="Compute on this machine or on a Ray cluster.")
]
Address = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Address of the Ray cluster. Without it, Ray is started on this machine."),
]
JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--json",
        parser=named_path,
        metavar="<path>",
        help="Also write the figures to this JSON file; - is standard output.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="NAME,...", help="Columns to leave out, such as a key or a clock."),
]
Columns = Annotated[
    list[str] | None, typer.Option("--columns", metavar="NAME,...", help="Use only these columns.", show_default="all")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="NAME=KIND",
        help="Kind of a column: number, category, boolean, date, interval (since the row before), text or ignore.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="NAME,...", help="Columns of the files to copy beside the scores, such as an id."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print neither the kinds of the columns nor progress.")]

_NOTHING = Path()  # what an empty name becomes, such as that of a variable without a value


def column_choice(
    ignore: Sequence[str] | None,
    columns: Sequence[str] | None,
    kinds: Sequence[str] | None,
    **others: str | None,
) -> Any:
    """The ColumnChoice that --ignore, --columns and --kind ask for; names with commas can be quoted as in CSV.

    others: columns with another use, by the name of the option.
    """
    from oddshot.data.encoding import ColumnChoice

    chosen: dict[str, str] = {}
    for pair in kinds or ():
        name, equals, kind = pair.rpartition("=")
        if not equals or not name:
            raise InputError(f"--kind {pair}: expected NAME=KIND, such as zip=category")
        chosen[name] = kind
    for name in split_names(ignore):
        if chosen.get(name, "ignore") != "ignore":
            raise InputError(f"column {name!r} is both ignored and a {chosen[name]}")
        chosen[name] = "ignore"
    only = None if columns is None else tuple(split_names(columns))
    if only == ():
        raise InputError("--columns: expected the names of columns, such as load,speed")
    for option, other in others.items():
        if other is not None and (other in chosen or other in (only or ())):
            raise InputError(f"column {other!r} is that of --{option}; it is neither chosen nor ignored")
    return ColumnChoice(only, chosen)


def label_meaning(anomaly_value: Sequence[str] | None, normal_value: Sequence[str] | None) -> Any:
    """The LabelMeaning that --anomaly-value and --normal-value ask for; values with commas can be quoted as in CSV."""
    from oddshot.data.tables.label_meaning import LabelMeaning

    anomalies, normals = (None if given is None else split_names(given) for given in (anomaly_value, normal_value))
    return LabelMeaning.of(anomalies, normals, ("--anomaly-value", "--normal-value"))


def split_names(names: Sequence[str] | None) -> list[str]:
    """The names in all values of an option, each of which may be a list with commas, quoted as in CSV."""
    try:
        return [name.strip() for row in csv.reader(names or ()) for name in row if name.strip()]
    except csv.Error:
        raise InputError(f"{names!r}: expected names separated by commas, on one line") from None


def write_json(path: Path | None, figures: Mapping[str, Any]) -> None:
    """Write the figures of a command to a JSON file, if a path was given."""
    if path is not None:
        write_output(path, (json.dumps(figures, indent=2) + "\n").encode())


def check_outputs(inputs: Iterable[Path], **outputs: Path | None) -> None:
    """Refuse an output that is one of the inputs or another output, so that a mistyped name destroys no data.

    One that cannot be written is refused as well, before the work. outputs: by the name of the option.
    """
    from oddshot.data.files import check_writable

    files = list(inputs)
    if _NOTHING in files:
        raise InputError("the name of a file to read is empty, or . alone")
    read = {realpath(path) for path in files if path != STANDARD_OUTPUT}
    written: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if path == _NOTHING:
            raise InputError(f"--{option}: the name of a file to write is empty, or . alone")
        place = "-" if path == STANDARD_OUTPUT else realpath(path)
        if place in read or any(_is_same_file(path, other) for other in read):
            raise InputError(f"{path}: is read by this command; write to another file")
        if place in written:
            raise InputError(f"{path}: --{written[place]} and --{option} name the same file")
        written[place] = option
        if path != STANDARD_OUTPUT:
            check_writable(path)


def _is_same_file(path: Path, other: str) -> bool:
    """Whether two paths are one file by different names, such as hard links."""
    try:
        return samefile(path, other)
    except OSError:
        return False
