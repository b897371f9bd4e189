"""The threshold that decides where a model has no calibration."""

import numpy as np
from numpy.typing import NDArray

from oddshot.methods.contract import Method
from oddshot.score.rows import LabelledRows
from oddshot.storage.model_file import DEFAULT_THRESHOLD

FloatArray = NDArray[np.float64]


def find_threshold(method: Method, support: LabelledRows, query: LabelledRows) -> float:
    """The fraction of the scores' range with the highest balanced accuracy on the queries: [T, n, M] in NumPy."""
    score = method.adapt(support)
    low, high = (end[..., None] for end in score.score_range(support))
    has_range = (high > low)[..., 0]  # tasks whose labelled anomaly scores no higher than the normal rows are left out
    if not has_range.any():
        return DEFAULT_THRESHOLD
    with np.errstate(divide="ignore", invalid="ignore"):
        normal, anomaly = ((score(rows) - low) / (high - low) for rows in query)
    return best_threshold(normal[has_range].ravel(), anomaly[has_range].ravel())


def best_threshold(normal: FloatArray, anomaly: FloatArray) -> float:
    """The threshold, midway between two adjacent scores, of highest balanced accuracy. normal: [N], anomaly: [A]."""
    scores = np.sort(np.concatenate([normal, anomaly]))
    thresholds = (scores[1:] + scores[:-1]) / 2
    true_negative_rate = np.sort(normal).searchsorted(thresholds, side="right") / len(normal)
    false_negative_rate = np.sort(anomaly).searchsorted(thresholds, side="right") / len(anomaly)
    return float(thresholds[(true_negative_rate - false_negative_rate).argmax()])
