"""The workspace: the open table, and the ranking that follows every change of its labels."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from oddshot.app.labels import Labels
from oddshot.app.open_table import OpenTable
from oddshot.app.rankers import Ranker, make_ranker
from oddshot.app.ranking import Ranking
from oddshot.app.saved_labels import load_labels, save_labels
from oddshot.app.sheet import Sheet
from oddshot.errors import InputError, OddshotError
from oddshot.storage.model_file import Model

N_ROWS_PER_BLOCK = 1024  # scored in one call: fits the CPU cache, and a newer label does not wait long
MAX_THREADS = 8

READING = "reading the table"
SCORING = "scoring"


class Workspace:
    """The work of one person. Changes hold the lock; reads use the latest ranking without it.

    folder: where labels are saved between runs; None to not save them.
    """

    def __init__(self, model: Model, folder: Path | None) -> None:
        self.model, self.folder = model, folder
        self.lock = threading.RLock()
        self.activity = ""  # READING or SCORING while that takes time, for the progress bar
        self.progress: float | None = None  # share of the activity that is done, where known
        self.ranking_version = 0  # increases with every new ranking of the open table
        self.save_error = ""  # why labels could not be saved, for the page
        self._latest_job = 0  # number of the latest ranking begun: background threads of older ones stop
        self._open_table: OpenTable | None = None
        self._thread: threading.Thread | None = None
        self._n_threads = min(os.cpu_count() or 1, MAX_THREADS)
        self._pool = ThreadPoolExecutor(self._n_threads)

    @property
    def current(self) -> OpenTable:
        """The open table; an InputError if there is none."""
        if self._open_table is None:
            raise InputError("no table is open; upload one or take the example")
        return self._open_table

    @property
    def is_open(self) -> bool:
        """Whether a table is open."""
        return self._open_table is not None

    def open(self, read: Callable[[], Sheet]) -> None:
        """Read a table, load its saved labels and rank its rows; if that fails the previous table stays open."""
        with self.lock:
            self.activity, self.progress = READING, None
            try:
                sheet = read()
                labels = {} if self.folder is None else load_labels(self.folder, sheet.digest, len(sheet))
                self._rank(OpenTable(sheet, Labels(len(sheet), labels)))
            finally:
                if self.activity == READING:
                    self.activity = ""

    def reopen(self, read: Callable[[], Sheet]) -> None:
        """Replace the open table by one read in another way, keeping its labels."""
        with self.lock:
            labels = self.current.labels
            self._rank(OpenTable(read(), labels))
            self._save_labels()

    def change_labels(self, change: Callable[[Labels], object]) -> Any:
        """Change labels, save them, and rank the rows again; return what `change` returned."""
        with self.lock:
            open_table = self.current
            result = change(open_table.labels)
            self._save_labels()
            self._rank(open_table)
            return result

    def set_threshold(self, value: float | None) -> None:
        """Set the score above which rows are anomalies; None for the detector's own threshold.

        Later rankings move the threshold so that the same share of the rows lies above it.
        """
        with self.lock:
            self.current.set_threshold(value)

    def wait_until_scored(self) -> None:
        """Wait until every row has its score."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Stop the background work."""
        self._latest_job += 1
        self.wait_until_scored()
        self._pool.shutdown()

    def _save_labels(self) -> None:
        open_table = self.current
        if self.folder is None:
            return
        try:
            sheet = open_table.sheet
            save_labels(self.folder, sheet.digest, sheet.name, open_table.labels, sheet.left_out)
            self.save_error = ""
        except (OddshotError, OSError) as error:  # a full disk or a missing permission must not stop the work
            self.save_error = f"Labels are not kept for the next time: {error}."

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
        self._open_table = open_table
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
        for k in range(0, len(starts), self._n_threads):  # one block per thread: a newer label waits for no more
            if self._latest_job != job:
                return
            list(self._pool.map(score_block, starts[k : k + self._n_threads]))
            self.progress = k / len(starts)
        ranking = Ranking(ranker, scores)
        assert ranking.histogram  # computed, with the order, before the lock is held
        with self.lock:
            if self._latest_job == job:
                open_table.set_ranking(ranking)
                self.ranking_version, self.activity = self.ranking_version + 1, ""
