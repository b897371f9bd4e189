"""Detectors on disk: their supports in one SQLite file, from which they are adapted again after a restart."""

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding import ColumnChoice
from oddshot.data.tables.ipc import from_ipc, to_ipc
from oddshot.errors import CapacityError, FileError, InputError, ModelFileError, OddshotError
from oddshot.service.limits import ServiceLimits
from oddshot.service.support import Support

VERSION = 1  # of the schema
_KINDS_KEY = b"oddshot-kinds"
APPLICATION_ID = 0x0DD5E4E  # identifies the SQLite file as a detector store
_SCHEMA = """
CREATE TABLE detectors (
  id TEXT PRIMARY KEY, model TEXT NOT NULL, rate REAL, labels BLOB NOT NULL, rows BLOB NOT NULL, used REAL NOT NULL
)"""
_INSERT = """
INSERT INTO detectors (id, model, rate, labels, rows, used) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET used = excluded.used"""


class StoreError(FileError):
    """The store cannot be read or written at the moment: the disk is full, or another program holds a lock."""


class DetectorStore:
    """Supports by the id of their detector. Several services may share a store; each method is one transaction."""

    def __init__(self, path: Path, limits: ServiceLimits) -> None:
        self.path, self._limits = path, limits
        if not path.parent.is_dir():
            raise FileError(f"cannot write store {path}: no folder {path.parent}")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # it contains rows of the users
            self._opened = path.stat()
            self._connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
            self._check_format()
            self._create_schema()
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            raise _opening_error(path, error) from None

    def put(self, detector_id: str, model_digest: str, support: Support) -> None:
        """Write a support, and delete the least recently used ones that have expired or exceed the limits.

        The support is on the disk when this returns.
        """
        self._check_file()
        now = time.time()
        labels, rows = support.labels.tobytes(), to_ipc(_with_kinds(support))
        values = (detector_id, model_digest, support.false_positive_rate, labels, rows, now)
        with self._transaction() as connection:
            connection.execute(_INSERT, values)
            connection.execute("DELETE FROM detectors WHERE used < ?", (now - self._limits.time_to_live_seconds,))
            n_excess = len(self) - self._limits.max_stored_detectors
            if self._n_bytes() > self._limits.max_stored_bytes:
                n_excess = max(n_excess, len(self) // 10, 1)
            if n_excess > 0:
                oldest = "SELECT id FROM detectors ORDER BY used LIMIT ?"
                connection.execute(f"DELETE FROM detectors WHERE id IN ({oldest})", (n_excess,))
        self._check_file()

    def get(self, detector_id: str, model_digest: str) -> Support | None:
        """Read the support of a detector; None if it is unknown, of another model, expired or altered on disk."""
        with self._transaction() as connection:
            record = connection.execute(
                "SELECT rate, labels, rows FROM detectors WHERE id = ? AND model = ? AND used >= ?",
                (detector_id, model_digest, time.time() - self._limits.time_to_live_seconds),
            ).fetchone()
        if record is None:
            return None
        rate, labels, rows = record
        if not (isinstance(labels, bytes) and isinstance(rows, bytes)):
            return None
        try:
            support = _read_support(from_ipc(rows, "store"), np.frombuffer(labels, np.int8), rate)
        except OddshotError:
            return None
        return support if support.detector_id(model_digest) == detector_id else None

    def mark_used(self, detector_id: str) -> None:
        """Set the time of last use of a detector to now."""
        with self._transaction() as connection:
            connection.execute("UPDATE detectors SET used = ? WHERE id = ?", (time.time(), detector_id))

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM detectors").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _n_bytes(self) -> int:
        """Bytes of the file in use, without its free pages."""
        n_pages, n_free, page_bytes = (
            int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
        return (n_pages - n_free) * page_bytes

    def _check_file(self) -> None:
        """Raise an error if the path no longer leads to the file that is written."""
        try:
            is_same = os.path.samestat(self.path.stat(), self._opened)
        except OSError:
            is_same = False
        if not is_same:
            raise StoreError("its file was deleted or replaced; start the service again")

    def _check_format(self) -> None:
        """Refuse a file that is damaged, of another program, or written by a newer version."""
        (complaint,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if complaint != "ok":
            raise sqlite3.DatabaseError(f"it is damaged ({complaint.splitlines()[-1]})")
        (application_id,) = self._connection.execute("PRAGMA application_id").fetchone()
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if self._has_tables() and application_id != APPLICATION_ID:
            raise sqlite3.DatabaseError("an SQLite file of another program; expected a store of `oddshot serve`")
        if version > VERSION:
            raise sqlite3.DatabaseError(f"it has version {version}, this oddshot knows versions up to {VERSION}")

    def _create_schema(self) -> None:
        """Turn on write-ahead logging with full synchronisation, and create the table in an empty file."""
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        if not self._has_tables():
            self._connection.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA}; CREATE INDEX by_use ON detectors (used); "
                f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
            )

    def _has_tables(self) -> bool:
        return bool(self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk has ended it already
                    self._connection.execute("ROLLBACK")
                raise
        except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite quotes damaged names in its messages
            raise StoreError(_first_line(error)) from None


def _with_kinds(support: Support) -> Any:
    """The rows of a support, with the kinds that the request has named in the metadata of the table."""
    if not support.columns:
        return support.table
    return support.table.replace_schema_metadata({_KINDS_KEY: json.dumps(dict(support.columns.kinds))})


def _read_support(table: Any, labels: NDArray[np.int8], rate: float | None) -> Support:
    """The support in a table that _with_kinds made."""
    kinds = (table.schema.metadata or {}).get(_KINDS_KEY)
    try:
        choice = ColumnChoice() if kinds is None else ColumnChoice.of(json.loads(kinds))
    except (ValueError, RecursionError):
        raise InputError("the kinds of the columns are altered") from None
    return Support(table.replace_schema_metadata(None) if kinds is not None else table, labels, rate, choice)


def _opening_error(path: Path, error: OSError | sqlite3.Error | UnicodeDecodeError) -> OddshotError:
    """The error for a store that cannot be opened, according to its cause."""
    if isinstance(error, OSError):
        return FileError(f"store {path} cannot be used: {error.strerror or _first_line(error)}")
    message = f"store {path} cannot be used: {_first_line(error)}"
    if not isinstance(error, sqlite3.OperationalError):
        return ModelFileError(message)
    return CapacityError(message) if error.sqlite_errorcode == sqlite3.SQLITE_FULL else FileError(message)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
