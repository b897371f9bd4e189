"""The open table: its labels, its latest ranking, the threshold and the row to label next."""

import hashlib
import json
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.edits import Edits
from oddshot.app.groups import GroupColumn, find_group_columns
from oddshot.app.labels import Labels
from oddshot.app.learning.second_detector import SecondDetector
from oddshot.app.learning.simple_methods import SimpleMethodsJob
from oddshot.app.pca_map import fit_pca_map
from oddshot.app.ranking import Ranking
from oddshot.app.row_names import propose_id_column, row_names
from oddshot.app.sheet import Sheet, describe_columns, json_cells
from oddshot.app.timeline import TimeAxis, find_time_axes
from oddshot.app.user_threshold import UserThreshold

MAX_FOREGROUND_ROWS = 10_000  # scored before the response to a label; a thread scores the rest of a larger table
MAX_UNLABELLED_ROWS = 200  # in the detector's support; more take longer and do not improve it
MAX_MAP_ROWS = 3000
N_PREVIEW_ROWS = 5

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class OpenTable:
    """A table with what the person has said about it and its latest ranking.

    unlabelled_sample: rows that the detector's support may contain without a label. map_rows: rows drawn on the map,
    whose coordinates pca_map gives. description: name, columns and first rows as JSON.
    """

    def __init__(self, sheet: Sheet, edits: Edits) -> None:
        self.sheet = sheet
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
            "id_proposal": propose_id_column(sheet),
            "notices": sheet.notices,
        }
        self.suggested_row: int | None = None
        self._user_threshold: UserThreshold | None = None
        self._threshold_setting: dict[str, Any] | None = None  # of which it was made
        self._top_rows: IntArray = random_order[:0]  # of the latest ranking of all rows
        self._ranking: Ranking | None = None
        self.before: tuple[Ranking, float | None] | None = None  # the ranking before the latest change, its threshold
        self.simple_methods: SimpleMethodsJob | None = None
        self.second: SecondDetector | None = None
        self.set_edits(edits)

    @property
    def ranking(self) -> Ranking:
        """The latest ranking; there is one as soon as the workspace has opened the table."""
        assert self._ranking is not None
        return self._ranking

    def set_edits(self, edits: Edits) -> None:
        """Replace what the person has said about the table."""
        self.edits, self.labels = edits, Labels(edits.labels)
        self._place_threshold()

    def set_ranking(self, ranking: Ranking) -> None:
        """Replace the ranking; the user's threshold follows it."""
        if self._ranking is not None and self._ranking.ranker is not ranking.ranker:
            self.before = self._ranking, self.threshold
        if ranking.is_complete:
            self._top_rows = ranking.order[: MAX_FOREGROUND_ROWS // 2]
        else:
            ranking = replace(ranking, weights=self._row_weights(ranking))
        self._ranking = ranking
        self._place_threshold()

    def _place_threshold(self) -> None:
        """Take a new threshold from the edits; count the rows above it in the ranking in which it was set."""
        setting = self.edits.settings.get("threshold")
        if setting != self._threshold_setting:
            self._threshold_setting = setting
            self._user_threshold = None if setting is None else UserThreshold.from_setting(setting)
        if self._user_threshold is not None and self._ranking is not None:
            self._user_threshold = self._user_threshold.counted_in(self._ranking, self.ranking_key)

    def make_threshold(self, value: float) -> UserThreshold:
        """The threshold that a person sets in the latest ranking."""
        return UserThreshold.of(value, self.ranking, self.ranking_key)

    @property
    def ranking_key(self) -> str:
        """Tells rankings by other labels or another model, the same in every run."""
        labels = json.dumps(sorted(self.edits.labels.items()))
        return hashlib.sha256(f"{self.sheet.model_digest} {labels}".encode()).hexdigest()[:16]

    @property
    def user_threshold(self) -> float | None:
        """The threshold that the user has set, if any, as it is in the latest ranking."""
        if self._user_threshold is None:
            return None
        return self._user_threshold.value_in(self.ranking, self.ranking_key)

    @property
    def threshold(self) -> float | None:
        """The threshold in force: the user's, otherwise the detector's, if there is a detector."""
        return self.ranking.ranker.threshold if self.user_threshold is None else self.user_threshold

    @property
    def id_column(self) -> str | None:
        """The column whose values name the rows, if one was chosen."""
        column: str | None = self.edits.settings.get("id_column")
        return column

    def names(self, rows: IntArray) -> list[str | None]:
        """The names of rows; None for each if no column names them."""
        return row_names(self.sheet, self.id_column, rows)

    def edited_rows(self) -> IntArray:
        """The rows with a label or a note, in ascending order."""
        return np.array(sorted({*self.edits.labels, *self.edits.notes}), np.int64)

    @cached_property
    def time_axes(self) -> list[TimeAxis]:
        """The columns by which the rows can be ordered in time, read when they are first asked for."""
        return find_time_axes(self.sheet)

    @cached_property
    def group_columns(self) -> list[GroupColumn]:
        """The columns whose values are groups of rows, read when they are first asked for."""
        return find_group_columns(self.sheet)

    def foreground_rows(self) -> IntArray:
        """All rows of a small table; of a large one a random sample, the highest ranked and the labelled rows.

        The highest ranked are those of the latest ranking of all rows. That of a part would choose rows of the sample,
        and what is left of a sample without its highest rows stands for no others.
        """
        if len(self.sheet) <= MAX_FOREGROUND_ROWS:
            return np.arange(len(self.sheet))
        sample = self._random_rows[: MAX_FOREGROUND_ROWS - len(self._top_rows)]
        rows: IntArray = np.unique(np.concatenate([sample, self._chosen_rows()]))
        return rows

    def _chosen_rows(self) -> IntArray:
        """The foreground rows that are there whether or not the random sample has them."""
        return np.union1d(self._top_rows, self.labels.rows)

    def _row_weights(self, ranking: Ranking) -> FloatArray:
        """How many rows each foreground row stands for: a chosen one for itself, the sample for all others."""
        chosen = self._chosen_rows()
        n_others = len(self.sheet) - len(chosen)
        weights = np.full(len(self.sheet), n_others / max(len(ranking.order) - len(chosen), 1))
        weights[chosen] = 1.0
        return weights

    def update_suggestion(self, rows: IntArray, scores: FloatArray) -> None:
        """Choose the row to label next among scored rows; None if all of them are labelled. scores: [len(rows)]."""
        is_unlabelled = ~np.isin(rows, self.labels.rows)
        rows, scores = rows[is_unlabelled], scores[is_unlabelled]
        if len(rows) == 0:
            self.suggested_row = None
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
