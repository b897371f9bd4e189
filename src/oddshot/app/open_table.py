"""The open table: its labels, its latest ranking, the threshold and the row to label next."""

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.labels import Labels
from oddshot.app.pca_map import fit_pca_map
from oddshot.app.ranking import Ranking
from oddshot.app.sheet import Sheet, describe_columns, json_cells
from oddshot.data.task import ANOMALY, NORMAL

MAX_FOREGROUND_ROWS = 10_000  # scored before the response to a label; a thread scores the rest of a larger table
MAX_UNLABELLED_ROWS = 200  # in the detector's support; more take longer and do not improve it
MAX_MAP_ROWS = 3000
N_PREVIEW_ROWS = 5
N_NORMAL_BEFORE_ANOMALY_SEARCH = 3  # normal labels after which the first anomaly is searched for

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class OpenTable:
    """A table with its labels and its latest ranking.

    unlabelled_sample: rows that the detector's support may contain without a label. map_rows: rows drawn on the map,
    whose coordinates pca_map gives. description: name, columns and first rows as JSON.
    """

    def __init__(self, sheet: Sheet, labels: Labels) -> None:
        self.sheet, self.labels = sheet, labels
        random_order = np.random.default_rng(0).permutation(len(sheet))
        self.unlabelled_sample: IntArray = np.sort(random_order[:MAX_UNLABELLED_ROWS])
        self._random_rows: IntArray = random_order[:MAX_FOREGROUND_ROWS]
        self.map_rows: IntArray = np.sort(random_order[:MAX_MAP_ROWS])
        self.pca_map = fit_pca_map(sheet.encoded[self.map_rows])
        self.description: dict[str, Any] = {
            "name": sheet.name,
            "rows": len(sheet),
            "columns": [asdict(column) for column in describe_columns(sheet)],
            "preview": json_cells(sheet.table.slice(0, N_PREVIEW_ROWS)),
            "left_out": sheet.left_out,
            "notices": sheet.notices,
        }
        self.suggested_row: int | None = None
        self.user_threshold: float | None = None
        self._user_share: float | None = None  # of the rows, above the user's threshold
        self._ranking: Ranking | None = None

    @property
    def ranking(self) -> Ranking:
        """The latest ranking; there is one as soon as the workspace has opened the table."""
        assert self._ranking is not None
        return self._ranking

    def set_ranking(self, ranking: Ranking) -> None:
        """Replace the ranking; the user's threshold is moved so that it keeps its share of the rows."""
        self._ranking = ranking
        self.user_threshold = None if self._user_share is None else ranking.threshold_for_share(self._user_share)

    def set_threshold(self, value: float | None) -> None:
        """Set the user's threshold; None for the detector's own."""
        self.user_threshold = value
        n_scored = len(self.ranking.order)
        self._user_share = None if value is None else self.ranking.count_above(value) / n_scored

    @property
    def threshold(self) -> float | None:
        """The threshold in force: the user's, otherwise the detector's, if there is a detector."""
        return self.ranking.ranker.threshold if self.user_threshold is None else self.user_threshold

    def foreground_rows(self) -> IntArray:
        """All rows of a small table; of a large one a random sample, the highest ranked and the labelled rows."""
        if len(self.sheet) <= MAX_FOREGROUND_ROWS:
            return np.arange(len(self.sheet))
        top = self._random_rows[:0] if self._ranking is None else self._ranking.order[: MAX_FOREGROUND_ROWS // 2]
        sample = self._random_rows[: MAX_FOREGROUND_ROWS - len(top)]
        rows: IntArray = np.unique(np.concatenate([sample, top, self.labels.rows]))
        return rows

    def update_suggestion(self, rows: IntArray, scores: FloatArray) -> None:
        """Choose the row to label next among scored rows; None if all of them are labelled. scores: [len(rows)].

        Once a few normal rows are labelled, the first anomaly is the most valuable label: until one is found the
        highest ranked row is suggested.
        """
        is_unlabelled = ~np.isin(rows, self.labels.rows)
        rows, scores = rows[is_unlabelled], scores[is_unlabelled]
        n_normal, n_anomaly = self.labels.count(NORMAL), self.labels.count(ANOMALY)
        if len(rows) == 0:
            self.suggested_row = None
        elif n_anomaly == 0 and n_normal >= N_NORMAL_BEFORE_ANOMALY_SEARCH:
            self.suggested_row = int(rows[scores.argmax()])
        else:
            self.suggested_row = int(rows[self.ranking.ranker.suggest(self.sheet.encoded[rows], scores, 1)[0]])

    def auc(self) -> float | None:
        """The AUC over the unlabelled rows of the built-in example, whose true labels are known; otherwise None."""
        truth = self.sheet.truth
        if truth is None:
            return None
        from sklearn.metrics import roc_auc_score

        rows = np.setdiff1d(self.ranking.order, self.labels.rows)
        has_both_classes = len(np.unique(truth[rows])) == 2
        return float(roc_auc_score(truth[rows], self.ranking.scores[rows])) if has_both_classes else None
