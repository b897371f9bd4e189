"""The store of the field trial: an SQLite file with one row for every situation, table, method and metric."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, get_type_hints

from oddshot.bench.lock import exclusive_lock
from oddshot.errors import CapacityError, FileError, InputError

APPLICATION_ID = 0x0DD5F1E  # identifies the SQLite file as a store of the field trial
VERSION = 1


class CellKey(NamedTuple):
    """Identity of a result: the same key would give the same value."""

    situation: str
    table: str
    method: str
    settings_hash: str


class CellRecord(NamedTuple):
    """The mean of a metric over the draws of a situation on a table; an error in place of the value if it failed."""

    situation: str
    table: str
    method: str
    settings_hash: str
    metric: str
    value: float | None
    draws: int
    seconds: float
    error: str
    code_version: str

    @property
    def key(self) -> CellKey:
        """Identity of the result, the same for all its metrics."""
        return CellKey(*self[:4])


_TYPES = get_type_hints(CellRecord)
_COLUMNS = ", ".join(CellRecord._fields)
_SCHEMA = """
CREATE TABLE cells (
  situation TEXT NOT NULL, "table" TEXT NOT NULL, method TEXT NOT NULL, settings_hash TEXT NOT NULL,
  metric TEXT NOT NULL, value REAL, draws INTEGER NOT NULL, seconds REAL NOT NULL, error TEXT NOT NULL,
  code_version TEXT NOT NULL,
  UNIQUE (situation, "table", method, settings_hash, metric)
)"""
_QUOTED = _COLUMNS.replace("table", '"table"')


class FieldStore:
    """A store that is open for writing (see `open_field_store`)."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path, self._connection = path, connection

    def add(self, records: Sequence[CellRecord]) -> None:
        """Add all records or none; they are on the disk when this returns. A failed result is replaced."""
        marks = ", ".join("?" * len(CellRecord._fields))
        with _translate_errors(self._path), self._connection:
            for record in records:
                delete = 'DELETE FROM cells WHERE situation = ? AND "table" = ? AND method = ? AND settings_hash = ?'
                self._connection.execute(f"{delete} AND error != ''", record.key)
            self._connection.executemany(f"INSERT OR REPLACE INTO cells ({_QUOTED}) VALUES ({marks})", records)

    def records(self) -> list[CellRecord]:
        """All results."""
        with _translate_errors(self._path):
            rows = self._connection.execute(f"SELECT {_QUOTED} FROM cells").fetchall()
        records = [CellRecord(*row) for row in rows]
        if not all(map(_has_right_types, records)):
            raise _damaged(self._path, "a value is of the wrong type")
        return records


@contextmanager
def open_field_store(path: Path) -> Iterator[FieldStore]:
    """Open a store, created if it is not there. One process may use it at a time."""
    if not path.parent.is_dir():
        raise FileError(f"cannot write store {path}: no folder {path.parent}")
    with exclusive_lock(path):
        with _translate_errors(path):
            connection = sqlite3.connect(path, timeout=30, isolation_level="IMMEDIATE")
        try:
            with _translate_errors(path):
                _prepare(path, connection)
            yield FieldStore(path, connection)
        finally:
            with suppress(sqlite3.Error):
                connection.close()


def _prepare(path: Path, connection: sqlite3.Connection) -> None:
    """Create the table of a new store; refuse a file of another program or of a newer version."""
    (complaint,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if complaint != "ok":
        raise _damaged(path, complaint.splitlines()[-1])
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if tables and application != APPLICATION_ID:
        raise InputError(f"{path} is an SQLite file of another program; expected a store of `oddshot bench field`")
    if version > VERSION:
        raise InputError(f"store {path} has version {version}, this oddshot knows versions up to {VERSION}")
    connection.execute("PRAGMA journal_mode = WAL")
    if not tables:
        connection.executescript(
            f"BEGIN IMMEDIATE; {_SCHEMA}; PRAGMA application_id = {APPLICATION_ID}; "
            f"PRAGMA user_version = {VERSION}; COMMIT;"
        )


def _has_right_types(record: CellRecord) -> bool:
    """Whether the values are of the types of the fields; SQLite itself does not insist on them."""
    return all(isinstance(value, _TYPES[name]) for name, value in zip(record._fields, record, strict=True))


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(f"store {path} is damaged ({reason}); it is left as it is: give another one")


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one-line errors of oddshot."""
    try:
        yield
    except UnicodeDecodeError as error:  # SQLite quotes damaged names in its messages
        raise _damaged(path, "a name in it is not text") from error
    except sqlite3.Error as error:
        text = (str(error).splitlines() or [type(error).__name__])[0]
        full = getattr(error, "sqlite_errorname", "") in ("SQLITE_FULL", "SQLITE_IOERR_WRITE")
        kind = CapacityError if full else FileError
        raise kind(f"store {path} cannot be used: {text}; the same command goes on once this is mended") from error
