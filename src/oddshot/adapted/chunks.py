"""Rows scored a chunk at a time, so that memory is bounded, on several CPU cores."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from oddshot.methods.contract import PreparedScore

TURNS_PER_THREAD = 8  # groups of chunks that each thread scores, so that all finish at about the same time
MIN_ROWS_OF_THREADS = 16384  # with fewer, starting threads takes longer than it saves


def score_in_chunks(score: PreparedScore, X: NDArray[np.float32]) -> NDArray[np.float64]:
    """X: [n, M]. Returns [n]."""
    n, step = len(X), even_step(len(X), score.chunk_rows)
    out, starts = np.empty(n), range(0, n, step)

    def fill(some: range) -> None:
        for start in some:
            out[start : start + step] = score(X[start : start + step])

    n_threads = min(n_cores(), len(starts))
    if n < MIN_ROWS_OF_THREADS or n_threads < 2 or not score.runs_in_threads:
        fill(starts)
        return out
    group = -(-len(starts) // (TURNS_PER_THREAD * n_threads))
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(fill, [starts[k : k + group] for k in range(0, len(starts), group)]))
    return out


def even_step(n: int, most: int) -> int:
    """The length of chunks of n rows, as long as each other but for a few rows, and at most about so long."""
    return max(-(-n // max(-(-n // most), 1)), 1)


def n_cores() -> int:
    """How many cores this process may use; as many as OMP_NUM_THREADS says where that is set."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return int(given) if given.isdecimal() and int(given) > 0 else len(os.sched_getaffinity(0))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """In this block, a matrix product uses one core: with threads of our own, more would wait for each other."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
