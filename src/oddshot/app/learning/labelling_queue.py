"""The rows of a labelling queue: several rows to label one after the other, before others are chosen."""

import numpy as np
from numpy.typing import NDArray

from oddshot.app.labels import Labels
from oddshot.app.rankers import Ranker
from oddshot.app.sheet import Sheet

QUEUE_LENGTH = 10

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def choose_queue(sheet: Sheet, labels: Labels, ranker: Ranker, rows: IntArray, scores: FloatArray) -> list[int]:
    """Choose at most QUEUE_LENGTH rows without a label among scored ones, as the ranker suggests, the most useful
    first. scores: [len(rows)]."""
    is_unlabelled = ~np.isin(rows, labels.rows)
    rows, scores = rows[is_unlabelled], scores[is_unlabelled]
    suggested: list[int] = rows[ranker.suggest(sheet.encoded[rows], scores, QUEUE_LENGTH)].tolist()
    return suggested
