"""Adapted detectors on disk: their supports in one SQLite file, from which they are adapted again after a restart."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from oddshot.data.tables.ipc import from_ipc, to_ipc
from oddshot.errors import InputError, OddshotError
from oddshot.service.limits import Limits
from oddshot.service.support import Support

VERSION = 1
APPLICATION_ID = 0x0DD5E4E  # marks the file as a store of ours
_SCHEMA = """
CREATE TABLE detectors (
  id TEXT PRIMARY KEY, model TEXT NOT NULL, rate REAL, labels BLOB NOT NULL, rows BLOB NOT NULL, used REAL NOT NULL
)"""
_ADD = """
INSERT INTO detectors (id, model, rate, labels, rows, used) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET used = excluded.used"""


class StoreError(Exception):
    """The store cannot be used now: a full disk, a lock of another program."""


class Store:
    """Supports by the name of their detector. May be shared by several services; each method is one transaction."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path, self._limits = path, limits
        if not path.parent.is_dir():
            raise InputError(f"cannot write store {path}: no folder {path.parent}")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # it holds rows of the users'
            self._connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise InputError(f"store {path} cannot be used: {reason}") from None

    def put(self, name: str, model: str, support: Support) -> None:
        """Keep a support; when this returns it is on the disk. What is over the limits goes."""
        now = time.time()
        values = (name, model, support.false_positive_rate, support.labels.tobytes(), to_ipc(support.table), now)
        with self._transaction() as connection:
            connection.execute(_ADD, values)
            connection.execute("DELETE FROM detectors WHERE used < ?", (now - self._limits.seconds_kept,))
            over = len(self) - self._limits.most_stored
            if self._bytes() > self._limits.most_stored_bytes:
                over = max(over, len(self) // 10, 1)
            if over > 0:
                oldest = "SELECT id FROM detectors ORDER BY used LIMIT ?"
                connection.execute(f"DELETE FROM detectors WHERE id IN ({oldest})", (over,))

    def get(self, name: str, model: str) -> Support | None:
        """The support of a detector of this model; None where there is none, or it was altered."""
        with self._transaction() as connection:
            found = connection.execute(
                "SELECT rate, labels, rows FROM detectors WHERE id = ? AND model = ? AND used >= ?",
                (name, model, time.time() - self._limits.seconds_kept),
            ).fetchone()
        if found is None:
            return None
        rate, labels, rows = found
        try:
            support = Support(from_ipc(rows, "store"), np.frombuffer(labels, np.int8), rate)
        except OddshotError:
            return None
        return support if support.name(model) == name else None

    def touch(self, name: str) -> None:
        """The detector was used."""
        with self._transaction() as connection:
            connection.execute("UPDATE detectors SET used = ? WHERE id = ?", (time.time(), name))

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT count(*) FROM detectors").fetchone()[0])

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _bytes(self) -> int:
        """What the file holds; pages that were given up are used again."""
        pages, free, size = (
            int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * size

    def _prepare(self) -> None:
        connection = self._connection
        complaint = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if complaint != "ok":
            raise sqlite3.DatabaseError(f"it is damaged ({complaint.splitlines()[-1]})")
        owner = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if tables and owner != APPLICATION_ID:
            raise sqlite3.DatabaseError("an SQLite file of another program; expected a store of `oddshot serve`")
        if version > VERSION:
            raise sqlite3.DatabaseError(f"it has version {version}, this oddshot knows versions up to {VERSION}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        if not tables:
            connection.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA}; CREATE INDEX by_use ON detectors (used); "
                f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; COMMIT;"
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise StoreError(str(error).splitlines()[0]) from None
