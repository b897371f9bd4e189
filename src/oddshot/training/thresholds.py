"""The threshold that decides where a model has no calibration."""

import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows, Method
from oddshot.storage.model_file import DEFAULT_THRESHOLD


@torch.no_grad()
def find_threshold(method: Method, support: LabelledRows, query: LabelledRows) -> float:
    """The fraction of the scores' span with the highest balanced accuracy on the queries."""
    score = method.adapt(support)
    low, high = (end.unsqueeze(-1) for end in score.span(support))
    has_span = (high > low).squeeze(
        -1
    )  # tasks whose labelled anomaly scores no higher than the normal rows are left out
    normal, anomaly = ((score(rows) - low) / (high - low) for rows in query)
    if not has_span.any():
        return DEFAULT_THRESHOLD
    return best_threshold(normal[has_span].flatten(), anomaly[has_span].flatten())


def best_threshold(normal: Tensor, anomaly: Tensor) -> float:
    """The threshold, midway between two adjacent scores, of highest balanced accuracy. normal: [N], anomaly: [A]."""
    scores = torch.cat([normal, anomaly]).sort().values
    thresholds = (scores[1:] + scores[:-1]) / 2
    true_negative_rate = torch.searchsorted(normal.sort().values, thresholds, right=True) / len(normal)
    false_negative_rate = torch.searchsorted(anomaly.sort().values, thresholds, right=True) / len(anomaly)
    return float(thresholds[(true_negative_rate - false_negative_rate).argmax()])
