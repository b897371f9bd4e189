"""What commands print, and `-` as the name of an output: that goes to standard output, and messages to stderr."""

import functools
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO, ParamSpec, TextIO

import typer

from oddshot.errors import FileError, file_error, printable

P = ParamSpec("P")

STANDARD_OUTPUT = Path("-")
OUTPUTS = ("out", "json_file")  # parameters of commands that name an output

_stdout: ContextVar[TextIO | None] = ContextVar("stdout", default=None)


def frees_standard_output(command: Callable[P, None]) -> Callable[P, None]:
    """The command, with its messages on stderr where one of its outputs is `-`."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        if not any(kwargs.get(name) == STANDARD_OUTPUT for name in OUTPUTS):
            return command(*args, **kwargs)
        token = _stdout.set(sys.stdout)
        try:
            with redirect_stdout(sys.stderr):
                command(*args, **kwargs)
        finally:
            _stdout.reset(token)

    return run


def say(*lines: object, err: bool = False) -> None:
    """Print lines; names in them come from files of other people, and cannot steer the terminal."""
    typer.echo("\n".join(map(printable, lines)), err=err)


def prepare_streams() -> None:
    """Refuse a closed standard output; a closed stderr discards, and a character that it cannot encode is escaped."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (open until the process ends)
    if sys.stdout is None:
        raise FileError("standard output is closed; redirect it to a file, or to /dev/null")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def finish_standard_output() -> None:
    """Write what is left in the buffer: an error at the end of the process would be a traceback."""
    try:
        sys.stdout.flush()
    except OSError as error:
        discard(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise file_error("write", "to standard output", error) from None


@contextmanager
def output_path(out: Path, suffix: str) -> Iterator[Path]:
    """The path to write to. For `-` it is a temporary file, whose content is printed when the block has succeeded."""
    if out != STANDARD_OUTPUT:
        yield out
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"output{suffix}"
        yield path
        with path.open("rb") as file:
            _print(file)


def write_output(out: Path, data: bytes) -> None:
    """Write a whole file, or print it for `-`."""
    from oddshot.data.files import write_bytes

    if out == STANDARD_OUTPUT:
        _print(io.BytesIO(data))
    else:
        write_bytes(out, data)


def say_written(out: Path, more: str = "") -> None:
    """Print which file was written; nothing for `-`."""
    if out != STANDARD_OUTPUT:
        say(f"written: {out}{more}")


def _print(file: BinaryIO) -> None:
    """Copy a file to standard output as it is outside of the command."""
    stream = _stdout.get() or sys.stdout
    try:
        shutil.copyfileobj(file, stream.buffer)
        stream.buffer.flush()
    except OSError as error:
        discard(stream)
        if not isinstance(error, BrokenPipeError):  # the reader, such as `head`, has seen enough
            raise file_error("write", "to standard output", error) from None


def discard(stream: TextIO) -> None:
    """What is left in the buffer of a stream, and all that follows, goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
