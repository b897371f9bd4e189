"""Files that are replaced keep their mode, owner and attributes, and those that are read-only stay as they are."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from oddshot.data.files import atomic_path
from oddshot.errors import FileError
from tests.hostile.log import TrialLog


class _Failed(Exception):
    pass


def try_permissions(log: TrialLog, seed: int, n: int) -> None:
    with tempfile.TemporaryDirectory() as name, log.door("permissions") as attempt:
        for k in range(n):
            rng = np.random.default_rng([seed, k])
            attempt(f"seed {seed}, {k}", lambda rng=rng, k=k: _replace(Path(name) / f"out{k % 3}.csv", rng))


def _replace(target: Path, rng: np.random.Generator) -> None:
    target.write_bytes(b"old")
    if os.geteuid() == 0:
        os.chown(target, *rng.integers(0, 3000, 2).tolist())
    with suppress(OSError):  # a file system without extended attributes
        os.setxattr(target, "user.origin", rng.bytes(int(rng.integers(1, 30))))
    target.chmod(int(rng.integers(0o1000)) | 0o400)
    before, fails = _attributes(target), rng.random() < 0.3
    is_read_only = not before[0] & 0o222 or not os.access(target, os.W_OK)
    error = _write(target, fails)
    assert isinstance(error, FileError) == is_read_only, f"read-only: {is_read_only}, and {error!r}"
    assert (target.read_bytes() == b"old") == (error is not None), f"after {error!r}: {target.read_bytes()!r}"
    assert _attributes(target) == before, f"{_attributes(target)} in the place of {before}"
    assert not [path for path in target.parent.iterdir() if path.name.startswith(".")], "a temporary file is left over"
    target.unlink()


def _write(target: Path, fails: bool) -> Exception | None:
    try:
        with atomic_path(target) as temporary:
            temporary.write_bytes(b"new")
            if fails:
                raise _Failed
    except (_Failed, FileError) as error:
        return error
    return None


def _attributes(path: Path) -> tuple[int, int, int, dict[str, bytes]]:
    status = path.stat()
    return status.st_mode, status.st_uid, status.st_gid, {name: os.getxattr(path, name) for name in os.listxattr(path)}
