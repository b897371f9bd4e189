"""The store: one SQLite file, a row a finished run. What was added once survives kill -9 and a lost power supply."""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import pathname2url

from oddshot.bench.lock import exclusive_lock
from oddshot.bench.record import COLUMN_TYPES, COLUMNS, RunKey, RunRecord
from oddshot.errors import InputError

VERSION = 1
APPLICATION_ID = 0x0DD5407  # marks the file as a store of ours
_TYPES = {int: "INTEGER", float: "REAL", str: "TEXT NOT NULL"}
_KEY = ", ".join(RunKey._fields)
_STORED = (*COLUMNS, "checksum")  # SQLite does not notice a flipped bit within a value
_SCHEMA = f"""
CREATE TABLE runs (
  {", ".join(f"{name} {_TYPES[COLUMN_TYPES[name]]}" for name in COLUMNS)},
  checksum TEXT NOT NULL,
  CHECK (status IN ('done', 'failed')),
  UNIQUE ({_KEY})
)"""
# A finished run is never replaced; a failed one is, by whatever its next try gives.
_ADD = f"""
INSERT INTO runs ({", ".join(_STORED)}) VALUES ({", ".join("?" * len(_STORED))})
ON CONFLICT ({_KEY}) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _STORED)}
WHERE runs.status = 'failed'"""


class RunStore:
    """An open store that may be written to."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection = path, connection

    def add(self, records: Sequence[RunRecord]) -> None:
        """All of them or none; when this returns they are on the disk."""
        rows = [(*_values(record), _checksum(record)) for record in records]
        with _one_line(self.path), self._connection:
            self._connection.executemany(_ADD, rows)

    def status(self) -> dict[RunKey, str]:
        """`done` or `failed` for every run in the store."""
        with _one_line(self.path):
            rows = self._connection.execute(f"SELECT {_KEY}, status FROM runs").fetchall()
        return {RunKey(*row[:-1]): row[-1] for row in rows}

    def records(self) -> list[RunRecord]:
        """Every run, in the order of dataset, method, split."""
        return _select(self.path, self._connection)


@contextmanager
def open_store(path: Path) -> Iterator[RunStore]:
    """Open for writing, made if it is not there. One bench at a time; readers are welcome meanwhile."""
    if not path.parent.is_dir():
        raise InputError(f"cannot write store {path}: no folder {path.parent}")
    with exclusive_lock(path):
        with _one_line(path):
            connection = sqlite3.connect(path, timeout=30, isolation_level="IMMEDIATE")
        try:
            with _one_line(path):
                _prepare(path, connection)
            yield RunStore(path, connection)
        finally:
            # A full disk can make the last flush fail; what was committed is in the write-ahead log all the same.
            with _one_line(path, quiet=True):
                connection.close()


def read_store(path: Path) -> list[RunRecord]:
    """Every run of a store that nobody needs to own; a bench may be writing to it."""
    if not path.is_file():
        raise InputError(f"no store {path}; `oddshot bench run --store {path}` makes it")
    address = f"file:{pathname2url(str(path.resolve()))}?mode="
    with _one_line(path):
        try:
            # Not mode=ro: the last reader could not tidy up the log that it made itself.
            connection = sqlite3.connect(address + "rw", uri=True, timeout=30)
            connection.execute("PRAGMA query_only = ON")
            _check(path, connection)
        except sqlite3.OperationalError:
            # In a folder that cannot be written to, SQLite can make no index of a log; without a log none is needed.
            if path.with_name(path.name + "-wal").exists():
                raise
            connection = sqlite3.connect(address + "ro&immutable=1", uri=True)
            _check(path, connection)
        try:
            return _select(path, connection)
        finally:
            connection.close()


def _prepare(path: Path, connection: sqlite3.Connection) -> None:
    tables = _check(path, connection)
    if tables:
        _select(path, connection)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if not tables:
        connection.executescript(
            f"BEGIN IMMEDIATE; {_SCHEMA}; PRAGMA application_id = {APPLICATION_ID}; "
            f"PRAGMA user_version = {VERSION}; COMMIT;"
        )


def _check(path: Path, connection: sqlite3.Connection) -> list[str]:
    """Refuse what is damaged, newer, or not ours; give the names of its tables."""
    complaints = [row[0] for row in connection.execute("PRAGMA integrity_check(1)")]
    if complaints != ["ok"]:
        raise sqlite3.DatabaseError(complaints[0].splitlines()[-1])
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    if tables and owner != APPLICATION_ID:
        raise InputError(f"{path} is an SQLite file of another program; expected a store of `oddshot bench run`")
    if version > VERSION:
        raise InputError(
            f"store {path} has version {version}, this oddshot knows versions up to {VERSION}: a newer oddshot reads it"
        )
    return tables


def _select(path: Path, connection: sqlite3.Connection) -> list[RunRecord]:
    order = "dataset, protocol, method, config_hash, split"
    with _one_line(path):
        rows = connection.execute(f"SELECT {', '.join(_STORED)} FROM runs ORDER BY {order}").fetchall()
        records = [RunRecord(*row[:-1]) for row in rows]
        for record, row in zip(records, rows, strict=True):
            if _checksum(record) != row[-1]:
                raise sqlite3.DatabaseError(
                    f"the run {record.dataset} split {record.split} {record.method} was altered"
                )
    return records


def _values(record: RunRecord) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in COLUMNS)


def _checksum(record: RunRecord) -> str:
    return hashlib.sha256(repr(_values(record)).encode()).hexdigest()[:16]


@contextmanager
def _one_line(path: Path, quiet: bool = False) -> Iterator[None]:
    """SQLite's complaints as one line that says what is lost: nothing."""
    try:
        yield
    except sqlite3.Error as error:
        text = (str(error).splitlines() or [type(error).__name__])[0]
        name = getattr(error, "sqlite_errorname", "")
        if quiet:
            return
        if "locked" in text:
            raise InputError(f"store {path} is locked by another program; close it there and try again") from error
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
            raise InputError(
                f"store {path} cannot be used: {text}; the runs in it are kept, and the same command goes on from there"
            ) from error
        raise InputError(
            f"store {path} is damaged ({text}); it is left as it is: give another --store, "
            "and `oddshot bench import` brings back runs that were exported"
        ) from error
