"""Writing a file whole or not at all."""

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oddshot.errors import FileError, file_error

_SUFFIX = ".part"


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside the target, moved onto it when the block ends well.

    The block writes the yielded file. Then it is flushed to disk and renamed: a reader, a crash or a kill sees the old
    file or the new one, never a part. If the block raises, the temporary is deleted and the old file is untouched.
    """
    given = os.fspath(target)
    target = Path(os.path.realpath(given))  # a link stays a link: the file behind it is replaced
    if target.exists() and not target.is_file():
        raise FileError(f"cannot write {given}: it is not a regular file")
    _sweep(target)
    temporary = target.with_name(f"{_prefix(target)}{os.getpid()}.{secrets.token_hex(4)}{_SUFFIX}")
    try:
        open(temporary, "xb").close()  # a missing folder or permission shows now, not after hours of work
        yield temporary
        _flush(temporary)
        os.replace(temporary, target)
        _flush(target.parent)
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


def _flush(path: Path) -> None:
    """Wait until a file, or a folder's list of names, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _prefix(target: Path) -> str:
    return f".{target.name}.{socket.gethostname()}."


def _sweep(target: Path) -> None:
    """Delete what killed writers of this target, on this host, left behind."""
    prefix = _prefix(target)
    with suppress(OSError):
        for name in os.listdir(target.parent):
            pid = name.removeprefix(prefix).split(".")[0]
            if name.startswith(prefix) and name.endswith(_SUFFIX) and pid.isdecimal() and not _is_alive(int(pid)):
                (target.parent / name).unlink()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
