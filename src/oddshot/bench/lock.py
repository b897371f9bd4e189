"""A lock file beside a run store, so that only one process writes to the store at a time."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oddshot.errors import FileError, file_error

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    _WINDOWS_LOCK_OFFSET = 1 << 20  # a byte beyond the end of the file, whose text other processes can still read

    def _try_lock(descriptor: int) -> bool:
        """Lock the file if no other process has locked it."""
        os.lseek(descriptor, _WINDOWS_LOCK_OFFSET, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True
else:

    def _try_lock(descriptor: int) -> bool:
        """Lock the file if no other process has locked it."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


@contextmanager
def exclusive_lock(store: Path) -> Iterator[None]:
    """Hold the lock file `STORE.lock`. The operating system releases it when the process ends, even by SIGKILL."""
    path = store.with_name(store.name + ".lock")
    descriptor = _acquire(path, store)
    try:
        yield
    finally:
        # Deleted before it is unlocked: a process that opened it in the meantime notices in _is_same_file.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _acquire(path: Path, store: Path) -> int:
    """Create and lock the lock file, and write into it which process holds it. Returns its file descriptor."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise file_error("write", f"store {store}", error) from error
        if not _try_lock(descriptor):
            holder = os.read(descriptor, 200).decode(errors="replace").strip()
            os.close(descriptor)
            raise FileError(f"store {store} is in use by another bench ({holder or 'unknown'}); wait, or give another")
        if _is_same_file(descriptor, path):
            break
        os.close(descriptor)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    except OSError as error:
        os.close(descriptor)
        raise file_error("write", f"store {store}", error) from error
    return descriptor


def _is_same_file(descriptor: int, path: Path) -> bool:
    """Whether the path still names the locked file; its previous holder may have deleted it after we opened it."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
