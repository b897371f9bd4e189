"""Random mixing matrices, one per task, derived from a seed (Sec. 4.1)."""

import copy
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

MAX_CACHE_BYTES = 512 * 2**20  # larger sets of matrices are derived again from the seed whenever they are needed
N_THREADS = min(16, os.cpu_count() or 1)  # NumPy draws random numbers without holding the interpreter's lock
_MIN_ATTRIBUTES_FOR_THREADS = 256  # drawing a smaller matrix is too little work for a thread


class Mixing:
    """Random matrices A ~ U[-1, 1]^(M×M), one per task, with the task's z-score folded in.

    The mixed column j has variance (Aᵀ Σ A)_jj. Dividing column j of A by the square root of it standardises the mixed
    column, so no task needs its own copy of the rows. The same seed and task always give the same matrix.

    L: [M, M] with Lᵀ L = Σ, so that the variances of the mixed columns are the squared column norms of L A.
    """

    def __init__(self, rows: NDArray[np.float64], n_tasks: int, seed: int) -> None:
        """rows: [n, M], centred."""
        self.L = np.asarray(np.linalg.qr(rows / np.sqrt(len(rows)), mode="r"), dtype=np.float32)
        self.n_attributes = rows.shape[1]
        self._seed, self._task_seeds = seed, np.arange(n_tasks)
        fits_in_cache = n_tasks * self.n_attributes**2 * 4 <= MAX_CACHE_BYTES
        self._cache = self._derive(self._task_seeds) if fits_in_cache else None

    def __call__(self, tasks: IntArray) -> NDArray[np.float32]:
        """Return the matrices of these tasks, z-score included. tasks: [B]. Returns [B, M, M]."""
        task_seeds = self._task_seeds[tasks]
        return self._derive(task_seeds) if self._cache is None else self._cache[task_seeds]

    def subset(self, tasks: IntArray) -> "Mixing":
        """Return the mixing of these tasks only, with the same matrices."""
        part = copy.copy(self)
        part._task_seeds = self._task_seeds[tasks]
        return part

    def draw(self, tasks: IntArray) -> NDArray[np.float32]:
        """Return the matrices A themselves, without the z-score: [B, M, M]."""
        return self._draw(self._task_seeds[tasks])

    def _draw(self, task_seeds: IntArray) -> NDArray[np.float32]:
        M = self.n_attributes
        out = np.empty((len(task_seeds), M, M), dtype=np.float32)

        def fill(i: int) -> None:
            np.random.default_rng([self._seed, int(task_seeds[i])]).random(out=out[i], dtype=np.float32)
            out[i] *= 2
            out[i] -= 1

        if M < _MIN_ATTRIBUTES_FOR_THREADS:
            for i in range(len(task_seeds)):
                fill(i)
        else:
            with ThreadPoolExecutor(N_THREADS) as pool:
                list(pool.map(fill, range(len(task_seeds))))
        return out

    def _derive(self, task_seeds: IntArray) -> NDArray[np.float32]:
        """Draw the matrices and fold the z-score in: [B, M, M]."""
        matrices = self._draw(task_seeds)
        for matrix in matrices:
            deviation = np.linalg.norm(self.L @ matrix, axis=0)
            matrix /= np.where(deviation > 0, deviation, 1.0)
        return matrices
