"""A table that comes over HTTP: to disk as it arrives, under a name of our own."""

import hashlib
from pathlib import Path

from fastapi import Request

from oddshot.app.sheet import read_sheet
from oddshot.app.statefile import recall_left_out
from oddshot.app.workspace import Workspace
from oddshot.errors import InputError

_ENDINGS = (".arff", ".pq", ".parquet")


async def receive(request: Request, folder: Path, name: str) -> tuple[Path, str]:
    """The body on disk, under a name of our own, and its SHA-256."""
    ending = next((end for end in _ENDINGS if name.lower().endswith(end)), ".csv")
    path, digest = folder / f"table{ending}", hashlib.sha256()
    start = b""
    with open(path, "wb") as file:
        async for part in request.stream():
            start = start or part[:4]
            digest.update(part)
            try:
                file.write(part)
            except OSError as error:
                raise InputError(f"the file cannot be stored while it is read: {error.strerror}") from None
    if not start:
        raise InputError("the file is empty; expected CSV or Parquet")
    if ending == ".csv" and start == b"PAR1":
        path = path.rename(path.with_suffix(".parquet"))
    return path, digest.hexdigest()


def open_file(workspace: Workspace, path: Path, name: str, digest: str) -> None:
    """Open a file that was received; the columns left out of it before are left out again."""
    left_out = () if workspace.folder is None else recall_left_out(workspace.folder, digest)
    workspace.open(lambda: read_sheet(path, name, digest, workspace.model, left_out))


def display_name(name: str) -> str:
    """A file's name as it is shown: without folders, not too long, on one line."""
    last = " ".join(name.replace("\\", "/").rsplit("/", 1)[-1].encode("utf-8", "replace").decode().split())
    return "".join(one for one in last if one.isprintable())[-100:] or "table"
