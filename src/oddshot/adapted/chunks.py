"""Rows in NumPy scored by torch, a chunk at a time so that memory is bounded, on several CPU cores."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.methods.compiled import MAX_CHUNK_ROWS, CompiledScore

CACHE_LINE_NUMBERS, ALIASED_NUMBERS = 16, 256
TURNS_PER_THREAD = 8  # groups of chunks that each thread scores, so that all finish at about the same time


def as_tensor(X: NDArray[np.float32], device: torch.device) -> Tensor:
    """Rows of one task as the methods take them: [n, M] -> [1, 1, n, M] on the device."""
    return torch.from_numpy(np.ascontiguousarray(X)).to(device)[None, None]


@torch.no_grad()  # also what the score computes once and keeps
def score_in_chunks(score: CompiledScore, X: NDArray[np.float32], device: torch.device) -> NDArray[np.float64]:
    """X: [n, M]. Returns [n]."""
    out = np.empty(len(X))
    step = even_step(len(X), score.chunk_rows if device.type == "cpu" else MAX_CHUNK_ROWS)

    @torch.no_grad()  # of the thread that it runs in
    def fill(starts: range) -> None:
        buffers = score.make_buffers(min(step, len(X)))
        for start in starts:
            end = min(start + step, len(X))
            first = max(end - step, 0)  # the last chunk begins earlier, so that all have the rows of the buffers
            chunk = torch.from_numpy(np.ascontiguousarray(X[first:end])).to(device)
            out[start:end] = score(chunk, buffers).cpu().numpy()[start - first :]

    starts, threads = range(0, len(X), step), torch.get_num_threads()
    if device.type != "cpu" or not score.runs_in_threads:
        fill(starts)
    elif threads > 1 and len(starts) > 1:
        group = -(-len(starts) // (TURNS_PER_THREAD * threads))
        with single_core_threads(min(threads, len(starts))) as pool:
            list(pool.map(fill, [starts[k : k + group] for k in range(0, len(starts), group)]))
    else:
        with on_one_core():
            fill(starts)
    return out


def even_step(n: int, most: int) -> int:
    """The length of chunks of n rows, as long as each other but for a few rows, and at most about so long."""
    step = -(-n // max(-(-n // most), 1))
    # Numbers that lie multiples of a kilobyte apart compete for the same places in the cache.
    return step + CACHE_LINE_NUMBERS if n > most and step % ALIASED_NUMBERS == 0 else max(step, 1)


@contextmanager
def on_one_core(is_small: bool = True) -> Iterator[None]:
    """In this block, if the work is small, the thread that calls it computes without torch's own threads.

    These synchronise after every operation and wait for each other without sleeping: on a busy machine a small task
    takes far longer with two of them than with one.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1 if is_small else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def single_core_threads(n: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of n threads, in each of which torch uses one core.

    Chunks are so small that torch's own threads, which synchronise after every operation, would wait for each other: on
    a busy machine for whole time slices.
    """
    before = torch.get_num_threads()
    ready = Barrier(n + 1)

    def start() -> None:
        torch.set_num_threads(1)  # of this thread, and of those that start later
        torch.get_num_threads()  # torch sets it at first use: before the number of the process is set again
        ready.wait()

    with ThreadPoolExecutor(n) as pool:
        for _ in range(n):
            pool.submit(start)
        ready.wait()
        torch.set_num_threads(before)
        yield pool
