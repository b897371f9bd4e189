"""Files out of tar.gz and zip archives that strangers made: nothing outside the target, nothing half-written."""

import gzip
import os
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from errno import EINVAL
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from oddshot.errors import InputError, OddshotError

LIMIT = 8 * 2**30  # bytes; DAMI's archives unpack to less than half of that
CHUNK = 2**20
# Every kind of damage that tarfile, zipfile and the decompressors below them report.
DAMAGE = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, struct.error, NotImplementedError, RuntimeError,
          ValueError, LookupError, OSError)  # fmt: skip


class ArchiveError(InputError):
    """The archive itself is at fault, not the disk nor the asker: damaged, hostile, or of other content."""


def unpack_files(archive: Path, target: Path, files: Collection[str], limit: int = LIMIT) -> list[str]:
    """Those of `files` that the archive holds, written to target/file; returns their names.

    A member is known by the last part of its path, so that an archive packed one folder higher or lower does too.
    Either all that were found are put into place, or (damage, a hostile member, over `limit` bytes) none.
    """
    wanted = {PurePosixPath(file).name: file for file in files}
    target.mkdir(parents=True, exist_ok=True)
    found: dict[str, Path] = {}
    with tempfile.TemporaryDirectory(dir=target, prefix=".unpack-") as folder:
        budget = limit
        with reporting_damage(archive):
            for name, size, content in _members(archive):
                check_member_name(name, archive)
                budget -= size
                if budget < 0:
                    raise ArchiveError(f"{archive}: unpacks to more than {limit} bytes; refused")
                file = wanted.get(PurePosixPath(name).name)
                if file is not None:
                    found[file] = Path(folder) / str(len(found))
                    copy_limited(content, found[file], size, archive)
        for file, path in found.items():
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target / file)
    return list(found)


def check_member_name(name: str, archive: Path) -> None:
    """Refuses a member that points out of the folder it is unpacked to."""
    outside = name.startswith("/") or PureWindowsPath(name).drive or ".." in name.replace("\\", "/").split("/")
    if outside or "\\" in name or "\0" in name:
        raise ArchiveError(f"{archive}: member {name!r} points outside the archive; refused")


def copy_limited(content: IO[bytes], path: Path, size: int, archive: Path) -> None:
    """The declared `size` bytes of a member into a file; one that goes on after them is refused."""
    left = size
    with path.open("wb") as out:
        while chunk := content.read(CHUNK):
            left -= len(chunk)
            if left < 0:
                raise ArchiveError(f"{archive}: a member is longer than the {size} bytes it declares; refused")
            out.write(chunk)
    if left:
        raise ArchiveError(f"{archive}: damaged (a member ends {left} bytes early); fetch it again")


@contextmanager
def reporting_damage(archive: Path) -> Iterator[None]:
    """Turns whatever a broken archive makes its reader raise into one line."""
    try:
        yield
    except OddshotError:
        raise
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno not in (None, EINVAL):  # the disk's fault; EINVAL: a wrong offset
            raise InputError(f"{archive}: cannot be unpacked: {error.strerror}") from error
        reason = str(error) or type(error).__name__
        raise ArchiveError(
            f"{archive}: damaged, or no {kind_of(archive)} archive ({reason}); fetch it again"
        ) from error


def kind_of(archive: Path) -> str:
    """Which of the two kinds an archive's name says that it is."""
    return "zip" if archive.suffix == ".zip" else "tar.gz"


def _members(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Name, declared size and content of every file; anything but a file or a folder is refused."""
    if kind_of(archive) == "zip":
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                if info.is_dir():
                    check_member_name(info.filename, archive)
                    continue
                check_zip_member(info, archive)
                with zipped.open(info) as content:
                    yield info.filename, info.file_size, content
    else:
        yield from _tar_members(archive)


def _tar_members(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    # A stream: one pass over the compressed file, whatever number of members is wanted.
    with gzip.open(archive) as plain, tarfile.open(fileobj=plain, mode="r|") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None:
                yield member.name, member.size, content
            elif member.isdir():
                check_member_name(member.name, archive)
            else:
                raise ArchiveError(f"{archive}: member {member.name!r} is a link or a device; refused")
        padding = 0
        while chunk := plain.read(CHUNK):  # gzip compares its checksum at the very end only
            padding += len(chunk)
            if padding > 2**26:
                raise ArchiveError(f"{archive}: goes on for more than {2**26} bytes after its last member; refused")


def check_zip_member(info: zipfile.ZipInfo, archive: Path) -> None:
    """Refuses links, devices, encrypted members, and one larger than an archive of ours may be as a whole."""
    mode = stat.S_IFMT(info.external_attr >> 16)
    if mode not in (0, stat.S_IFREG):
        raise ArchiveError(f"{archive}: member {info.filename!r} is a link or a device; refused")
    if info.flag_bits & 1:
        raise ArchiveError(f"{archive}: member {info.filename!r} is encrypted; expected plain files")
    if info.file_size > LIMIT:
        raise ArchiveError(f"{archive}: member {info.filename!r} unpacks to more than {LIMIT} bytes; refused")
