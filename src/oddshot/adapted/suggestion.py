"""Which rows to label next: those of which the detector is least sure, far from each other and from labelled ones."""

import numpy as np
from numpy.typing import NDArray

MOST_CANDIDATES = 5000  # rows that distances are computed for: the least sure ones

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = NDArray[np.float32]


def choose_rows(rows: Rows, probability: Floats, labelled: Rows, n: int) -> Ints:
    """Numbers of n of the rows, the most useful first. rows: [N, M], probability: [N], labelled: [m, M], m above 0.

    One after the other: the row for which uncertainty, p (1 − p), times the root of the distance to the nearest row
    labelled or chosen so far is largest; a copy of such a row comes last. On validation data no other way tried was
    clearly better. It is better than random choice on digits, and not clearly so on 39 tables of many kinds
    (results/universal/DECISIONS.md).
    """
    worth = probability * (1 - probability)
    candidates = np.argsort(-worth, kind="stable")[: max(MOST_CANDIDATES, n)]
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
    numbers: Ints = candidates[chosen]
    return numbers


def _distance(X: Floats, row: NDArray[np.floating]) -> Floats:
    out: Floats = np.sqrt(np.mean((X - row) ** 2, axis=1))
    return out
