"""What ranks the rows of a sheet: the detector, or before the first normal label the distance to the median row."""

import warnings
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oddshot.app.labels import Labels
from oddshot.app.sheet import Ints, Rows, Sheet
from oddshot.data.task import NORMAL, UNLABELLED
from oddshot.detector import FewShotDetector
from oddshot.errors import OddshotError

FEWEST = 2  # labels: how rows differ cannot be told from a single one

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Reasons:
    """Why n rows have their scores: what each column adds, [n, columns], to the score of the row compared with.

    compared: [n], that row's number, -1 for the median row. near: [n, k], the nearest labelled rows.
    """

    columns: tuple[str, ...]
    added: Floats
    compared: Ints
    near: Ints


class Scorer(Protocol):
    """Ranks rows. notice: what the page should say of it, or nothing."""

    notice: str
    threshold: float | None

    def score(self, rows: Rows) -> Floats:
        """Encoded rows, [n, attributes] -> [n], higher = more anomalous."""

    def probability(self, scores: Floats) -> Floats | None:
        """[n] -> [n], where it is known."""

    def false_alarms(self, threshold: float) -> float | None:
        """The share of normal rows expected above a score, where it is known."""

    def project(self, rows: Rows) -> Floats | None:
        """Where encoded rows lie on the projected axis (Fig. 2c), [n]; None where there is no such axis."""

    def suggest(self, rows: Rows, scores: Floats, n: int) -> Ints:
        """Which n of these rows to label next, the most useful first."""

    def explain(self, numbers: Ints) -> Reasons:
        """Why these rows of the sheet have their scores."""


class MedianDistance:
    """Mean squared difference to the median row, before there is a detector."""

    threshold: float | None = None

    def __init__(self, sheet: Sheet, sample: Ints, notice: str) -> None:
        self._sheet, self.notice = sheet, notice
        self._median = np.median(sheet.rows[sample], axis=0)

    def score(self, rows: Rows) -> Floats:
        """[n, attributes] -> [n]."""
        out: Floats = np.mean(np.square(rows - self._median), axis=1, dtype=np.float64)
        return out

    def probability(self, scores: Floats) -> None:
        """Not known."""

    def false_alarms(self, threshold: float) -> None:
        """Not known."""

    def project(self, rows: Rows) -> None:
        """There is no axis yet."""

    def suggest(self, rows: Rows, scores: Floats, n: int) -> Ints:
        """The rows nearest to the median: they are likely normal, which is what is needed first."""
        nearest: Ints = np.argsort(scores, kind="stable")[:n]
        return nearest

    def explain(self, numbers: Ints) -> Reasons:
        """The squared differences themselves."""
        squares = np.square(self._sheet.rows[numbers] - self._median, dtype=np.float64) / self._sheet.rows.shape[1]
        encoders = self._sheet.encoding.encoders
        starts = np.cumsum([0, *(len(encoder.attribute_names) for encoder in encoders)])[:-1]
        added = np.add.reduceat(squares, starts, axis=1)
        names = tuple(encoder.name for encoder in encoders)
        return Reasons(names, added, np.full(len(numbers), -1), np.empty((len(numbers), 0), np.int64))


class Adapted:
    """The detector, fitted on the labelled rows and a fixed sample of the others."""

    def __init__(self, sheet: Sheet, labels: Labels, sample: Ints) -> None:
        self._sheet = sheet
        self._numbers = np.concatenate([labels.rows, sample[~np.isin(sample, labels.rows)]])
        self._y = np.full(len(self._numbers), UNLABELLED, np.int8)
        self._y[: len(labels)] = labels.values
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.detector = FewShotDetector(sheet.model).fit(sheet.used(self._numbers), self._y)
        self.notice = next((str(w.message) for w in caught if issubclass(w.category, UserWarning)), "")
        self.threshold: float | None = self.detector.threshold_
        self._sign = 1.0
        self._sign = self._upwards(sheet.rows[labels.rows[labels.values != NORMAL]])

    def score(self, rows: Rows) -> Floats:
        """[n, attributes] -> [n]."""
        return self.detector.score_encoded(rows)

    def probability(self, scores: Floats) -> Floats | None:
        """[n] -> [n], were normal and anomalous rows equally frequent; None without a calibration."""
        return self.detector.probability_of(scores)

    def false_alarms(self, threshold: float) -> float | None:
        """None without a calibration."""
        return self.detector.false_positive_rate_of(threshold)

    def project(self, rows: Rows) -> Floats | None:
        """[n]; labelled anomalies lie on the right of the centre, on average."""
        projected = self.detector.project_encoded(rows)
        return None if projected is None or projected.shape[1] != 1 else self._sign * projected[:, 0]

    def suggest(self, rows: Rows, scores: Floats, n: int) -> Ints:
        """Those of which the detector is least sure."""
        return self.detector.suggest_encoded(rows, scores, n)

    def explain(self, numbers: Ints) -> Reasons:
        """Contributions of the columns, as in FewShotDetector.explain."""
        why = self.detector.explain(self._sheet.used(numbers), neighbours=3)
        fitted = self._numbers
        return Reasons(why.attributes, why.contributions, fitted[why.baseline], fitted[why.neighbours])

    def deciding_at(self, threshold: float | None) -> FewShotDetector:
        """The detector to take away: with the rate of false alarms of a threshold that the person set, where known."""
        rate = None if threshold is None else self.false_alarms(threshold)
        if rate is None:
            return self.detector
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the page has told it already
            return FewShotDetector(self._sheet.model, rate).fit(self._sheet.used(self._numbers), self._y)

    def _upwards(self, anomalies: Rows) -> float:
        projected = self.project(anomalies) if len(anomalies) else None
        return -1.0 if projected is not None and projected.mean() < 0 else 1.0


def make_scorer(sheet: Sheet, labels: Labels, sample: Ints) -> Scorer:
    """The detector where the labels are enough for one; else the distance to the median row, with the reason."""
    if labels.count(NORMAL) == 0 or len(labels) < FEWEST:
        missing = "one normal row" if labels.count(NORMAL) == 0 else "one more row"
        missing = missing if len(labels) else "two rows, at least one of them normal,"
        notice = f"Label {missing} and the detector starts. Until then rows are ranked by distance to the median row."
        return MedianDistance(sheet, sample, notice)
    try:
        return Adapted(sheet, labels, sample)
    except OddshotError as error:
        return MedianDistance(sheet, sample, f"Rows are ranked by distance to the median row: {error}.")
