"""One dataset becomes many tasks, each with a random mixing of the attributes (Sec. 4.1)."""

import numpy as np
from numpy.typing import NDArray

from oddshot.data.episodes import Ints, TaskSet
from oddshot.data.task import ANOMALY, NORMAL

CACHE_BYTES = 512 * 2**20  # larger sets of matrices are derived again from the seed whenever they are needed


class Mixing:
    """Random matrices A ~ U[-1, 1]^(M×M), one a task, with the task's z-score folded in.

    The mixed column j has variance (Aᵀ Σ A)_jj, so dividing column j of A by its root z-scores it: no task ever needs
    its own copy of the rows. The same seed and task number give the same matrix, whenever it is asked for.
    """

    def __init__(self, rows: NDArray[np.float64], n_tasks: int, seed: int) -> None:
        """rows: [n, M], centred."""
        self._seed = seed
        # Σ = Lᵀ L: the variances of the mixed columns are the squared column norms of L A.
        self._L = np.asarray(np.linalg.qr(rows / np.sqrt(len(rows)), mode="r"), dtype=np.float32)
        M = rows.shape[1]
        self._cache = self._derive(np.arange(n_tasks)) if n_tasks * M * M * 4 <= CACHE_BYTES else None

    def __call__(self, tasks: Ints) -> NDArray[np.float32]:
        """tasks: [B]. Returns [B, M, M]."""
        return self._derive(tasks) if self._cache is None else self._cache[tasks]

    def _derive(self, tasks: Ints) -> NDArray[np.float32]:
        M = self._L.shape[1]
        out = np.empty((len(tasks), M, M), dtype=np.float32)
        for place, task in enumerate(tasks):
            matrix = np.random.default_rng([self._seed, int(task)]).random((M, M), dtype=np.float32) * 2 - 1
            spread = np.linalg.norm(self._L @ matrix, axis=0)
            out[place] = matrix / np.where(spread > 0, spread, 1.0)
        return out


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
