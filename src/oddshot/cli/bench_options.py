"""What the commands of `oddshot bench` have in common: options, and how Ctrl-C ends them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

StorePath = Annotated[Path, typer.Option(metavar="FILE", help="Where finished runs are kept (SQLite).")]
Runs = Annotated[Path, typer.Option("--store", metavar="FILE", help="A store, or a runs.csv exported from one.")]
Protocol = Annotated[
    str, typer.Option(metavar="published|resampled", help="Rows as behind the paper's Table 1, or drawn at random.")
]
Datasets = Annotated[
    str,
    typer.Option(
        metavar="A,B", help="Names, `outlier` (the paper's 22 tables) or `all` (that are here); -A leaves A out."
    ),
]
Methods = Annotated[str, typer.Option(metavar="A,B", help="Names, or `all` (the paper's 13 and its 3 ablations).")]
Splits = Annotated[int, typer.Option(min=1, metavar="N", help="Splits 0 to N-1 of every dataset.")]
DataDir = Annotated[str | None, typer.Option("--data-dir", metavar="DIR", help="Folder with NAME.npz files.")]
CacheDir = Annotated[str | None, typer.Option("--cache-dir", metavar="DIR", help="Where fetched datasets are.")]
Workers = Annotated[int | None, typer.Option(min=1, metavar="N", help="Processes (CPU: one a core, CUDA: one).")]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto: CUDA where there is one.")]
Epochs = Annotated[int | None, typer.Option(min=1, metavar="N", help="At most so many (1000).")]
Patience = Annotated[int | None, typer.Option(min=1, metavar="N", help="Epochs without a better validation AUC (50).")]
Seed = Annotated[int, typer.Option(min=0, help="Other seeds give other splits.")]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="E.g. eigen.units=128, training.batch_size=64, sizes.query_normal=9."
    ),
]
Plugins = Annotated[
    list[Path] | None,
    typer.Option("--plugin", metavar="FILE", help="A Python file that registers methods or datasets."),
]
Where = Annotated[
    list[str] | None, typer.Option("--where", metavar="NAME=VALUE", help="Only runs so set, e.g. training.epochs=1000.")
]
AucName = Annotated[
    str | None, typer.Option("--auc", metavar="strict|half", help="Ties as a loss (published) or a half (resampled).")
]
OneOf = Annotated[str | None, typer.Option(metavar="A,B", help="Only these.")]


@contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C ends the bench with a line that says how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("stopped; finished runs are kept, the same command goes on from there", err=True)
        raise typer.Exit(130) from None
