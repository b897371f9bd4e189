"""The run store: an SQLite file with one row for every finished run.

A run that was added is on the disk and survives SIGKILL and a power failure.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import pathname2url

from oddshot.bench.lock import exclusive_lock
from oddshot.bench.record import COLUMN_TYPES, COLUMNS, RunKey, RunRecord
from oddshot.errors import CapacityError, FileError, InputError, OddshotError

VERSION = 1
APPLICATION_ID = 0x0DD5407  # identifies the SQLite file as a run store
_SQL_TYPES = {int: "INTEGER", float: "REAL", str: "TEXT NOT NULL"}
_KEY = ", ".join(RunKey._fields)
_STORED = (*COLUMNS, "checksum")  # SQLite does not notice a flipped bit within a value
_SCHEMA = f"""
CREATE TABLE runs (
  {", ".join(f"{name} {_SQL_TYPES[COLUMN_TYPES[name]]}" for name in COLUMNS)},
  checksum TEXT NOT NULL,
  CHECK (status IN ('done', 'failed')),
  UNIQUE ({_KEY})
)"""
# A run that is done is never replaced; a failed one is replaced by the result of the next attempt.
_ADD = f"""
INSERT INTO runs ({", ".join(_STORED)}) VALUES ({", ".join("?" * len(_STORED))})
ON CONFLICT ({_KEY}) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _STORED)}
WHERE runs.status = 'failed'"""


class RunStore:
    """A run store that is open for writing (see `open_store`)."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection = path, connection

    def add(self, records: Sequence[RunRecord]) -> None:
        """Add all records or none. They are on the disk when this returns."""
        rows = [(*_values(record), _checksum(record)) for record in records]
        with _translate_errors(self.path), self._connection:
            self._connection.executemany(_ADD, rows)

    def status(self) -> dict[RunKey, str]:
        """`done` or `failed` for every run in the store."""
        with _translate_errors(self.path):
            rows = self._connection.execute(f"SELECT {_KEY}, status FROM runs").fetchall()
        return {RunKey(*row[:-1]): row[-1] for row in rows}

    def records(self) -> list[RunRecord]:
        """All runs, ordered by dataset, protocol, method, configuration and split."""
        return _select(self.path, self._connection)


@contextmanager
def open_store(path: Path) -> Iterator[RunStore]:
    """Open a store for writing and create it if it does not exist. One process may write, others may read meanwhile."""
    if not path.parent.is_dir():
        raise FileError(f"cannot write store {path}: no folder {path.parent}")
    with exclusive_lock(path):
        with _translate_errors(path):
            connection = sqlite3.connect(path, timeout=30, isolation_level="IMMEDIATE")
        try:
            with _translate_errors(path):
                _prepare(path, connection)
            yield RunStore(path, connection)
        finally:
            # On a full disk the checkpoint on closing fails, but committed runs remain in the write-ahead log.
            with suppress(sqlite3.Error):
                connection.close()


def read_store(path: Path) -> list[RunRecord]:
    """Read all runs of a store without locking it: another process may write to it meanwhile."""
    if not path.is_file():
        raise FileError(f"no store {path}; `oddshot bench run --store {path}` makes it")
    uri = f"file:{pathname2url(str(path.resolve()))}?mode="
    with _translate_errors(path):
        try:
            # Not mode=ro: a read-only connection cannot delete the log files that it creates.
            connection = sqlite3.connect(uri + "rw", uri=True, timeout=30)
            connection.execute("PRAGMA query_only = ON")
            _check(path, connection)
        except sqlite3.OperationalError:
            # In a read-only folder SQLite cannot create the index of the write-ahead log; without a log none is needed.
            if path.with_name(path.name + "-wal").exists():
                raise
            connection = sqlite3.connect(uri + "ro&immutable=1", uri=True)
            _check(path, connection)
        try:
            return _select(path, connection)
        finally:
            connection.close()


def _prepare(path: Path, connection: sqlite3.Connection) -> None:
    """Check an existing store, or create the table of a new one."""
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
    """Refuse a file that is damaged, of a newer version or of another program. Returns the names of its tables."""
    problems = [row[0] for row in connection.execute("PRAGMA integrity_check(1)")]
    if problems != ["ok"]:
        raise _damaged(path, problems[0].splitlines()[-1])
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if tables and application != APPLICATION_ID:
        raise InputError(f"{path} is an SQLite file of another program; expected a store of `oddshot bench run`")
    if version > VERSION:
        raise InputError(
            f"store {path} has version {version}, this oddshot knows versions up to {VERSION}: a newer oddshot reads it"
        )
    return tables


def _select(path: Path, connection: sqlite3.Connection) -> list[RunRecord]:
    """All runs, each compared with its checksum."""
    order = "dataset, protocol, method, config_hash, split"
    with _translate_errors(path):
        rows = connection.execute(f"SELECT {', '.join(_STORED)} FROM runs ORDER BY {order}").fetchall()
    records = [RunRecord(*row[:-1]) for row in rows]
    for record, row in zip(records, rows, strict=True):
        if _checksum(record) != row[-1]:
            raise _damaged(path, f"the run {record.dataset} split {record.split} {record.method} was altered")
    return records


def _values(record: RunRecord) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in COLUMNS)


def _checksum(record: RunRecord) -> str:
    return hashlib.sha256(repr(_values(record)).encode()).hexdigest()[:16]


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one-line errors of oddshot."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(path, error) from error
    except UnicodeDecodeError as error:  # SQLite quotes damaged names in its messages
        raise _damaged(path, "a name in it is not text") from error


def _translated(path: Path, error: sqlite3.Error) -> OddshotError:
    text = (str(error).splitlines() or [type(error).__name__])[0]
    name = getattr(error, "sqlite_errorname", "")  # missing where Python's own checks raised the error
    if "locked" in text:
        return FileError(f"store {path} is locked by another program; close it there and try again")
    unusable = f"store {path} cannot be used: {text}; the runs in it are kept, and the same command goes on from there"
    # SQLite reports a full disk as FULL, and an exceeded disk quota or file size limit as IOERR_WRITE.
    if name in ("SQLITE_FULL", "SQLITE_IOERR_WRITE"):
        return CapacityError(unusable)
    if name.startswith(("SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
        return FileError(unusable)
    return _damaged(path, text)


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(
        f"store {path} is damaged ({reason}); it is left as it is: give another --store, "
        "and `oddshot bench import` brings back runs that were exported"
    )
