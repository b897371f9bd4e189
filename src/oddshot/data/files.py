"""Write files atomically: whole or not at all."""

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oddshot.errors import FileError, file_error

_TEMPORARY_SUFFIX = ".part"


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the target's folder, and rename it to the target when the block ends without an error.

    The block writes the temporary file, which is then flushed to disk and renamed: readers see the old file or the new
    one, never a part of it, even after a crash. If the block raises, the temporary file is deleted and the old file
    stays as it was.
    """
    given = os.fspath(target)
    target = Path(os.path.realpath(given))  # a symbolic link is kept: the file that it points to is replaced
    if target.exists() and not target.is_file():
        raise FileError(f"cannot write {given}: it is not a regular file")
    _delete_orphans(target)
    temporary = target.with_name(f"{_temporary_prefix(target)}{os.getpid()}.{secrets.token_hex(4)}{_TEMPORARY_SUFFIX}")
    try:
        open(temporary, "xb").close()  # a missing folder or permission is reported before the block does its work
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


def write_bytes(target: str | os.PathLike[str], data: bytes) -> None:
    """Write a whole file atomically."""
    with atomic_path(target) as temporary:
        temporary.write_bytes(data)


def _fsync(path: Path) -> None:
    """Wait until the content of a file, or the entries of a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary_prefix(target: Path) -> str:
    return f".{target.name}.{socket.gethostname()}."


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
