"""Options and checks that several commands share."""

import json
from collections.abc import Iterable, Mapping
from os.path import realpath
from pathlib import Path
from typing import Annotated, Any

import typer

from oddshot.errors import InputError

Label = Annotated[str, typer.Option(help="Column with the labels: 1 anomaly, 0 normal, -1 or empty unlabelled.")]
AnomalyValue = Annotated[
    str | None, typer.Option(help="The label that means anomaly, where labels are text; every other one is normal.")
]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto: CUDA where there is one.")]
EngineName = Annotated[str, typer.Option("--engine", metavar="local|ray", help="This machine, or a Ray cluster.")]
Address = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Of the Ray cluster; else one is started here.")]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Also write the figures to this JSON file.")]


def write_json(path: Path | None, figures: Mapping[str, Any]) -> None:
    """Write the figures of a command to a JSON file, if a path was given."""
    if path is not None:
        from oddshot.data.files import write_bytes

        write_bytes(path, (json.dumps(figures, indent=2) + "\n").encode())


def refuse_overwriting(out: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output path that is one of the inputs, so that a mistyped --out destroys no data."""
    if realpath(out) in map(realpath, inputs):
        raise InputError(f"{out}: is read by this command; write to another file")
