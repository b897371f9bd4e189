"""Random mixing matrices, one a task, derived from a seed (Sec. 4.1)."""

import copy
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
CACHE_BYTES = 512 * 2**20  # larger sets of matrices are derived again from the seed whenever they are needed
THREADS = 4  # NumPy draws outside the interpreter's lock


class Mixing:
    """Random matrices A ~ U[-1, 1]^(M×M), one a task, with the task's z-score folded in.

    The mixed column j has variance (Aᵀ Σ A)_jj, so dividing column j of A by its root z-scores it: no task ever needs
    its own copy of the rows. The same seed and task number give the same matrix, whenever it is asked for.

    L: [M, M] with Lᵀ L = Σ: the variances of the mixed columns are the squared column norms of L A.
    """

    def __init__(self, rows: NDArray[np.float64], n_tasks: int, seed: int) -> None:
        """rows: [n, M], centred."""
        self.L = np.asarray(np.linalg.qr(rows / np.sqrt(len(rows)), mode="r"), dtype=np.float32)
        self.n_attributes = rows.shape[1]
        self._seed, self._numbers = seed, np.arange(n_tasks)
        fits = n_tasks * self.n_attributes**2 * 4 <= CACHE_BYTES
        self._cache = self._derive(self._numbers) if fits else None

    def __call__(self, tasks: Ints) -> NDArray[np.float32]:
        """tasks: [B]. Returns [B, M, M]."""
        numbers = self._numbers[tasks]
        return self._derive(numbers) if self._cache is None else self._cache[numbers]

    def subset(self, tasks: Ints) -> "Mixing":
        """The same matrices, only those of these tasks."""
        part = copy.copy(self)
        part._numbers = self._numbers[tasks]
        return part

    def draw(self, tasks: Ints) -> NDArray[np.float32]:
        """A itself, before the z-score: [B, M, M]."""
        return self._draw(self._numbers[tasks])

    def _draw(self, numbers: Ints) -> NDArray[np.float32]:
        M = self.n_attributes
        out = np.empty((len(numbers), M, M), dtype=np.float32)

        def fill(place: int) -> None:
            np.random.default_rng([self._seed, int(numbers[place])]).random(out=out[place], dtype=np.float32)
            out[place] *= 2
            out[place] -= 1

        if M < 256:  # too little work for a thread
            for place in range(len(numbers)):
                fill(place)
        else:
            with ThreadPoolExecutor(THREADS) as pool:
                list(pool.map(fill, range(len(numbers))))
        return out

    def _derive(self, numbers: Ints) -> NDArray[np.float32]:
        matrices = self._draw(numbers)
        for matrix in matrices:
            spread = np.linalg.norm(self.L @ matrix, axis=0)
            matrix /= np.where(spread > 0, spread, 1.0)
        return matrices
