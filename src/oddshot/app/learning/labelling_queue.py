"""The rows of a labelling queue: several rows to label one after the other, before others are chosen."""

import numpy as np
from numpy.typing import NDArray

from oddshot.app.labels import Labels
from oddshot.app.learning.label_auc import MIN_ANOMALIES
from oddshot.app.rankers import Ranker
from oddshot.app.sheet import Sheet
from oddshot.data.task import ANOMALY, NORMAL

QUEUE_LENGTH = 10
N_NORMAL_BEFORE_ANOMALY_SEARCH = 3  # normal labels after which anomalies are searched for

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def should_find_anomalies(labels: Labels) -> bool:
    """Whether to label the highest ranked rows: too few anomalies are known to say how sure the ranking is.

    The rows that a detector is least certain of may all be normal, however many of them are labelled.
    """
    return labels.count(NORMAL) >= N_NORMAL_BEFORE_ANOMALY_SEARCH and labels.count(ANOMALY) < MIN_ANOMALIES


def choose_queue(sheet: Sheet, labels: Labels, ranker: Ranker, rows: IntArray, scores: FloatArray) -> list[int]:
    """Choose at most QUEUE_LENGTH rows without a label among scored ones, the most useful first. scores: [len(rows)].

    Those that the ranker suggests, which are uncertain and far from each other. As long as too few anomalies are
    labelled, every other one is the highest ranked of the rest.
    """
    is_unlabelled = ~np.isin(rows, labels.rows)
    rows, scores = rows[is_unlabelled], scores[is_unlabelled]
    suggested: list[int] = rows[ranker.suggest(sheet.encoded[rows], scores, QUEUE_LENGTH)].tolist()
    if not should_find_anomalies(labels):
        return suggested
    highest = rows[np.argsort(-scores, kind="stable")[:QUEUE_LENGTH]].tolist()
    alternating = [row for pair in zip(highest, suggested, strict=True) for row in pair]
    return list(dict.fromkeys(alternating))[:QUEUE_LENGTH]
