"""Write files atomically: whole or not at all."""

import hashlib
import os
import secrets
import shutil
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oddshot.errors import FileError, InputError, file_error, wrong_type

STANDARD_STREAM = Path("-")
"""Standard input or output as the name of a file."""

_ANY_MAY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_TEMPORARY_SUFFIX = ".part"


def as_path(path: object) -> Path:
    """The path that a person gave, refused if it is none."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise wrong_type("path", path, "a str or a Path")
    if "\0" in os.fspath(path):
        raise InputError(f"path is {str(path)!r}; the path of a file has no null character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise InputError(f"path is {os.fspath(path)!a}; the path of a file has no half of a character") from None
    return Path(path)


def named_path(name: str | os.PathLike[str]) -> Path:
    """The path of a name that a person gave: - alone is a standard stream, and ./- a file in the working folder."""
    path = Path(name)
    return path.absolute() if path == STANDARD_STREAM and os.fspath(name) != "-" else path


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the target's folder, and rename it to the target when the block ends without an error.

    The block writes the temporary file, which is then flushed to disk and renamed: readers see the old file or the new
    one, never a part of it, even after a crash. If the block raises, the temporary file is deleted and the old file
    stays as it was. The new file has the mode, the owner, the group and the extended attributes of the old one.
    """
    given = os.fspath(target)
    target, temporary = _plan(given)
    _delete_orphans(target)
    try:
        open(temporary, "xb").close()  # a missing folder or permission is reported before the block does its work
        if target.exists():
            _copy_attributes(target, temporary)  # before there is content that others must not read
        yield temporary
        _fsync(temporary)
        os.replace(temporary, target)
        _fsync(target.parent)
    except OSError as error:
        if error.filename not in (None, str(temporary), str(target), given):
            raise  # the block failed on another file
        raise file_error("write", given, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def make_folder(path: Path) -> None:
    """Make a folder and those above it, unless they are there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {path}: {error.strerror}") from error


def check_writable(target: str | os.PathLike[str]) -> None:
    """Refuse a path that cannot be written, before the work of which the result goes there."""
    _, temporary = _plan(os.fspath(target))
    try:
        open(temporary, "xb").close()
        temporary.unlink()
    except OSError as error:
        raise file_error("write", target, error) from error


def write_bytes(target: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file atomically."""
    with atomic_path(target) as temporary:
        temporary.write_bytes(data)


def _plan(given: str) -> tuple[Path, Path]:
    """Return the file to be written, and the path of a temporary file beside it."""
    try:
        target = Path(os.path.realpath(given))  # a symbolic link is kept: the file that it points to is replaced
        if target.exists() and not target.is_file():
            raise FileError(f"cannot write {given}: it is not a regular file")
        if target.exists() and not _may_be_written(target):
            raise FileError(f"cannot write {given}: it is read-only")
    except OSError as error:  # the folder may not be searched, or the name is too long
        raise file_error("write", given, error) from error
    name = f"{_temporary_prefix(target)}{os.getpid()}.{secrets.token_hex(4)}{_TEMPORARY_SUFFIX}"
    return target, target.with_name(name)


def _may_be_written(path: Path) -> bool:
    """Return whether a file is not read-only; root, who may write any file, takes that seriously too."""
    return os.access(path, os.W_OK) and bool(path.stat().st_mode & _ANY_MAY_WRITE)


def _copy_attributes(source: Path, target: Path) -> None:
    """Give a file the mode, the extended attributes, the group and, where that is allowed, the owner of another."""
    if sys.platform != "win32":
        status = source.stat()
        for owner in (status.st_uid, -1):
            with suppress(PermissionError):
                os.chown(target, owner, status.st_gid)
                break
    shutil.copystat(source, target)
    os.utime(target)


def _fsync(path: Path) -> None:
    """Wait until the content of a file, or the entries of a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary_prefix(target: Path) -> str:
    """The beginning of temporary names for this target on this host: short, where the target's name may be long."""
    names = f"{target.name}/{socket.gethostname()}"
    return f".oddshot-{hashlib.sha256(os.fsencode(names)).hexdigest()[:16]}."


def _delete_orphans(target: Path) -> None:
    """Delete the temporary files that killed writers of this target on this host left behind."""
    prefix = _temporary_prefix(target)
    with suppress(OSError):
        for name in os.listdir(target.parent):
            pid = name.removeprefix(prefix).split(".")[0]
            is_temporary = name.startswith(prefix) and name.endswith(_TEMPORARY_SUFFIX) and pid.isdecimal()
            if is_temporary and not _is_running(int(pid)):
                (target.parent / name).unlink()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
