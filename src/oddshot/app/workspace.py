"""The workspace: all open tables of one person."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from oddshot.app.edits import Edits
from oddshot.app.session import N_THREADS, TableSession, short_id
from oddshot.app.sheet import Sheet
from oddshot.errors import CapacityError, InputError
from oddshot.storage.model_file import Model

MAX_TABLES = 32
MAX_OPEN_BYTES = 4 * 2**30  # of all open tables together; a single one may be larger


class Workspace:
    """The open tables of one person, by id.

    folder: where labels are saved between runs; None to not save them.
    """

    def __init__(self, model: Model, folder: Path | None) -> None:
        self.model, self.folder = model, folder
        self._sessions: dict[str, TableSession] = {}
        self._lock = threading.Lock()  # held while a table is opened or closed
        self._pool = ThreadPoolExecutor(N_THREADS)

    @property
    def sessions(self) -> list[TableSession]:
        """The open tables in the order in which they were opened."""
        return list(self._sessions.values())

    def session(self, table_id: str) -> TableSession:
        """The open table with this id; an InputError if there is none."""
        try:
            return self._sessions[table_id]
        except KeyError:
            raise InputError("this table is not open; open its file again") from None

    def open(self, digest: str, read: Callable[[Edits], Sheet]) -> TableSession:
        """Read a table, load its saved labels and rank its rows; one that is open already is returned as it is.

        digest: the SHA-256 of the table's file. read: reads it, given what the person has said about it before.
        """
        with self._lock:
            if short_id(digest) in self._sessions:
                return self._sessions[short_id(digest)]
            if len(self._sessions) >= MAX_TABLES:
                raise CapacityError(f"{MAX_TABLES} tables are open, which is the limit; close one first")
            session = TableSession(
                self.model, digest, lambda edits: self._check_size(read(edits)), self._pool, self.folder
            )
            self._sessions[session.id] = session
            return session

    def _check_size(self, sheet: Sheet) -> Sheet:
        n_bytes = sheet.n_bytes + sum(session.current.sheet.n_bytes for session in self._sessions.values())
        if self._sessions and n_bytes > MAX_OPEN_BYTES:
            raise CapacityError(
                f"{sheet.name}: the open tables would take {n_bytes / 2**30:.1f} GiB of memory, the limit is "
                f"{MAX_OPEN_BYTES / 2**30:.1f} GiB; close one of them first"
            )
        return sheet

    def close_table(self, table_id: str) -> None:
        """Close a table; its labels are saved."""
        with self._lock:
            session = self.session(table_id)
            del self._sessions[table_id]
        session.close()

    def close(self) -> None:
        """Stop the background work."""
        for session in self.sessions:
            session.close()
        self._pool.shutdown()
