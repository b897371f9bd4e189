"""Unpack files from untrusted tar.gz and zip archives: nothing outside the target folder, nothing half-written."""

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
from errno import EDQUOT, EFBIG, EINVAL, ENOSPC
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from oddshot.errors import CapacityError, FileError, InputError, OddshotError

MAX_UNPACKED_BYTES = 8 * 2**30  # DAMI's archives unpack to less than half of that
MAX_PADDING_BYTES = 2**26  # after the last member of a tar archive
MAX_HEADER_BYTES = 2**16  # of a tar header with long names or attributes, which tarfile reads as a whole
MAX_TAR_MEMBERS = 100_000  # tarfile keeps the header of each in memory
_LONG_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_CHUNK_BYTES = 2**20
_DISK_FULL = (ENOSPC, EDQUOT, EFBIG)
# Everything that tarfile, zipfile and the decompressors raise for a damaged archive.
_DAMAGE_ERRORS = (
    tarfile.TarError,
    zipfile.BadZipFile,
    EOFError,
    zlib.error,
    struct.error,
    NotImplementedError,
    RuntimeError,
    ValueError,
    LookupError,
    OSError,
)


class ArchiveError(InputError):
    """The archive is damaged or hostile, or does not hold what it should."""


class ArchiveSizeError(ArchiveError, CapacityError):
    """The archive unpacks to more than the limit."""


class BoundedTarInfo(tarfile.TarInfo):
    """The header of a tar member, refused if it announces a long one."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "BoundedTarInfo":
        """Read the fixed part of a header."""
        info = super().frombuf(buf, encoding, errors)
        if info.type in _LONG_HEADERS and info.size > MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {info.size} bytes; at most {MAX_HEADER_BYTES} are read")
        return info


def unpack_files(archive: Path, target: Path, files: Collection[str], limit: int = MAX_UNPACKED_BYTES) -> list[str]:
    """Unpack those of `files` that the archive holds to target/file, and return their names.

    Members are matched by the last part of their path, so that the folders of the archive do not matter. If the archive
    is damaged, has a member that is refused or unpacks to more than `limit` bytes, nothing is unpacked.
    """
    files_by_name = {PurePosixPath(file).name: file for file in files}
    unpacked: dict[str, Path] = {}
    with archive_errors(archive):
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target, prefix=".unpack-") as folder:
            remaining_bytes = limit
            for name, size, content in _members(archive):
                check_member_name(name, archive)
                remaining_bytes -= size
                if remaining_bytes < 0:
                    raise ArchiveSizeError(f"{archive}: unpacks to more than {limit} bytes; refused")
                file = files_by_name.get(PurePosixPath(name).name)
                if file is not None:
                    unpacked[file] = Path(folder) / str(len(unpacked))
                    copy_member(content, unpacked[file], size, archive)
            for file, path in unpacked.items():
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, target / file)
    return list(unpacked)


def check_member_name(name: str, archive: Path) -> None:
    """Refuse a member whose name points outside the folder that it is unpacked to."""
    outside = name.startswith("/") or PureWindowsPath(name).drive or ".." in name.replace("\\", "/").split("/")
    if outside or "\\" in name or "\0" in name:
        raise ArchiveError(f"{archive}: member {name!r} points outside the archive; refused")


def copy_member(content: IO[bytes], path: Path, size: int, archive: Path) -> None:
    """Copy a member to a file; it must have the `size` bytes that it declares."""
    remaining_bytes = size
    with path.open("wb") as out:
        while chunk := content.read(_CHUNK_BYTES):
            remaining_bytes -= len(chunk)
            if remaining_bytes < 0:
                raise ArchiveError(f"{archive}: a member is longer than the {size} bytes it declares; refused")
            out.write(chunk)
    if remaining_bytes:
        raise ArchiveError(f"{archive}: damaged (a member ends {remaining_bytes} bytes early); fetch it again")


@contextmanager
def archive_errors(archive: Path) -> Iterator[None]:
    """Convert whatever reading and unpacking an archive raises to an error of one line that names the archive."""
    try:
        yield
    except OddshotError:
        raise
    except _DAMAGE_ERRORS as error:
        if isinstance(error, OSError) and error.errno not in (None, EINVAL):  # EINVAL: a wrong offset in the archive
            kind = CapacityError if error.errno in _DISK_FULL else FileError
            raise kind(f"{archive}: cannot be unpacked: {error.strerror}") from error
        reason = str(error) or type(error).__name__
        raise ArchiveError(
            f"{archive}: damaged, or no {archive_format(archive)} archive ({reason}); fetch it again"
        ) from error


def archive_format(archive: Path) -> str:
    """Return the format of an archive by its suffix: zip or tar.gz."""
    return "zip" if archive.suffix == ".zip" else "tar.gz"


def _members(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Yield the name, declared size and content of every file; members other than files and folders are refused."""
    if archive_format(archive) == "zip":
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
    # Mode "r|" reads the compressed file in one pass.
    with gzip.open(archive) as plain, tarfile.open(fileobj=plain, mode="r|", tarinfo=BoundedTarInfo) as tar:
        for number, member in enumerate(tar, start=1):
            if number > MAX_TAR_MEMBERS:
                raise ArchiveSizeError(f"{archive}: holds more than {MAX_TAR_MEMBERS} files; refused")
            content = tar.extractfile(member) if member.isreg() else None
            if content is not None:
                yield member.name, member.size, content
            elif member.isdir():
                check_member_name(member.name, archive)
            else:
                raise ArchiveError(f"{archive}: member {member.name!r} is a link or a device; refused")
        n_padding = 0
        while chunk := plain.read(_CHUNK_BYTES):  # gzip verifies its checksum at the end of the file only
            n_padding += len(chunk)
            if n_padding > MAX_PADDING_BYTES:
                raise ArchiveSizeError(
                    f"{archive}: goes on for more than {MAX_PADDING_BYTES} bytes after its last member; refused"
                )


def check_zip_member(info: zipfile.ZipInfo, archive: Path) -> None:
    """Refuse links, devices, encrypted members, and members larger than the limit for a whole archive."""
    mode = stat.S_IFMT(info.external_attr >> 16)
    if mode not in (0, stat.S_IFREG):
        raise ArchiveError(f"{archive}: member {info.filename!r} is a link or a device; refused")
    if info.flag_bits & 1:
        raise ArchiveError(f"{archive}: member {info.filename!r} is encrypted; expected plain files")
    if info.file_size > MAX_UNPACKED_BYTES:
        raise ArchiveSizeError(
            f"{archive}: member {info.filename!r} unpacks to more than {MAX_UNPACKED_BYTES} bytes; refused"
        )
