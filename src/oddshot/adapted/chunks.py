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

TURNS_PER_THREAD = 8  # groups of chunks that each thread scores, so that all finish at about the same time


def as_tensor(X: NDArray[np.float32], device: torch.device) -> Tensor:
    """Rows of one task as the methods take them: [n, M] -> [1, 1, n, M] on the device."""
    return torch.from_numpy(np.ascontiguousarray(X)).to(device)[None, None]


def score_in_chunks(score: CompiledScore, X: NDArray[np.float32], device: torch.device) -> NDArray[np.float64]:
    """X: [n, M]. Returns [n]."""
    out = np.empty(len(X))
    step = score.chunk_rows if device.type == "cpu" else MAX_CHUNK_ROWS

    @torch.no_grad()
    def fill(starts: range) -> None:
        buffers = score.make_buffers(min(step, len(X)))
        for start in starts:
            chunk = torch.from_numpy(np.ascontiguousarray(X[start : start + step])).to(device)
            out[start : start + step] = score(chunk, buffers).cpu().numpy()

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


@contextmanager
def on_one_core(is_small: bool = True) -> Iterator[None]:
    """In this block, if the work is small, the thread that calls it computes without torch's own threads.

    These synchronise after every operation and wait for each other without sleeping: on a busy machine a task of 30
    rows takes ten times as long with two of them.
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
