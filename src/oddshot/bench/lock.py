"""One bench a store: who holds the lock beside it may write, and a killed holder holds it no longer."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oddshot.errors import InputError


@contextmanager
def exclusive_lock(store: Path) -> Iterator[None]:
    """Hold `STORE.lock` while the block runs; the system gives it back whenever the process ends, kill -9 included."""
    path = store.with_name(store.name + ".lock")
    descriptor = _acquire(path, store)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # still locked: whoever opened it meanwhile sees that it is gone and starts over
        os.close(descriptor)


def _acquire(path: Path, store: Path) -> int:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"cannot write store {store}: {error.strerror}") from error
        if not _try_lock(descriptor):
            owner = os.read(descriptor, 200).decode(errors="replace").strip()
            os.close(descriptor)
            raise InputError(f"store {store} is in use by another bench ({owner or 'unknown'}); wait, or give another")
        if _is_same_file(descriptor, path):
            break
        os.close(descriptor)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    except OSError as error:
        os.close(descriptor)
        raise InputError(f"cannot write store {store}: {error.strerror}") from error
    return descriptor


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows: a byte far beyond the text, which stays readable
        import msvcrt

        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_same_file(descriptor: int, path: Path) -> bool:
    """Whether the path still leads to the file that was locked: its last holder may have removed it in between."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
