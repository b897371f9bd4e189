"""The command line `oddshot`: one module for each command, which imports what it needs when the command runs."""

import re
import sys
import warnings
from typing import Annotated, NoReturn, TextIO

import typer

from oddshot import __version__
from oddshot.cli.app import app_command
from oddshot.cli.bench import bench_app
from oddshot.cli.data import data_app
from oddshot.cli.demo import demo
from oddshot.cli.info import info
from oddshot.cli.score import score
from oddshot.cli.serve import serve
from oddshot.cli.train import train
from oddshot.errors import CapacityError, OddshotError

app = typer.Typer(
    name="oddshot",
    help=(
        "Find anomalies in a new task from a handful of labels.\n\n"
        "`score` the rows of a table from about five normal rows and one anomaly, at once with the model that ships or "
        "after `train` has learned from many labelled tasks (machines, sites, customers). Start with `oddshot demo`."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"oddshot {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of `oddshot` itself; the help text is that of the application."""


for command in (demo, train, score, info, serve):
    app.command()(command)
app.command("app")(app_command)
app.add_typer(data_app, name="data")
app.add_typer(bench_app, name="bench")


def main() -> NoReturn:
    """Run the command line.

    An error is one line on stderr, with exit code 1 if the machine's capacity was exceeded and 2 otherwise.
    """
    warnings.showwarning = _show_warning
    try:
        app()
    except OddshotError as error:
        print(f"oddshot: {error}", file=sys.stderr)
        sys.exit(1 if isinstance(error, CapacityError) else 2)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not re.search("out of memory|can't allocate memory", str(error)):
            raise
        print("oddshot: not enough memory", file=sys.stderr)
        sys.exit(1)
    sys.exit(0)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print warnings of oddshot, one line each; warnings of libraries about their use are not shown."""
    if issubclass(category, UserWarning):
        print(f"oddshot: note: {message}", file=sys.stderr)
