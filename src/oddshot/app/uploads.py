"""Uploaded tables: written to disk as they arrive, under a file name of our own."""

import hashlib
from pathlib import Path

from fastapi import Request

from oddshot.app.saved_labels import load_left_out_columns
from oddshot.app.sheet import read_sheet
from oddshot.app.workspace import Workspace
from oddshot.data.tables.readers import FORMATS
from oddshot.errors import InputError, OddshotError, file_error

MAX_NAME_CHARACTERS = 100


async def receive_file(request: Request, folder: Path, name: str) -> tuple[Path, str]:
    """Write the request body to a file in the folder; return its path and its SHA-256.

    The suffix is that of the uploaded file's name, unless the content is Parquet.
    """
    suffix = next((suffix for suffix in FORMATS if name.lower().endswith(suffix)), ".csv")
    path, digest = folder / f"table{suffix}", hashlib.sha256()
    magic = b""
    try:
        with open(path, "wb") as file:
            async for part in request.stream():
                magic = magic or part[:4]
                digest.update(part)
                file.write(part)
    except OSError as error:  # a full disk shows in a write, or when the file is closed
        raise _storing_error(error) from None
    if not magic:
        raise InputError("the file is empty; expected CSV or Parquet")
    if suffix == ".csv" and magic == b"PAR1":
        path = path.rename(path.with_suffix(".parquet"))
    return path, digest.hexdigest()


def open_upload(workspace: Workspace, path: Path, name: str, digest: str) -> None:
    """Open a received file; columns that were left out of it before are left out again."""
    left_out = () if workspace.folder is None else load_left_out_columns(workspace.folder, digest)
    workspace.open(lambda: read_sheet(path, name, digest, workspace.model, left_out))


def display_name(name: str) -> str:
    """The name of an uploaded file for the page: without folders, printable, on one line, not too long."""
    last = " ".join(name.replace("\\", "/").rsplit("/", 1)[-1].encode("utf-8", "replace").decode().split())
    return "".join(character for character in last if character.isprintable())[-MAX_NAME_CHARACTERS:] or "table"


def _storing_error(error: OSError) -> OddshotError:
    """CapacityError for a full disk, FileError for anything else; the path of the temporary file is of no interest."""
    return type(file_error("write", "", error))(f"the file cannot be stored while it is read: {error.strerror}")
