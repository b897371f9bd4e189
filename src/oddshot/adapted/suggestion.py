"""Which rows to label next: the most uncertain ones that are far from each other and from labelled rows."""

import numpy as np
from numpy.typing import NDArray

MAX_CANDIDATES = 5000  # the most uncertain rows, for which distances are computed

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
EncodedRows = NDArray[np.float32]


def suggest_rows(rows: EncodedRows, probability: FloatArray, labelled: EncodedRows, n: int) -> IntArray:
    """Numbers of n rows, the most useful first. rows: [N, M], probability: [N], labelled: [m, M], m above 0.

    Greedy: the next row is the one with the largest p (1 − p) times the root of the distance to the nearest row that is
    labelled or chosen already; copies of such rows come last. On validation data no other rule tried was clearly
    better. It is not clearly better than random choice either (results/universal/DECISIONS.md).
    """
    worth = probability * (1 - probability)
    candidates = np.argsort(-worth, kind="stable")[: max(MAX_CANDIDATES, n)]
    X, worth = rows[candidates].astype(np.float64), worth[candidates] + 1e-12
    near = np.full(len(X), np.inf)
    for row in labelled:
        near = np.minimum(near, _distance(X, row))
    chosen: list[int] = []
    for _ in range(min(n, len(X))):
        value = worth * np.sqrt(near + 1e-12)
        value[chosen] = -1.0
        best = int(value.argmax())
        chosen.append(best)
        near = np.minimum(near, _distance(X, X[best]))
    numbers: IntArray = candidates[chosen]
    return numbers


def _distance(X: FloatArray, row: NDArray[np.floating]) -> FloatArray:
    out: FloatArray = np.sqrt(np.mean((X - row) ** 2, axis=1))
    return out
