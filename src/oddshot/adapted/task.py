"""One task that a model has adapted to: how its rows are encoded, scored and decided on.

Every face (command line, detector, app, service) is thin over `AdaptedTask`: a row is encoded once, and scored and
decided on in one place.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oddshot.adapted.chunks import score_in_chunks
from oddshot.adapted.copies import DistinctRows, fit_without_copies, without_copies
from oddshot.adapted.explanation import Explanation, column_contributions, column_orders, nearest_rows
from oddshot.adapted.ranges import SeenRanges
from oddshot.adapted.result import ScoredRows
from oddshot.adapted.seen_rows import SeenRows, hash_rows
from oddshot.adapted.suggestion import suggest_rows
from oddshot.data.encoding import ColumnChoice, Encoding
from oddshot.data.encoding.interval_column import pair_with_row_before
from oddshot.data.tables.conversion import take_rows
from oddshot.data.tables.label_copies import warn_of_label_copies
from oddshot.data.tables.skipped_cells import SkippedCells
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED
from oddshot.decisions.calibration import DEFAULT_RATE, RATES, Decision, FixedThreshold, check_rate, logistic
from oddshot.decisions.support_scores import SupportScores
from oddshot.errors import InputError
from oddshot.methods.contract import OwnScores, PreparedScore, Score
from oddshot.score.rows import LabelledRows
from oddshot.storage.model_file import Model

MAX_UNLABELLED = 1000  # rows that a task is adapted with
MIN_ROWS_OF_THRESHOLD = 3  # normal and unlabelled; with fewer, a false-positive rate is exceeded (results/decisions)
RATE_ROUNDING = 1e-6  # relative, of a rate that is read off a threshold

MIN_EXPECTED_POSITIVES = 3  # rows that should be called anomalies, of which there is none in 5 of 100 cases

EncodedRows = NDArray[np.float32]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class NoCalibration(InputError, AttributeError):
    """A model without calibration has no probabilities. An AttributeError, so that hasattr tells scikit-learn so."""


@dataclass(frozen=True, eq=False)
class AdaptedTask:
    """A model adapted to the rows of one task.

    support: [n, attributes], the labelled rows, encoded, with their labels [n] (1 = anomaly, 0 = normal). row_numbers:
    [n], how the caller counts them. threshold: the score above which a row is an anomaly. ranges: of the
    numbers in the rows that it was adapted with. used: the rows that the method was adapted with, without copies.
    """

    model: Model
    encoding: Encoding
    score: Score
    support: EncodedRows
    labels: NDArray[np.int8]
    row_numbers: IntArray
    decision: Decision
    threshold: float
    ranges: SeenRanges
    used: DistinctRows

    @classmethod
    def from_table(
        cls,
        model: Model,
        X: Any,
        labels: NDArray[np.int8],
        false_positive_rate: float | None = None,
        columns: ColumnChoice | Encoding | None = None,
        label_name: object = None,
    ) -> "AdaptedTask":
        """Adapt to rows as people have them.

        X: an array [n, M] or an Arrow table of n rows. labels: [n], 1 = anomaly, 0 = normal, -1 = unlabelled. columns:
        which columns to use and as what, or how they become numbers, for a model without an encoding of its own.
        label_name: the name of the labels, if they have one; there is a warning of a column that repeats them.
        """
        check_labels(labels)
        X = with_rows_before(model, X, columns)
        labelled, others = np.flatnonzero(labels != UNLABELLED), sample_unlabelled(labels)
        encoding = find_encoding(model, X, labels, columns, label_name=label_name)
        support = encoding.transform(take_rows(X, labelled), "support", labelled + 1)
        warn_of_contradictions(support, labels[labelled], labelled)
        unlabelled = None
        if model.method.uses_unlabelled and len(others):
            unlabelled = encoding.transform(take_rows(X, others), "support", others + 1)
        return cls.from_encoded(
            model, encoding, support, labels[labelled], labelled, unlabelled, false_positive_rate=false_positive_rate
        )

    @classmethod
    def from_encoded(
        cls,
        model: Model,
        encoding: Encoding,
        support: EncodedRows,
        labels: NDArray[np.int8],
        row_numbers: IntArray,
        unlabelled: EncodedRows | None = None,
        *,
        false_positive_rate: float | None = None,
    ) -> "AdaptedTask":
        """Adapt to rows that are encoded already. unlabelled: [u, attributes], or None for none."""
        support = encoding.clip(support)
        unlabelled = None if unlabelled is None else encoding.clip(unlabelled)
        method, rate = model.method, _usable_rate(model, false_positive_rate)
        ranges = SeenRanges.of(encoding, support if unlabelled is None else np.concatenate([support, unlabelled]))
        used = without_copies(support, labels, unlabelled if method.uses_unlabelled else None)
        rows, others = LabelledRows(used.normal, used.anomaly), used.unlabelled if len(used.unlabelled) else None
        score = method.adapt(rows, others)
        score, decision = _decide(model, score, rows, others)
        return cls(
            model, encoding, score, support, labels, row_numbers, decision, decision.threshold(rate), ranges, used
        )

    @property
    def n_unlabelled(self) -> int:
        """How many unlabelled rows the method was adapted with, without copies."""
        return len(self.used.unlabelled)

    def at_rate(self, false_positive_rate: float | None) -> "AdaptedTask":
        """The same task, deciding at another false-positive rate; None for the default."""
        rate = _usable_rate(self.model, false_positive_rate)
        return replace(self, threshold=self.decision.threshold(rate))

    @cached_property
    def prepared(self) -> PreparedScore:
        """The score in its cheapest form."""
        return self.score.prepare()

    @cached_property
    def own(self) -> OwnScores | None:
        """The rows that the method was adapted with, each hidden from itself; None for methods without such scores."""
        return self.score.own()

    @cached_property
    def seen(self) -> SeenRows:
        """The rows that it was adapted with, each scored as if it had not been among them."""
        if self.own is None:
            rows = np.concatenate([self.used.anomaly, self.used.normal])
            scores, counts = np.full(len(rows), np.nan), (len(self.used.anomaly), len(self.used.normal), 0)
        else:
            rows, scores, n_anomaly, n_unlabelled = self.own
            counts = n_anomaly, len(rows) - n_anomaly - n_unlabelled, n_unlabelled
        labels = np.repeat(np.array([ANOMALY, NORMAL, UNLABELLED], np.int8), counts)
        bounds = self.decision.threshold(RATES[-1]), self.decision.threshold(RATES[0])
        return SeenRows.of(rows, scores, labels, bounds, self.used.copies)

    def leave_one_out(self) -> tuple[FloatArray, NDArray[np.int8]] | None:
        """Scores of the labelled rows, each hidden from itself, and their labels, [n] each.

        The projection has seen them all, so no model is fitted again. None for methods that score these rows like any
        other.
        """
        if self.own is None:
            return None
        n_labelled = len(self.own.scores) - self.own.n_unlabelled
        counts = [self.own.n_anomaly, n_labelled - self.own.n_anomaly]
        return self.own.scores[:n_labelled], np.repeat([ANOMALY, NORMAL], counts).astype(np.int8)

    @property
    def notice(self) -> str:
        """Where rows are too few for the threshold, how many would do; else nothing."""
        return self.threshold_notice(self.threshold)

    def threshold_notice(self, threshold: float) -> str:
        """Where rows are too few to say how many normal ones lie above a threshold, how many would do; else nothing."""
        n, rate = len(self.used.normal) + self.n_unlabelled, self.decision.rate(threshold)
        if rate is None:
            return ""
        rows = f"{n} rows that are normal or unlabelled are" if n > 1 else "one normal row is"
        remedy = "label more normal rows, or add unlabelled ones"
        if n < MIN_ROWS_OF_THRESHOLD:
            return f"{rows} too few for a threshold: predictions and rates may be far off; {remedy}"
        n_needed = math.ceil((1 - RATE_ROUNDING) / rate)
        if n >= n_needed or rate > (1 - RATE_ROUNDING) * DEFAULT_RATE:
            return ""
        return f"{rows} too few for a false-positive rate of {100 * rate:.2g} %, which takes {n_needed:,}; {remedy}"

    def nothing_found_notice(self, n_rows: int, n_anomalies: int) -> str:
        """What helps where no row is called an anomaly though some normal ones should be, by the false-positive rate.

        With few labelled rows a threshold is cautious, and unlabelled ones move it to where the others lie.
        """
        rate = self.decision.rate(self.threshold)
        if rate is None or self.n_unlabelled or not self.model.method.uses_unlabelled:
            return ""
        n_expected = n_rows * rate
        if n_expected < MIN_EXPECTED_POSITIVES or n_anomalies:
            return ""
        return (
            f"none of {n_rows:,} rows is called an anomaly, where a false-positive rate of {100 * rate:.3g} % alone "
            f"would give about {n_expected:.0f}: the threshold is too cautious; add unlabelled rows to the labelled "
            "ones"
        )

    def encode(self, X: Any, where: str, first_row: int = 1, skipped: SkippedCells | None = None) -> EncodedRows:
        """Rows as the score takes them: [n, attributes]. where, first_row: how messages call the rows.

        skipped: as in Encoding.transform; without it, there is a warning of cells that are taken as missing.
        """
        if skipped is not None:
            return self.encoding.transform(X, where, first_row, skipped)
        found = SkippedCells()
        encoded = self.encoding.transform(X, where, first_row, found)
        for notice in found.notices():
            warnings.warn(f"{where}: {notice}", stacklevel=2)
        return encoded

    def score_encoded(self, rows: EncodedRows) -> FloatArray:
        """Scores of encoded rows, higher = more anomalous: [n, attributes] -> [n].

        An unlabelled row that the task was adapted with is hidden from itself, so that it scores as a row that was not.
        A row that equals a labelled one is decided on as its label says.
        """
        return self.seen.score(rows, self.score_as_new)

    def score_fitted(self, rows: EncodedRows) -> FloatArray:
        """The same for the rows that the task was given: labelled ones are hidden from themselves too."""
        known = self.seen.leave_one_out(rows)
        is_unknown = np.isnan(known)
        if is_unknown.any():
            known[is_unknown] = self.score_as_new(rows[is_unknown])
        return known

    def score_as_new(self, rows: EncodedRows) -> FloatArray:
        """Scores of encoded rows as if none were among those that the task was adapted with: [n, attributes] -> [n]."""
        return score_in_chunks(self.prepared, rows)

    def decide(self, scores: FloatArray) -> ScoredRows:
        """Scores with probabilities and decisions."""
        return ScoredRows.at_threshold(scores, self.decision.probability(scores), self.threshold)

    def project(self, rows: EncodedRows) -> FloatArray:
        """Encoded rows in the projected space, relative to the centre (Fig. 2c): [n, K], K = 0 without such a space."""
        projected = self.score.project(rows)
        return np.empty((len(rows), 0)) if projected is None else projected

    def embed(self, rows: EncodedRows) -> FloatArray:
        """Encoded rows in the embedded space, relative to the centre (Fig. 2b): [n, J], J = 0 without such a space."""
        embedded = self.score.embed(rows)
        return np.empty((len(rows), 0)) if embedded is None else embedded.astype(np.float64)

    def projected_threshold(self, threshold: float) -> float | None:
        """The distance from the centre that a score is, None where scores are something else than squared distances."""
        return None if self.score.is_standardised or threshold < 0 else threshold**0.5

    def explain(self, rows: EncodedRows, neighbours: int = 5) -> Explanation:
        """Why encoded rows have their scores: what each column adds, and the nearest labelled rows.

        Rows that the task was given are hidden from themselves, whatever their labels.
        """
        near, distances = nearest_rows(rows, self.support, min(neighbours, len(self.support)))
        normal = np.flatnonzero(self.labels == NORMAL)
        baseline = normal[nearest_rows(rows, self.support[normal], 1)[0][:, 0]]
        encoders = self.encoding.encoders
        ends = np.cumsum([0, *(len(encoder.attribute_names) for encoder in encoders)]).tolist()
        groups = [slice(*pair) for pair in pairwise(ends)]
        added, score, start = column_contributions(
            self.score_fitted,
            rows,
            self.support[baseline],
            groups,
            column_orders(len(groups)),
            ends_are_lowest=self.leave_one_out() is not None,
        )
        names, numbers = tuple(encoder.name for encoder in encoders), self.row_numbers
        return Explanation(names, added, score, start, numbers[baseline], numbers[near], distances)

    def suggest(self, rows: EncodedRows, scores: FloatArray, n: int) -> IntArray:
        """Which n of these encoded rows, whose scores are known, to label next, the most useful first.

        Rows that are labelled already come last.
        """
        p = self.decision.probability(scores)
        if p is None:  # as certain as a score is far from the threshold, relative to the other scores
            beyond = scores - self.threshold
            p = logistic(beyond / (float(np.median(np.abs(beyond))) or 1.0))
        is_labelled = np.isin(hash_rows(rows), hash_rows(self.support))
        return suggest_rows(rows, np.where(is_labelled, -np.inf, scores), np.where(is_labelled, 0.0, p), n)


def find_encoding(
    model: Model,
    X: Any,
    labels: NDArray[np.int8],
    columns: ColumnChoice | Encoding | None = None,
    context: Sequence[Any] = (),
    label_name: object = None,
) -> Encoding:
    """The encoding of a task's rows: the model's own, or one fitted to the rows that the task is adapted with.

    X, labels, columns, label_name: as in AdaptedTask.from_table. context: more tables, which show what is a key.
    """
    if model.encoding is not None:
        if columns:
            raise InputError(
                "the model has its own columns, chosen when it was trained; other ones cannot be chosen now"
            )
        return model.encoding
    if isinstance(columns, Encoding):
        return columns
    X = with_rows_before(model, X, columns)
    parts = [rows for rows in (np.flatnonzero(labels != UNLABELLED), sample_unlabelled(labels)) if len(rows)]
    tables, numbers = [take_rows(X, rows) for rows in parts], [rows + 1 for rows in parts]
    encoding = Encoding.fit(tables, ["support"] * len(parts), columns, context, numbers)
    warn_of_label_copies([(X, labels)], encoding.recognised(columns), "support", label_name)
    encoded = [encoding.transform(table, "support", 1, SkippedCells()) for table in tables]
    used = np.concatenate(parts)

    def fit(kept: IntArray) -> Encoding:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # all has been said
            return Encoding.fit([take_rows(X, used[kept])], ["support"], columns, context, [used[kept] + 1])

    return fit_without_copies(encoding, np.concatenate(encoded), labels[used], fit)


def with_rows_before(model: Model, X: Any, columns: ColumnChoice | Encoding | None) -> Any:
    """Rows in the order of their file, with what they need of the row before, so that they can be taken apart.

    model, columns: as in AdaptedTask.from_table. X: an array or an Arrow table.
    """
    chosen = model.encoding or columns
    if not chosen or not chosen.intervals:
        return X
    if not isinstance(X, pa.Table):
        raise InputError(f"column {chosen.intervals[0]!r}: the kind interval needs a table with named columns")
    return pair_with_row_before(X, chosen.intervals)


def warn_of_contradictions(support: EncodedRows, labels: NDArray[np.int8], row_numbers: IntArray) -> None:
    """Warn if the same encoded row, of [n, attributes], is labelled both ways; row_numbers: [n], counted from 0."""
    if not np.isin(support[labels == ANOMALY, :1], support[labels == NORMAL, :1]).any():  # no two are the same
        return
    _, group = np.unique(support, axis=0, return_inverse=True)
    group = group.reshape(-1)
    both = np.intersect1d(group[labels == NORMAL], group[labels == ANOMALY])
    if len(both):
        rows = row_numbers[group == both[0]] + 1
        more = f", and {len(both) - 1} more such" if len(both) > 1 else ""
        warnings.warn(
            f"rows {', '.join(map(str, rows[:5]))} are the same and labelled both normal and anomalous{more}; "
            "correct their labels, or leave them unlabelled",
            stacklevel=3,
        )


def check_labels(labels: NDArray[np.int8]) -> None:
    """Refuse a support without a normal row."""
    if not (labels == NORMAL).any():
        raise InputError(
            f"the support has only one class: {int((labels == ANOMALY).sum())} anomalies and no normal row; "
            "at least one row labelled normal is needed"
        )


def require_calibration(model: Model, purpose: str) -> None:
    """Refuse what needs a calibration if the model has none."""
    if model.calibration is None:
        raise NoCalibration(f"{purpose} needs a calibration, and the model has none; train it again")


def _usable_rate(model: Model, rate: float | None) -> float | None:
    """A false-positive rate that the model can decide at, checked."""
    checked = check_rate(rate)
    if checked is not None:
        require_calibration(model, "false_positive_rate")
    return checked


def sample_unlabelled(labels: NDArray[np.int8]) -> IntArray:
    """Which unlabelled rows a task is adapted with: all, or MAX_UNLABELLED drawn with a fixed seed."""
    rows = np.flatnonzero(labels == UNLABELLED)
    if len(rows) <= MAX_UNLABELLED:
        return rows
    chosen: IntArray = np.sort(np.random.default_rng(0).choice(rows, MAX_UNLABELLED, replace=False))
    return chosen


def _decide(model: Model, score: Score, support: LabelledRows, unlabelled: Any) -> tuple[Score, Decision]:
    """What the scores of this task mean.

    Scores that are standardised get the scale of the decision, so that those of several fits can be compared: 0 for a
    median normal row and 1 at the default threshold.
    """
    if model.calibration is None:
        low, high = (float(end) for end in score.score_range(support))
        return score, FixedThreshold(low + model.threshold * (high - low))
    decision = model.calibration.decide(SupportScores.of(score, support, unlabelled))
    if not score.is_standardised:
        return score, decision
    location, unit = decision.scale()
    return score.rescaled(location, unit), decision.rescaled(location, unit)
