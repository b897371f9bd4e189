"""Rankers score the rows of a table: the detector, or the distance to the median row until there are enough labels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oddshot.adapted.task import AdaptedTask, check_labels
from oddshot.app.labels import Labels
from oddshot.app.sheet import Sheet
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import OddshotError
from oddshot.storage.detector_file import DetectorRecord, to_bytes

MIN_LABELS = 2  # for a detector: a single row does not show how rows differ
N_NEAREST_ROWS = 3  # labelled rows named in an explanation

EncodedRows = NDArray[np.float32]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class RowExplanations:
    """Why n rows have their scores: the contribution of each column, relative to a baseline row.

    contributions: [n, columns], they add up to the score minus the score of the baseline row. baseline_rows: [n], -1
    for the median row. nearest_rows: [n, k], the nearest labelled rows.
    """

    columns: tuple[str, ...]
    contributions: FloatArray
    baseline_rows: IntArray
    nearest_rows: IntArray


class Ranker(Protocol):
    """Scores rows. notice: a message for the page, or "". threshold: above it a row is an anomaly, where known."""

    notice: str
    threshold: float | None

    def score(self, rows: EncodedRows) -> FloatArray:
        """Score encoded rows, higher = more anomalous: [n, attributes] -> [n]."""

    def probability(self, scores: FloatArray) -> FloatArray | None:
        """Probabilities that rows with these scores are anomalies, [n] -> [n]; None without a calibration."""

    def false_positive_rate(self, threshold: float) -> float | None:
        """The expected share of normal rows above a threshold; None without a calibration."""

    def threshold_notice(self, threshold: float) -> str:
        """Why that share cannot be relied on, or ""."""

    def project(self, rows: EncodedRows) -> FloatArray | None:
        """Encoded rows on the projected axis (Fig. 2c), [n]; None if the method has no such axis."""

    def projected_threshold(self, threshold: float) -> float | None:
        """How far from the centre a score lies on the projected axis; None where the axis does not show scores."""

    def suggest(self, rows: EncodedRows, scores: FloatArray, n: int) -> IntArray:
        """Indices of the n rows to label next, the most useful first."""

    def explain(self, rows: IntArray) -> RowExplanations:
        """Explain the scores of rows given by their numbers in the table."""


class MedianDistanceRanker:
    """Mean squared difference to the median row, for tables with too few labels for a detector."""

    threshold: float | None = None

    def __init__(self, sheet: Sheet, unlabelled_sample: IntArray, notice: str) -> None:
        self._sheet, self.notice = sheet, notice
        self._median = np.median(sheet.encoded[unlabelled_sample], axis=0)

    def score(self, rows: EncodedRows) -> FloatArray:
        """[n, attributes] -> [n]."""
        out: FloatArray = np.mean(np.square(rows - self._median), axis=1, dtype=np.float64)
        return out

    def probability(self, scores: FloatArray) -> None:
        """None: there is no calibration."""

    def false_positive_rate(self, threshold: float) -> None:
        """None: there is no calibration."""

    def threshold_notice(self, threshold: float) -> str:
        """Nothing: no share is told."""
        return ""

    def project(self, rows: EncodedRows) -> None:
        """None: there is no projection."""

    def projected_threshold(self, threshold: float) -> None:
        """None: there is no projection."""

    def suggest(self, rows: EncodedRows, scores: FloatArray, n: int) -> IntArray:
        """The row nearest to the median first: it is probably normal, and a normal label is needed first.

        Then the farthest one, which may be an anomaly, and on from both ends, evenly spaced by rank.
        """
        n_spaced = min(2 * n, len(scores))
        spaced = np.argsort(scores, kind="stable")[np.linspace(0, len(scores) - 1, n_spaced).astype(np.int64)]
        both_ends: IntArray = np.column_stack([spaced, spaced[::-1]]).reshape(-1)[: min(n, len(scores))]
        return both_ends

    def explain(self, rows: IntArray) -> RowExplanations:
        """The squared differences to the median row, summed over the attributes of each column."""
        encoded = self._sheet.encoded
        squares = np.square(encoded[rows] - self._median, dtype=np.float64) / encoded.shape[1]
        encoders = self._sheet.encoding.encoders
        starts = np.cumsum([0, *(len(encoder.attribute_names) for encoder in encoders)])[:-1]
        contributions = np.add.reduceat(squares, starts, axis=1)
        columns = tuple(encoder.name for encoder in encoders)
        return RowExplanations(columns, contributions, np.full(len(rows), -1), np.empty((len(rows), 0), np.int64))


class DetectorRanker:
    """The model adapted to the labelled rows and a fixed sample of the others, which are encoded already."""

    def __init__(self, sheet: Sheet, labels: Labels, unlabelled_sample: IntArray) -> None:
        self._sheet = sheet
        self._unlabelled = unlabelled_sample[~np.isin(unlabelled_sample, labels.rows)]
        check_labels(labels.values)
        self._task = AdaptedTask.from_encoded(
            sheet.model,
            sheet.encoding,
            sheet.encoded[labels.rows],
            labels.values,
            labels.rows,
            sheet.encoded[self._unlabelled] if len(self._unlabelled) else None,
        )
        self.notice = self._task.notice
        self.threshold: float | None = self._task.threshold
        self._anomalies = sheet.encoded[labels.rows[labels.values != NORMAL]]

    def score(self, rows: EncodedRows) -> FloatArray:
        """[n, attributes] -> [n]."""
        return self._task.score_encoded(rows)

    def probability(self, scores: FloatArray) -> FloatArray | None:
        """[n] -> [n], if normal and anomalous rows were equally frequent; None without a calibration."""
        return self._task.decision.probability(scores)

    def false_positive_rate(self, threshold: float) -> float | None:
        """The expected share of normal rows above a threshold; None without a calibration."""
        return self._task.decision.rate(threshold)

    def threshold_notice(self, threshold: float) -> str:
        """Where rows are too few to say how many normal ones lie above a threshold, how many would do; else ""."""
        return self._task.threshold_notice(threshold)

    def project(self, rows: EncodedRows) -> FloatArray | None:
        """[n]; the sign is chosen so that the mean of the labelled anomalies is positive."""
        projected = self._task.project(rows)
        return self._projection_sign * projected[:, 0] if projected.shape[1] == 1 else None

    def projected_threshold(self, threshold: float) -> float | None:
        """How far from the centre a score lies on the projected axis; None for scores blended with other parts."""
        return self._task.projected_threshold(threshold)

    def suggest(self, rows: EncodedRows, scores: FloatArray, n: int) -> IntArray:
        """The rows that the detector is least certain of."""
        return self._task.suggest(rows, scores, n)

    def leave_one_out(self) -> tuple[FloatArray, NDArray[np.int8]] | None:
        """Scores and labels of the labelled rows, [m] each, each row hidden from itself; None where not known."""
        return self._task.leave_one_out()

    @property
    def unlabelled(self) -> EncodedRows:
        """The unlabelled rows that the detector was adapted with, [u, attributes]."""
        return self._sheet.encoded[self._unlabelled]

    def explain(self, rows: IntArray) -> RowExplanations:
        """Contributions of the columns, as in FewShotDetector.explain."""
        why = self._task.explain(self._sheet.encoded[rows], neighbours=N_NEAREST_ROWS)
        return RowExplanations(why.attributes, why.contributions, why.baseline, why.neighbours)

    def export(self, threshold: float | None) -> bytes:
        """The content of a detector file that decides at this threshold; None for the detector's own."""
        labels, rows = self._task.labels, self._task.row_numbers
        record = DetectorRecord(
            model=self._sheet.model,
            false_positive_rate=None,
            labelled=self._sheet.take(rows),
            unlabelled=self._sheet.take(self._unlabelled),
            labels=labels,
            row_numbers=np.arange(len(rows)),
            classes=np.array([NORMAL, ANOMALY], labels.dtype),
            threshold=threshold,
        )
        return to_bytes(record)

    @cached_property
    def _projection_sign(self) -> float:
        return -1.0 if len(self._anomalies) and self._task.project(self._anomalies)[:, 0].mean() < 0 else 1.0


def make_ranker(sheet: Sheet, labels: Labels, unlabelled_sample: IntArray) -> Ranker:
    """A detector if the labels suffice for one, otherwise the distance to the median row with the reason as notice."""
    if labels.count(NORMAL) == 0 or len(labels) < MIN_LABELS:
        missing = "one normal row" if labels.count(NORMAL) == 0 else "one more row"
        missing = missing if len(labels) else "two rows, at least one of them normal,"
        notice = f"Label {missing} and the detector starts. Until then rows are ranked by distance to the median row."
        return MedianDistanceRanker(sheet, unlabelled_sample, notice)
    try:
        return DetectorRanker(sheet, labels, unlabelled_sample)
    except OddshotError as error:
        notice = f"Rows are ranked by distance to the median row: {error}."
        return MedianDistanceRanker(sheet, unlabelled_sample, notice)
