"""Which rows to label next: the highest ranked ones, unlike each other."""

import numpy as np
from numpy.typing import NDArray

MAX_CANDIDATES = 5000  # the highest ranked rows, for which distances are computed

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
EncodedRows = NDArray[np.float32]


def suggest_rows(rows: EncodedRows, scores: FloatArray, probability: FloatArray, n: int) -> IntArray:
    """Numbers of n rows, the most useful first. rows: [N, M], scores, probability: [N].

    The first is the highest ranked: an anomaly that is found is worth more than any other label
    (results/universal/SUGGESTIONS.md). Each further one has the largest probability times the root of the distance to
    the nearest row that is chosen already; copies of such rows come last.
    """
    candidates = np.argsort(-scores, kind="stable")[: max(MAX_CANDIDATES, n)]
    X, worth = rows[candidates].astype(np.float64), probability[candidates] + 1e-12
    near, value, chosen = np.full(len(X), np.inf), worth.copy(), list[int]()
    for k in range(min(n, len(X))):
        best = int(value.argmax()) if k > 0 else 0
        chosen.append(best)
        near = np.minimum(near, np.sqrt(np.mean((X - X[best]) ** 2, axis=1)))
        value = worth * np.sqrt(near + 1e-12)
        value[chosen] = -1.0
    numbers: IntArray = candidates[chosen]
    return numbers
