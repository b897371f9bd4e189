"""The command line `oddshot`: one module for each command, which imports what it needs when the command runs."""

import os
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
from oddshot.cli.ending import INTERRUPTED, interrupt_on_signals
from oddshot.cli.info import info
from oddshot.cli.models import models_app
from oddshot.cli.score import score
from oddshot.cli.serve import serve
from oddshot.cli.standard_output import discard, finish_standard_output, prepare_streams, say
from oddshot.cli.train import train
from oddshot.errors import (
    OPTIONAL_PACKAGES,
    CapacityError,
    FileError,
    InputError,
    OddshotError,
    file_error,
    missing_package,
    printable,
)

_shown: set[str] = set()  # warnings that have been printed

app = typer.Typer(
    name="oddshot",
    help=(
        "Find anomalies in a new task from a handful of labels.\n\n"
        "`score` ranks the rows of a table, given about five normal rows and one anomaly. It uses the model that "
        "ships, or one that `train` has learned from many labelled tasks (machines, sites, customers). Start with "
        "`oddshot demo`."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        say(f"oddshot {__version__}")
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
app.add_typer(models_app, name="models")
app.add_typer(data_app, name="data")
app.add_typer(bench_app, name="bench")


def main() -> NoReturn:
    """Run the command line.

    An error is one line on stderr, with exit code 1 if the machine's capacity was exceeded and 2 otherwise. Signals
    that ask the program to end are like Ctrl-C: what is half done is cleaned up.
    """
    _shown.clear()
    warnings.showwarning = _show_warning
    code: str | int | None = 0
    try:
        interrupt_on_signals()
        prepare_streams()
        _check_working_folder()
        try:
            app()
        except SystemExit as ended:
            code = ended.code
        finish_standard_output()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except OddshotError as error:
        code = _report(error)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL_PACKAGES:
            raise
        code = _report(missing_package("this command", error.name, OPTIONAL_PACKAGES[error.name]))
    except OSError as error:  # of the machine; those of files that a command reads and writes are caught there
        discard(sys.stdout)
        code = _report(_system_error(error))
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not re.search("out of memory|can't allocate memory", str(error)):
            raise
        code = _report(CapacityError("not enough memory"))
    except SystemError as error:  # what a module written in C makes of Ctrl-C while it is imported
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        code = INTERRUPTED
    sys.exit(code)


def _check_working_folder() -> None:
    """Refuse to work in a folder that was deleted: names of files mean nothing there."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise FileError("the working folder was deleted; go to another one") from None


def _report(error: OddshotError) -> int:
    """Print the line of an error, in which an argument is the option of that name, and return the exit code."""
    line = str(error)
    if isinstance(error, InputError) and error.argument is not None:
        line = f"--{error.argument.replace('_', '-')}{line.removeprefix(error.argument)}"
    print(f"oddshot: {printable(line)}", file=sys.stderr)
    return 1 if isinstance(error, CapacityError) else 2


def _system_error(error: OSError) -> OddshotError:
    """One line for what the machine refused; a full disk without the name of a file is that behind standard output."""
    kind = type(file_error("write", "", error))
    place = error.filename or ("standard output" if kind is CapacityError else None)
    reason = error.strerror or str(error)
    return kind(reason if place is None else f"{place}: {reason}")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print warnings of oddshot, one line each and once; warnings of libraries about their use are not shown."""
    if issubclass(category, UserWarning) and str(message) not in _shown:
        _shown.add(str(message))
        print(f"oddshot: note: {printable(message)}", file=sys.stderr)
