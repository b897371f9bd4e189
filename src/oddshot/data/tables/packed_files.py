"""Tables in compressed files, on standard input and in pipes, unpacked to temporary files for the readers."""

import functools
import gzip
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from os.path import exists, isdir, isfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from oddshot.data.files import STANDARD_STREAM
from oddshot.errors import InputError, OddshotError

STANDARD_INPUT = STANDARD_STREAM
COMPRESSED_SUFFIXES = (".gz", ".zst", ".bz2")

_BLOCK_BYTES = 1 << 20
_MAGIC = {b"PAR1": ".parquet", b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"{": ".jsonl"}
_GIVEN_PATHS: dict[Path, Path] = {}  # by the temporary file to which a file is unpacked at the moment


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield the path of a plain file; errors of the block name the file that was given."""
    if not _is_utf8(path):
        raise InputError(f"{path}: the name is not UTF-8; rename the file")
    source = _spooled(path) if path == STANDARD_INPUT or is_pipe(path) else path
    if source.suffix.lower() not in COMPRESSED_SUFFIXES:
        with _named(source, path):
            yield source
        return
    with tempfile.TemporaryDirectory(prefix="oddshot-") as folder:
        plain = Path(folder) / source.stem
        with _named(source, path):
            _decompress(source, plain)
        with _named(plain, path):
            yield plain


def _is_utf8(path: Path) -> bool:
    """Return whether Arrow can open the file, and text can hold its name."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def is_pipe(path: Path) -> bool:
    """Return whether a path names a pipe or a device, which can be read once: a FIFO, or <(command) in a shell."""
    return exists(path) and not isfile(path) and not isdir(path)


def given_path(path: Path) -> Path:
    """Return what a person calls a file: its path, or that of the file from which it is unpacked."""
    return _GIVEN_PATHS.get(path, path)


@contextmanager
def _named(plain: Path, path: Path) -> Iterator[None]:
    """Replace the name of a temporary file in errors."""
    if plain == path:
        yield
        return
    _GIVEN_PATHS[plain] = path
    try:
        yield
    except OddshotError as error:
        raise type(error)(str(error).replace(str(plain), str(path))) from error
    finally:
        _GIVEN_PATHS.pop(plain, None)


@functools.cache
def _spooled(path: Path) -> Path:
    """Write standard input or a pipe to a file, once.

    Its suffix is that of the name or else of its first bytes, .csv if they tell nothing.
    """
    if path == STANDARD_INPUT and sys.stdin is None:
        raise InputError("-: standard input is closed")
    with nullcontext(sys.stdin.buffer) if path == STANDARD_INPUT else open(path, "rb") as source:
        head = source.read(_BLOCK_BYTES)
        if not head.strip():
            raise InputError("-: standard input is empty" if path == STANDARD_INPUT else f"{path}: the pipe is empty")
        suffix = path.suffix or next((suffix for magic, suffix in _MAGIC.items() if head.startswith(magic)), ".csv")
        target = Path(tempfile.mkdtemp(dir=_temporary_folder().name)) / f"input{suffix}"
        with open(target, "wb") as file:
            file.write(head)
            shutil.copyfileobj(source, file, _BLOCK_BYTES)
    return target


@functools.cache
def _temporary_folder() -> Any:
    """A folder that is deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="oddshot-")


def _decompress(path: Path, target: Path) -> None:
    """Decompress a file in constant memory."""
    with open(target, "wb") as file:
        try:
            with _open_compressed(path) as source:
                shutil.copyfileobj(source, file, _BLOCK_BYTES)
        except (EOFError, zlib.error, gzip.BadGzipFile, pa.ArrowException) as error:
            raise InputError(f"{path}: cannot be unpacked ({str(error).splitlines()[0]})") from error
        except OSError as error:
            if error.errno is not None:
                raise
            raise InputError(f"{path}: cannot be unpacked ({str(error).splitlines()[0]})") from error


def _open_compressed(path: Path) -> Any:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rb")
    return pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd" if path.suffix.lower() == ".zst" else "bz2")
