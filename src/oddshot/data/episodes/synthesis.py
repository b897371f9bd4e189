"""One dataset becomes many tasks, each with a random mixing of the attributes (Sec. 4.1)."""

import numpy as np
from numpy.typing import NDArray

from oddshot.data.episodes.mixing import Ints, Mixing
from oddshot.data.episodes.sampling import TaskSet
from oddshot.data.task import ANOMALY, NORMAL


def mixed_tasks(X: NDArray[np.floating], y: NDArray[np.integer], n_tasks: int, seed: int) -> TaskSet:
    """X: [n, M], y: [n]. All tasks share the rows and labels; each has a mixing matrix of its own."""
    rows = np.asarray(X, dtype=np.float64)
    rows = rows - rows.mean(axis=0)
    normal, anomaly = np.flatnonzero(y == NORMAL), np.flatnonzero(y == ANOMALY)

    def same(value: int) -> Ints:
        return np.full(n_tasks, value, dtype=np.int64)

    return TaskSet(
        rows.astype(np.float32),
        np.concatenate([normal, anomaly]).astype(np.int64),
        same(0),
        same(len(normal)),
        same(len(normal)),
        same(len(anomaly)),
        Mixing(rows, n_tasks, seed),
    )
