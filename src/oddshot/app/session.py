"""One open table: changes are saved, and the ranking follows them."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from oddshot.app.edits import Edits, Patch
from oddshot.app.open_table import OpenTable
from oddshot.app.rankers import Ranker, make_ranker
from oddshot.app.ranking import Ranking
from oddshot.app.saved_edits import SavedEdits
from oddshot.app.sheet import Sheet, encode_again
from oddshot.errors import InputError, OddshotError
from oddshot.storage.model_file import Model

N_ROWS_PER_BLOCK = 2048  # scored in one call: fits the CPU cache, and a newer label does not wait long
N_THREADS = min(os.cpu_count() or 1, 8)

SCORING = "scoring"


class TableSession:
    """A person's work on one table. Changes hold the lock; reads use the latest ranking without it.

    read: reads the table, given what the person has said about it. digest: the SHA-256 of its file. pool: the threads
    that score rows. folder: where edits are saved between runs; None to not save them.
    """

    def __init__(
        self, model: Model, digest: str, read: Callable[[Edits], Sheet], pool: ThreadPoolExecutor, folder: Path | None
    ) -> None:
        self.id = short_id(digest)
        self.lock = threading.RLock()
        self.activity = ""  # SCORING while that takes time, for the progress bar
        self.progress: float | None = None  # share of the activity that is done, where known
        self.ranking_version = 0  # increases with every new ranking
        self.save_error = ""  # why edits could not be saved, for the page
        self._model, self._pool = model, pool
        self._saved = None if folder is None else SavedEdits(folder, digest)
        self._unsaved: list[Patch] = []  # changes that are not saved yet
        self._latest_job = 0  # number of the latest ranking begun: background threads of older ones stop
        self._thread: threading.Thread | None = None
        edits = self._load()
        self._saved_version = edits.version
        self.current = OpenTable(read(edits), edits)
        self._rank(self.current)
        self._taken_over = self._take_over()
        self._version_taken_over = self.current.edits.version

    @property
    def taken_over(self) -> str:
        """A sentence about what was taken over from another table, until the next change; otherwise ""."""
        return self._taken_over if self.current.edits.version == self._version_taken_over else ""

    def change(self, patch: Patch, *, continues: bool = False) -> None:
        """Change what the person has said, save it, and rank the rows again where it matters."""
        self._make(lambda edits: (edits.changed(patch, continues=continues), patch))

    def undo(self, version: int | None = None) -> Patch:
        """Take the last change back; return what that has changed. version: of the edits that the person has seen."""
        return self._make(lambda edits: _unless_outdated(edits, version).undo())

    def redo(self, version: int | None = None) -> Patch:
        """Make the change that was undone last again; return what that has changed."""
        return self._make(lambda edits: _unless_outdated(edits, version).redo())

    def synchronise(self) -> None:
        """Save what could not be saved, and take over what another process has saved."""
        with self.lock:
            if self._saved is None:
                return
            try:
                if self._unsaved or self._saved.version() != self._saved_version:
                    self._write(self._saved)
                self.save_error = ""
            except OddshotError as error:  # a full disk or a missing permission must not stop the work
                self.save_error = _save_error(error)

    def wait_until_scored(self) -> None:
        """Wait until every row has its score."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Save what could not be saved before, and stop the background work."""
        with self.lock:
            self.synchronise()
            self._latest_job += 1
        self.wait_until_scored()

    def _load(self) -> Edits:
        try:
            return Edits() if self._saved is None else self._saved.load()
        except OddshotError as error:
            self.save_error = _save_error(error)
            return Edits()

    def _take_over(self) -> str:
        """Take over what was said about rows of the same names in another table, if nothing was said about this one."""
        if self._saved is None or self.current.edits != Edits():
            return ""
        try:
            patch = self._saved.load_by_names(self.current.sheet)
        except OddshotError as error:
            self.save_error = _save_error(error)
            return ""
        if not patch:
            return ""
        self.change(patch)
        taken = [_count(len(patch[field]), field) for field in ("labels", "notes") if patch[field]]
        return f"Taken over by {self.current.id_column}: {' and '.join(taken)}."

    def _make(self, change: Callable[[Edits], tuple[Edits, Patch]]) -> Patch:
        with self.lock:
            self.synchronise()
            edits, patch = change(self.current.edits)
            self._show(edits)
            self._unsaved.append(patch)
            self.synchronise()
            return patch

    def _write(self, saved: SavedEdits) -> None:
        sheet = self.current.sheet
        edits = saved.write(self.current.edits, self._saved_version, self._unsaved, sheet)
        self._saved_version, self._unsaved = edits.version, []
        if edits is not self.current.edits:
            self._show(edits)

    def _show(self, edits: Edits) -> None:
        """Replace the edits; the table is encoded and ranked again where they ask for it."""
        before = self.current.edits
        if edits.differs(before, "left_out", "kinds"):
            open_table = OpenTable(encode_again(self.current.sheet, self._model, edits), edits)
            open_table.second = self.current.second
            self._rank(open_table)
            return
        self.current.set_edits(edits)
        if edits.differs(before, "labels"):
            self._rank(self.current)

    def _rank(self, open_table: OpenTable) -> None:
        """Fit a ranker and score the rows that a person waits for; a thread scores the rest of a large table."""
        self._latest_job += 1
        sheet = open_table.sheet
        ranker = make_ranker(sheet, open_table.labels, open_table.unlabelled_sample)
        rows = open_table.foreground_rows()
        starts = range(0, len(rows), N_ROWS_PER_BLOCK)
        blocks = self._pool.map(
            lambda start: ranker.score(sheet.encoded[rows[start : start + N_ROWS_PER_BLOCK]]), starts
        )
        row_scores = np.concatenate(list(blocks))
        scores = np.full(len(sheet), np.nan)
        scores[rows] = row_scores
        open_table.set_ranking(Ranking(ranker, scores))
        open_table.update_suggestion(rows, row_scores)
        self.current = open_table
        self.ranking_version += 1
        if len(rows) < len(sheet):
            arguments = (open_table, ranker, self._latest_job)
            self._thread = threading.Thread(target=self._rank_all_rows, args=arguments, daemon=True)
            self.activity, self.progress = SCORING, 0.0
            self._thread.start()
        else:
            self.activity = ""

    def _rank_all_rows(self, open_table: OpenTable, ranker: Ranker, job: int) -> None:
        """Score all rows in a background thread, unless a newer ranking has begun."""
        encoded = open_table.sheet.encoded
        scores = np.empty(len(encoded))

        def score_block(start: int) -> None:
            block = slice(start, start + N_ROWS_PER_BLOCK)
            scores[block] = ranker.score(encoded[block])

        starts = range(0, len(encoded), N_ROWS_PER_BLOCK)
        for k in range(0, len(starts), N_THREADS):  # one block per thread: a newer label waits for no more
            if self._latest_job != job:
                return
            list(self._pool.map(score_block, starts[k : k + N_THREADS]))
            self.progress = k / len(starts)
        ranking = Ranking(ranker, scores)
        assert ranking.histogram  # computed, with the order, before the lock is held
        with self.lock:
            if self._latest_job == job:
                open_table.set_ranking(ranking)
                self.ranking_version, self.activity = self.ranking_version + 1, ""


def _unless_outdated(edits: Edits, version: int | None) -> Edits:
    """The edits, if the person has seen their latest version: a change that was not seen is not to be undone."""
    if version is not None and version != edits.version:
        raise InputError("the table was changed in another window in the meantime; look at it and try again")
    return edits


def _count(n: int, things: str) -> str:
    return f"{n:,} {things[:-1] if n == 1 else things}"


def _save_error(error: OddshotError) -> str:
    return f"Changes are not saved yet: {error}. They will be as soon as that is possible; keep the app running."


def short_id(digest: str) -> str:
    """The id of a table in requests: the beginning of the SHA-256 of its file."""
    return digest[:12]
