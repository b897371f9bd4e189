"""What people have said about tables, saved between runs in an SQLite database, by the SHA-256 of a table's file."""

import json
import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from oddshot.app.edits import Edits, Patch
from oddshot.app.row_names import find_rows, is_unique, row_names
from oddshot.app.sheet import Sheet
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import FileError, file_error

NAME = "edits.sqlite"
LOCK_SECONDS = 10  # to wait for another process that is writing
_SCHEMA = """CREATE TABLE IF NOT EXISTS edits (
    digest TEXT PRIMARY KEY, version INTEGER NOT NULL, columns TEXT NOT NULL, content TEXT NOT NULL,
    row_names TEXT NOT NULL
)"""


def labels_folder() -> Path:
    """The folder of the database, following the conventions of each operating system."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "oddshot" / "labels"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "oddshot" / "labels"
    return Path(os.environ.get("XDG_STATE_HOME") or home / ".local" / "state") / "oddshot" / "labels"


class SavedEdits:
    """The saved edits of one table. digest: the SHA-256 of its file.

    Several processes may work on the same table: each change is written in a transaction, on top of what the others
    have written, and is on the disk when that ends.
    """

    def __init__(self, folder: Path, digest: str) -> None:
        self._folder, self._digest = folder, digest

    def load(self) -> Edits:
        """The saved edits; none if nothing is saved."""
        with self._connected() as connection:
            return self._select(connection)

    def version(self) -> int:
        """The version of the saved edits, 0 if nothing is saved."""
        with self._connected() as connection:
            return self._select_version(connection)

    def write(self, edits: Edits, since: int, patches: Sequence[Patch], sheet: Sheet) -> Edits:
        """Write edits and return them. If another process has written, the patches are applied to its edits instead.

        since: the version of the saved edits that the patches have made `edits` of.
        """
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            if self._select_version(connection) != since:
                edits = self._select(connection)
                for patch in patches:
                    edits = edits.changed(patch)
            if patches:
                names = json.dumps(_names_of_edited_rows(edits, sheet))
                values = (self._digest, edits.version, json.dumps(sheet.table.column_names), edits.to_json(), names)
                connection.execute("INSERT OR REPLACE INTO edits VALUES (?, ?, ?, ?, ?)", values)
            connection.execute("COMMIT")
        return edits

    def load_by_names(self, sheet: Sheet) -> Patch:
        """What was said latest about another table with the same columns and with rows of the same names.

        It is the change that says it about these rows; empty if there is no such table. A table that has grown is such.
        """
        query = "SELECT content, row_names FROM edits WHERE columns = ? AND digest != ? ORDER BY rowid DESC"
        with self._connected() as connection:
            found = connection.execute(query, (json.dumps(sheet.table.column_names), self._digest)).fetchall()
            for content, names in found:
                patch = _patch_by_names(Edits.from_json(content, 0), json.loads(names), sheet)
                if patch:
                    return patch
        return {}

    def _select(self, connection: sqlite3.Connection) -> Edits:
        query = "SELECT version, content FROM edits WHERE digest = ?"
        found = connection.execute(query, (self._digest,)).fetchone()
        return Edits.from_json(found[1], found[0]) if found else _load_json_file(self._folder, self._digest)

    def _select_version(self, connection: sqlite3.Connection) -> int:
        found = connection.execute("SELECT version FROM edits WHERE digest = ?", (self._digest,)).fetchone()
        return int(found[0]) if found else 0

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        path = self._folder / NAME
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with closing(sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(_SCHEMA)
                yield connection
        except OSError as error:
            raise file_error("write", path, error) from None
        except (sqlite3.Error, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FileError(f"{path}: {' '.join(str(error).split())}") from None


def _names_of_edited_rows(edits: Edits, sheet: Sheet) -> dict[str, str | None]:
    """The names of the rows with a label or a note, by row; empty if no column names the rows."""
    column, rows = edits.settings.get("id_column"), sorted({*edits.labels, *edits.notes})
    return dict(zip(map(str, rows), row_names(sheet, column, rows), strict=True)) if column else {}


def _patch_by_names(edits: Edits, names: Mapping[str, str], sheet: Sheet) -> Patch:
    column = edits.settings.get("id_column")
    if column is None or not names or not is_unique(sheet.table[column]):
        return {}
    rows = find_rows(sheet, column, names.values())
    row_of = {int(row): rows[name] for row, name in names.items() if name in rows}
    if not row_of:
        return {}
    return {
        "labels": {row_of[row]: label for row, label in edits.labels.items() if row in row_of},
        "notes": {row_of[row]: note for row, note in edits.notes.items() if row in row_of},
        "kinds": edits.kinds,
        "left_out": edits.left_out,
        "hidden": edits.hidden,
        "pinned": edits.pinned,
        "settings": {"id_column": column},
    }


def _load_json_file(folder: Path, digest: str) -> Edits:
    """Labels and columns left out, from the JSON file of each table that earlier versions of the app wrote."""
    try:
        content = json.loads((folder / f"{digest}.json").read_bytes())
        numbers = {"normal": NORMAL, "anomaly": ANOMALY}
        labels = {int(row) - 1: numbers[label] for row, label in content["labels"].items()}
        return Edits(labels=labels, left_out={str(column): True for column in content["left_out"]})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Edits()
