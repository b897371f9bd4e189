"""Lines of text files in a RAR archive, through whichever unpacker is installed; nothing is written to disk."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from oddshot.errors import InputError

LINE_LIMIT = 2**20  # bytes; N-BaIoT's lines have about 2,000
LIMIT = 16 * 2**30  # bytes of one member; N-BaIoT's largest has about 0.5 GB


@dataclass(frozen=True)
class Unpacker:
    """A program on the PATH, its arguments to list members one a line, and to write one to standard output."""

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
    """The first that is installed."""
    return next((unpacker for unpacker in UNPACKERS if shutil.which(unpacker.program)), None)


def rar_lines(archive: Path, file_name: str) -> Iterator[bytes]:
    """The lines of the member whose path ends in `file_name`."""
    unpacker = find_unpacker()
    if unpacker is None:
        programs = ", ".join(unpacker.program for unpacker in UNPACKERS)
        raise InputError(f"{archive.name}: reading RAR needs one of {programs} on the PATH; none is installed")
    member = next((name for name in _members(unpacker, archive) if PurePosixPath(name).name == file_name), None)
    if member is None:
        raise InputError(f"{archive}: holds no {file_name}")
    if not re.fullmatch(r"\w[\w ./-]*", member):  # the programs read wildcards, switches and @lists out of a name
        raise InputError(f"{archive}: member {member!r} has an unexpected name; refused")
    command = [unpacker.program, *unpacker.print_args, str(archive), member]
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints)
        assert process.stdout is not None
        try:
            yield from limited_lines(process.stdout, f"{archive}: {member}")
            code = process.wait()
        finally:
            process.stdout.close()
            process.kill()
            process.wait()
        if code != 0:
            complaints.seek(0)
            raise _failed(unpacker, archive, complaints.read(2000))


def limited_lines(stream: IO[bytes], where: str, limit: int = LIMIT) -> Iterator[bytes]:
    """Lines of a stream; one without end, or a stream without end, is refused."""
    while line := stream.readline(LINE_LIMIT):
        limit -= len(line)
        if limit < 0 or len(line) == LINE_LIMIT:
            raise InputError(f"{where}: longer than any table expected here; refused")
        yield line


def _members(unpacker: Unpacker, archive: Path) -> list[str]:
    command = [unpacker.program, *unpacker.list_args, str(archive)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        raise _failed(unpacker, archive, done.stderr or done.stdout)
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    if unpacker.program.startswith("7z"):  # prints "Path = NAME" among other properties
        lines = [line.removeprefix("Path = ") for line in lines if line.startswith("Path = ")]
    return [line.replace("\\", "/") for line in lines]


def _failed(unpacker: Unpacker, archive: Path, complaint: bytes) -> InputError:
    reason = " ".join(complaint.decode("utf-8", "replace").split())[:200]
    return InputError(f"{archive}: {unpacker.program} cannot unpack it ({reason or 'no reason given'})")
