"""Uploaded tables: written to disk as they arrive, under a file name of our own."""

import hashlib
import warnings
from pathlib import Path

from fastapi import Request

from oddshot.app.label_column import labels_by_meaning, takes_labels_from
from oddshot.app.session import TableSession
from oddshot.app.sheet import read_sheet
from oddshot.app.workspace import Workspace
from oddshot.data.tables.label_meaning import CONVENTION, LabelMeaning
from oddshot.data.tables.packed_files import COMPRESSED_SUFFIXES
from oddshot.data.tables.readers import FORMATS
from oddshot.errors import InputError, OddshotError, file_error

MAX_NAME_CHARACTERS = 100
EXPECTED = "expected a table: CSV, Parquet, Excel, ARFF or JSON lines"
_N_HEAD_BYTES = 64  # that tell what a file is
_NO_TABLES = (  # what a file is that begins with these bytes, letters in lower case
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF8", "an image"),
    (b"RIFF", "an image, a sound or a video"),
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "a file of an old Excel or Word version"),
    (b"PK\x03\x04", "a ZIP archive or a document"),  # .xlsx files are such archives too
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (bytes(4), "a binary file"),
    (b"<!doctype html", "a web page"),
    (b"<html", "a web page"),
    (b"<?xml", "an XML document"),
)
_COMPRESSED = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"BZh": ".bz2"}


async def receive_file(request: Request, folder: Path, name: str) -> tuple[Path, str]:
    """Write the request body to a file in the folder; return its path and its SHA-256."""
    path, digest, head = folder / "received", hashlib.sha256(), b""
    try:
        with open(path, "wb") as file:
            async for part in request.stream():
                head += part[: _N_HEAD_BYTES - len(head)] if len(head) < _N_HEAD_BYTES else b""
                digest.update(part)
                file.write(part)
    except OSError as error:  # a full disk shows in a write, or when the file is closed
        raise _storing_error(error) from None
    return path.rename(folder / f"table{_suffix(name, head)}"), digest.hexdigest()


def _suffix(name: str, head: bytes) -> str:
    """The suffix of a file's name, completed by what its first bytes tell; an InputError if it is no table."""
    if not head:
        raise InputError(f"{display_name(name)} is empty; {EXPECTED}")
    parts = [part for part in (f".{one}" for one in name.lower().split(".")[1:]) if part]
    packed = next((suffix for magic, suffix in _COMPRESSED.items() if head.startswith(magic)), "")
    if packed and parts and parts[-1] in COMPRESSED_SUFFIXES:
        parts.pop()
    suffix = parts[-1] if parts and parts[-1] in FORMATS else ".csv"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    kind = next((kind for magic, kind in _NO_TABLES if head.startswith(magic) or text.startswith(magic)), None)
    if kind is not None and suffix != ".xlsx":
        raise InputError(f"{display_name(name)} is {kind}; {EXPECTED}")
    if suffix == ".csv" and head.startswith(b"PAR1"):
        suffix = ".parquet"
    if suffix == ".csv" and text.startswith((b"{", b"[")):
        suffix = ".jsonl"
    return suffix + packed


def open_upload(workspace: Workspace, path: Path, name: str, digest: str) -> TableSession:
    """Open a received file, with what the person has said about it before."""
    return workspace.open(digest, lambda edits: read_sheet(path, name, digest, workspace.model, edits))


def open_labelled(
    workspace: Workspace, path: Path, label: str | None, meaning: LabelMeaning = CONVENTION
) -> TableSession:
    """Open a file of this machine. label: a column to take labels from, unless that was done before."""
    try:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise file_error("read", path, error) from None
    session = open_upload(workspace, path, display_name(path.name), digest)
    if label is not None:
        _take_labels(session, label, meaning)
    return session


def _take_labels(session: TableSession, column: str, meaning: LabelMeaning) -> None:
    """Take labels from a column; those that a person has taken before, and may have corrected since, are kept."""
    edits, name = session.current.edits, session.current.sheet.name
    is_taken = takes_labels_from(edits, column)
    if is_taken and not meaning.named:
        return
    patch, notices = labels_by_meaning(session.current, column, meaning)
    if not is_taken:
        session.change(patch)
    elif patch["labels"] != edits.labels:
        notices = [f"{name}: the labels of the last time are kept; they are others than column {column!r} has now"]
    for notice in notices:
        warnings.warn(notice, stacklevel=3)


def display_name(name: str) -> str:
    """The name of an uploaded file for the page: without folders, printable, on one line, not too long."""
    last = " ".join(name.replace("\\", "/").rsplit("/", 1)[-1].encode("utf-8", "replace").decode().split())
    return "".join(character for character in last if character.isprintable())[-MAX_NAME_CHARACTERS:] or "table"


def _storing_error(error: OSError) -> OddshotError:
    """CapacityError for a full disk, FileError for anything else; the path of the temporary file is of no interest."""
    return type(file_error("write", "", error))(f"the file cannot be stored while it is read: {error.strerror}")
