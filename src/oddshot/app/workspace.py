"""The table that is open, its labels, and the ranking that follows them."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from oddshot.app.labels import Labels
from oddshot.app.plane import Plane, fit_plane
from oddshot.app.ranking import Ranking
from oddshot.app.scorers import Floats, Scorer, make_scorer
from oddshot.app.sheet import Ints, Sheet, cells, describe_columns
from oddshot.app.statefile import keep, recall_labels
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import InputError, OddshotError
from oddshot.storage.model_file import Model

QUICK_ROWS = 10_000  # scored before the answer to a label; the rows of larger tables follow in the background
BLOCK_ROWS = 1024  # scored at once: what is computed stays in the cache, and a newer label can stop it soon
UNLABELLED_ROWS = 200  # that the detector sees beside the labelled ones: more gain nothing and take longer
MAP_ROWS = 3000
MOST_THREADS = 8
PREVIEW_ROWS = 5
FEW_NORMAL = 3


class Workspace:
    """One person's work: every change holds the lock, every look takes what is there.

    folder: where labels are kept, None for nowhere.
    """

    def __init__(self, model: Model, folder: Path | None) -> None:
        self.model, self.folder = model, folder
        self.lock = threading.RLock()
        self.stage = ""  # what takes long just now, for the progress bar
        self.done: float | None = None  # how much of it, where that is known
        self.turn = 0  # counts the rankings that were shown
        self.trouble = ""  # why labels could not be kept on disk, for the page
        self._asked = 0  # counts those that were begun: a background thread of an older one stops
        self._open: Open | None = None
        self._thread: threading.Thread | None = None
        self._threads = min(os.cpu_count() or 1, MOST_THREADS)
        self._pool = ThreadPoolExecutor(self._threads)

    @property
    def current(self) -> "Open":
        """The open table."""
        if self._open is None:
            raise InputError("no table is open; upload one or take the example")
        return self._open

    @property
    def is_open(self) -> bool:
        """Whether a table is open."""
        return self._open is not None

    def open(self, read: Callable[[], Sheet]) -> None:
        """Read a table and rank it; if that fails the one before stays open."""
        with self.lock:
            self.stage, self.done = "reading the table", None
            try:
                sheet = read()
                known = {} if self.folder is None else recall_labels(self.folder, sheet.digest, len(sheet))
                self._rank(Open(sheet, Labels(len(sheet), known)))
            finally:
                if self.stage == "reading the table":
                    self.stage = ""

    def reopen(self, read: Callable[[], Sheet]) -> None:
        """The open table read in another way, with the labels that it has."""
        with self.lock:
            labels = self.current.labels
            self._rank(Open(read(), labels))
            self._keep()

    def change(self, change: Callable[[Labels], object]) -> Any:
        """Change labels, keep them on disk, and rank again; what `change` returned."""
        with self.lock:
            now = self.current
            out = change(now.labels)
            self._keep()
            self._rank(now)
            return out

    def set_threshold(self, value: float | None) -> None:
        """A score above which rows count as anomalies; None for the detector's own. Later rankings keep its share."""
        with self.lock:
            now = self.current
            now.threshold = value
            now.share = None if value is None else now.ranking.above(value) / len(now.ranking.order)

    def wait(self) -> None:
        """Until every row has its score."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def close(self) -> None:
        """Stop what runs in the background."""
        self._asked += 1
        self.wait()
        self._pool.shutdown()

    def _keep(self) -> None:
        now = self.current
        if self.folder is None:
            return
        try:
            keep(self.folder, now.sheet.digest, now.sheet.name, now.labels, now.sheet.left_out)
            self.trouble = ""
        except (OddshotError, OSError) as error:  # a full disk or a folder without permission must not stop the work
            self.trouble = f"Labels are not kept for the next time: {error}."

    def _rank(self, now: "Open") -> None:
        """Score so many rows that a person does not wait, and leave the others to a thread."""
        self._asked += 1
        scorer = make_scorer(now.sheet, now.labels, now.sample)
        rows = now.quick_rows()
        starts = range(0, len(rows), BLOCK_ROWS)
        blocks = self._pool.map(lambda k: scorer.score(now.sheet.rows[rows[k : k + BLOCK_ROWS]]), starts)
        scores = np.concatenate(list(blocks))
        by_row = np.full(len(now.sheet), np.nan)
        by_row[rows] = scores
        now.show(Ranking(scorer, by_row))
        now.suggest(rows, scores)
        self._open = now
        self.turn += 1
        if len(rows) < len(now.sheet):
            self._thread = threading.Thread(target=self._rank_all, args=(now, scorer, self._asked), daemon=True)
            self.stage, self.done = "scoring", 0.0
            self._thread.start()
        else:
            self.stage = ""

    def _rank_all(self, now: "Open", scorer: Scorer, asked: int) -> None:
        n = len(now.sheet)
        by_row = np.empty(n)

        def fill(start: int) -> None:
            by_row[start : start + BLOCK_ROWS] = scorer.score(now.sheet.rows[start : start + BLOCK_ROWS])

        starts = range(0, n, BLOCK_ROWS)
        for k in range(0, len(starts), self._threads):  # a block a thread: a newer label waits for no more
            if self._asked != asked:
                return
            list(self._pool.map(fill, starts[k : k + self._threads]))
            self.done = k / len(starts)
        ranking = Ranking(scorer, by_row)
        assert ranking.histogram  # sorted here, not while the lock is held
        with self.lock:
            if self._asked == asked:
                now.show(ranking)
                self.turn, self.stage = self.turn + 1, ""


class Open:
    """A table with its labels and its latest ranking.

    sample: the unlabelled rows that the detector may see. mapped: those on the map. about: what the page says of it.
    """

    def __init__(self, sheet: Sheet, labels: Labels) -> None:
        self.sheet, self.labels = sheet, labels
        order = np.random.default_rng(0).permutation(len(sheet))
        self.sample: Ints = np.sort(order[:UNLABELLED_ROWS])
        self._first: Ints = order[:QUICK_ROWS]
        self.mapped: Ints = np.sort(order[:MAP_ROWS])
        self.plane: Plane = fit_plane(sheet.rows[self.mapped])
        self.about: dict[str, Any] = {
            "name": sheet.name,
            "rows": len(sheet),
            "columns": [asdict(column) for column in describe_columns(sheet)],
            "preview": cells(sheet.table.slice(0, PREVIEW_ROWS)),
            "left_out": sheet.left_out,
            "notices": sheet.notices,
        }
        self.suggestion: int | None = None
        self.threshold: float | None = None
        self.share: float | None = None
        self.ranking: Ranking

    def show(self, ranking: Ranking) -> None:
        """Take a new ranking; the threshold that the person set keeps its share of the rows."""
        self.ranking = ranking
        self.threshold = None if self.share is None else ranking.threshold_for(self.share)

    @property
    def decided(self) -> float | None:
        """The threshold that counts: the person's, or else the detector's, if there is one."""
        return self.ranking.scorer.threshold if self.threshold is None else self.threshold

    def quick_rows(self) -> Ints:
        """All rows of a small table; of a large one a sample, the highest ranked so far, and the labelled ones."""
        if len(self.sheet) <= QUICK_ROWS:
            return np.arange(len(self.sheet))
        top = self.ranking.order[: QUICK_ROWS // 2] if hasattr(self, "ranking") else self._first[:0]
        first = self._first[: QUICK_ROWS - len(top)]
        rows: Ints = np.unique(np.concatenate([first, top, self.labels.rows]))
        return rows

    def suggest(self, rows: Ints, scores: Floats) -> None:
        """Choose the row to label next among some scored ones; None where all are labelled.

        Once a few normal rows are known the first anomaly is worth most: until it is found, the highest ranked row.
        """
        free = ~np.isin(rows, self.labels.rows)
        rows, scores = rows[free], scores[free]
        self.suggestion = None
        if len(rows) and self.labels.count(ANOMALY) == 0 and self.labels.count(NORMAL) >= FEW_NORMAL:
            self.suggestion = int(rows[scores.argmax()])
        elif len(rows):
            self.suggestion = int(rows[self.ranking.scorer.suggest(self.sheet.rows[rows], scores, 1)[0]])

    def auc(self) -> float | None:
        """The built-in example knows the truth: the AUC of the rows without a label."""
        truth = self.sheet.truth
        if truth is None:
            return None
        from sklearn.metrics import roc_auc_score

        rows = np.setdiff1d(self.ranking.order, self.labels.rows)
        both = len(np.unique(truth[rows])) == 2
        return float(roc_auc_score(truth[rows], self.ranking.by_row[rows])) if both else None
