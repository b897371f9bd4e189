"""Read text files in RAR archives line by line, with whichever unpacker is installed, without writing to disk."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from oddshot.errors import CapacityError, InputError

MAX_LINE_BYTES = 2**20  # N-BaIoT's lines have about 2,000
MAX_MEMBER_BYTES = 16 * 2**30  # N-BaIoT's largest member has about 0.5 GB


@dataclass(frozen=True)
class Unpacker:
    """A program that unpacks RAR, with its arguments to list the members and to write one to standard output."""

    program: str
    list_args: tuple[str, ...]
    print_args: tuple[str, ...]


UNPACKERS = (
    Unpacker("bsdtar", ("-tf",), ("-xOf",)),
    Unpacker("unrar", ("lb", "-p-", "--"), ("p", "-inul", "-p-", "--")),
    Unpacker("7zz", ("l", "-ba", "-slt", "--"), ("x", "-so", "--")),
    Unpacker("7z", ("l", "-ba", "-slt", "--"), ("x", "-so", "--")),
)


def find_unpacker() -> Unpacker | None:
    """Return the first unpacker that is installed, or None."""
    return next((unpacker for unpacker in UNPACKERS if shutil.which(unpacker.program)), None)


def rar_lines(archive: Path, file_name: str) -> Iterator[bytes]:
    """Yield the lines of the member whose path ends in `file_name`."""
    unpacker = find_unpacker()
    if unpacker is None:
        programs = ", ".join(unpacker.program for unpacker in UNPACKERS)
        raise InputError(f"{archive.name}: reading RAR needs one of {programs} on the PATH; none is installed")
    member = next((name for name in _members(unpacker, archive) if PurePosixPath(name).name == file_name), None)
    if member is None:
        raise InputError(f"{archive}: holds no {file_name}")
    if not re.fullmatch(r"\w[\w ./-]*", member):  # unpackers interpret wildcards, options and @lists in names
        raise InputError(f"{archive}: member {member!r} has an unexpected name; refused")
    command = [unpacker.program, *unpacker.print_args, str(archive), member]
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr)
        assert process.stdout is not None
        try:
            yield from limited_lines(process.stdout, f"{archive}: {member}")
            code = process.wait()
        finally:
            process.stdout.close()
            process.kill()
            process.wait()
        if code != 0:
            stderr.seek(0)
            raise _unpacker_error(unpacker, archive, stderr.read(2000))


def limited_lines(stream: IO[bytes], where: str, max_bytes: int = MAX_MEMBER_BYTES) -> Iterator[bytes]:
    """Yield the lines of a stream; a line or a stream that is too long is refused."""
    remaining_bytes = max_bytes
    while line := stream.readline(MAX_LINE_BYTES):
        remaining_bytes -= len(line)
        if remaining_bytes < 0 or len(line) == MAX_LINE_BYTES:
            raise CapacityError(f"{where}: longer than any table expected here; refused")
        yield line


def _members(unpacker: Unpacker, archive: Path) -> list[str]:
    """Return the paths of the members."""
    command = [unpacker.program, *unpacker.list_args, str(archive)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        raise _unpacker_error(unpacker, archive, done.stderr or done.stdout)
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    if unpacker.program.startswith("7z"):  # prints "Path = NAME" among other properties
        lines = [line.removeprefix("Path = ") for line in lines if line.startswith("Path = ")]
    return [line.replace("\\", "/") for line in lines]


def _unpacker_error(unpacker: Unpacker, archive: Path, output: bytes) -> InputError:
    reason = " ".join(output.decode("utf-8", "replace").split())[:200]
    return InputError(f"{archive}: {unpacker.program} cannot unpack it ({reason or 'no reason given'})")
