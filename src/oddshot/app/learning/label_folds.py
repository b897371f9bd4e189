"""Scores of labelled rows by methods that have not seen their labels: a fold of them is left out at a time."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from oddshot.adapted.task import AdaptedTask
from oddshot.app.sheet import Sheet
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.methods.classical import IF, LR, RF, ClassicalConfig
from oddshot.methods.contract import Method
from oddshot.score.blend import mean_distance
from oddshot.score.rows import LabelledRows

MAX_FOLDS = 10
SKLEARN_TODAY = ClassicalConfig("modern")

EncodedRows = NDArray[np.float32]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
LabelArray = NDArray[np.int8]

FoldScorer = Callable[[EncodedRows, LabelArray, EncodedRows], FloatArray]
"""Scores of held-out rows [q, M] from labelled ones: rows [m, M] and labels [m]."""


def fold_numbers(labels: LabelArray) -> IntArray:
    """The fold of each labelled row, [m]: as many folds as there are rows of the rarer label, at most MAX_FOLDS.

    Each holds out rows of both labels, so that every fit has about the same share of anomalies. Where a single row is
    left out, its own label makes the others' share lower or higher, and the AUC of useless scores is far below 0.5.
    """
    n_folds = min(MAX_FOLDS, *(int((labels == label).sum()) for label in (NORMAL, ANOMALY)))
    folds = np.empty(len(labels), np.int64)
    for label in (NORMAL, ANOMALY):
        rows = np.random.default_rng(0).permutation(np.flatnonzero(labels == label))
        folds[rows] = np.arange(len(rows)) % n_folds
    return folds


def held_out_scores(score: FoldScorer, rows: EncodedRows, labels: LabelArray, scores: FloatArray) -> Iterator[None]:
    """Write the score of each labelled row into `scores`, [m]; yields after every fold. rows: [m, M], labels: [m]."""
    folds = fold_numbers(labels)
    for fold in range(int(folds.max()) + 1):
        is_held_out = folds == fold
        scores[is_held_out] = score(rows[~is_held_out], labels[~is_held_out], rows[is_held_out])
        yield


def detector_scorer(sheet: Sheet, unlabelled: EncodedRows) -> FoldScorer:
    """The page's detector, adapted to the labels that it is given and to unlabelled rows."""

    def score(rows: EncodedRows, labels: LabelArray, held_out: EncodedRows) -> FloatArray:
        numbers, others = np.arange(len(rows)), unlabelled if len(unlabelled) else None
        task = AdaptedTask.from_encoded(sheet.model, sheet.encoding, rows, labels, numbers, others)
        return task.score_as_new(held_out)

    return score


def nearest_normal_scorer(rows: EncodedRows, labels: LabelArray, held_out: EncodedRows) -> FloatArray:
    """The distance to the nearest row labelled normal."""
    nearest: FloatArray = mean_distance(held_out.astype(np.float64), rows[labels == NORMAL].astype(np.float64), 1)
    return nearest


def isolation_forest_scorer(unlabelled: EncodedRows) -> FoldScorer:
    """An isolation forest on the unlabelled rows and those labelled normal; it makes no use of anomalies."""

    def score(rows: EncodedRows, labels: LabelArray, held_out: EncodedRows) -> FloatArray:
        background = np.concatenate([unlabelled, rows[labels == NORMAL]])
        return _adapted_scores(IF, background, rows[:0], held_out)

    return score


def classifier_scorer(classifier: type[LR] | type[RF]) -> FoldScorer:
    """A classifier on the labelled rows alone."""

    def score(rows: EncodedRows, labels: LabelArray, held_out: EncodedRows) -> FloatArray:
        return _adapted_scores(classifier, rows[labels == NORMAL], rows[labels == ANOMALY], held_out)

    return score


def simple_scorers(unlabelled: EncodedRows) -> dict[str, FoldScorer]:
    """The simple methods by their names on the page."""
    return {
        "nearest normal row": nearest_normal_scorer,
        "isolation forest": isolation_forest_scorer(unlabelled),
        "logistic regression": classifier_scorer(LR),
        "random forest": classifier_scorer(RF),
    }


def _adapted_scores(
    method: type[Method], normal: EncodedRows, anomaly: EncodedRows, held_out: EncodedRows
) -> FloatArray:
    found: FloatArray = method(normal.shape[1], SKLEARN_TODAY).adapt(LabelledRows(normal, anomaly))(held_out)
    return found
