"""Make many tasks of one dataset, each with a random mixing of the attributes (Sec. 4.1)."""

import numpy as np
from numpy.typing import NDArray

from oddshot.data.episodes.mixing import IntArray, Mixing
from oddshot.data.episodes.sampling import TaskSet
from oddshot.data.task import ANOMALY, NORMAL


def mixed_tasks(X: NDArray[np.floating], y: NDArray[np.integer], n_tasks: int, seed: int) -> TaskSet:
    """Make tasks that share the rows and labels, each with its own mixing matrix. X: [n, M], y: [n]."""
    rows = np.asarray(X, dtype=np.float64)
    rows = rows - rows.mean(axis=0)
    normal, anomaly = np.flatnonzero(y == NORMAL), np.flatnonzero(y == ANOMALY)

    def for_every_task(value: int) -> IntArray:
        return np.full(n_tasks, value, dtype=np.int64)

    return TaskSet(
        rows.astype(np.float32),
        np.concatenate([normal, anomaly]).astype(np.int64),
        normal_start=for_every_task(0),
        normal_count=for_every_task(len(normal)),
        anomaly_start=for_every_task(len(normal)),
        anomaly_count=for_every_task(len(anomaly)),
        mixing=Mixing(rows, n_tasks, seed),
    )
