"""Scores of one adapted task, rows in NumPy, in chunks so that memory is bounded."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.methods.compiled import Folded, FoldedScore
from oddshot.methods.contract import LabelledRows, Method, ScoreFunction

CHUNK_ROWS = 16384
MOST_UNLABELLED = 1000  # unlabelled rows that a task is adapted with
CACHE_NUMBERS = 2**18  # what one layer gives for a chunk: 1 MiB, so that the next layer finds it in the cache


def support_rows(X: NDArray[np.float32], y: NDArray[np.int8], device: torch.device) -> LabelledRows:
    """One task's labelled rows as tensors [1, 1, N, M]. X: [n, M], y: [n] in {0, 1, -1}."""
    return LabelledRows(as_rows(X[y == 0], device), as_rows(X[y == 1], device))


def as_rows(X: NDArray[np.float32], device: torch.device) -> Tensor:
    """[n, M] -> [1, 1, n, M] on the device."""
    return torch.from_numpy(np.ascontiguousarray(X)).to(device)[None, None]


def device_of(method: Method) -> torch.device:
    """Where the method's weights are; a method without any works on the CPU."""
    return next((parameter.device for parameter in method.parameters()), torch.device("cpu"))


def sample_unlabelled(y: NDArray[np.int8]) -> NDArray[np.int64]:
    """Which unlabelled rows a task is adapted with: all, or MOST_UNLABELLED of them at random, always the same ones."""
    rows = np.flatnonzero(y == -1)
    if len(rows) <= MOST_UNLABELLED:
        return rows
    chosen: NDArray[np.int64] = np.sort(np.random.default_rng(0).choice(rows, MOST_UNLABELLED, replace=False))
    return chosen


@torch.no_grad()
def adapt_task(
    method: Method, support: LabelledRows, fraction: float, unlabelled: Tensor | None = None
) -> tuple[ScoreFunction, float]:
    """The score function of one task, and the threshold at this fraction of its span. unlabelled: [1, 1, u, M]."""
    method.eval()
    score = method.adapt_with(support, unlabelled)
    low, high = (float(end[0, 0]) for end in method.span(score, support))
    return score, low + fraction * (high - low)


def score_rows(score: ScoreFunction | FoldedScore, X: NDArray[np.float32], device: torch.device) -> NDArray[np.float64]:
    """X: [n, M]. Returns [n]."""
    out = np.empty(len(X))
    step = chunk_rows(score, device)

    @torch.no_grad()
    def fill(starts: range) -> None:
        room = score.room(step) if isinstance(score, Folded) else None
        for start in starts:
            chunk = torch.from_numpy(np.ascontiguousarray(X[start : start + step])).to(device)
            if isinstance(score, Folded):
                scores = score(chunk, room)
            else:
                scores = score(chunk) if isinstance(score, FoldedScore) else score(chunk[None, None])[0, 0]
            out[start : start + step] = scores.cpu().numpy()

    starts, threads = range(0, len(X), step), torch.get_num_threads()
    if threads > 1 and len(starts) > 1 and device.type == "cpu" and isinstance(score, FoldedScore):
        several = -(-len(starts) // (8 * threads))  # chunks at a time: eight turns for each thread
        with threads_of_one_core(min(threads, len(starts))) as pool:
            list(pool.map(fill, [starts[k : k + several] for k in range(0, len(starts), several)]))
    else:
        fill(starts)
    return out


def chunk_rows(score: ScoreFunction | FoldedScore, device: torch.device) -> int:
    """How many rows are scored at once: on a CPU so many that they stay in its cache from layer to layer."""
    if not isinstance(score, FoldedScore) or device.type != "cpu":
        return CHUNK_ROWS
    # A description takes some fifty operations: with chunks too small their own cost shows.
    numbers = CACHE_NUMBERS if isinstance(score, Folded) else 2 * CACHE_NUMBERS
    return min(max(numbers // score.widest, 256), CHUNK_ROWS)


@contextmanager
def threads_of_one_core(n: int) -> Iterator[ThreadPoolExecutor]:
    """n threads in which torch uses no further ones.

    Chunks are this small that torch's own threads, which meet after every operation, would wait for each other: on a
    machine with other work for whole time slices.
    """
    before = torch.get_num_threads()
    ready = Barrier(n + 1)

    def start() -> None:
        torch.set_num_threads(1)  # of this thread, and of those that start later
        ready.wait()

    with ThreadPoolExecutor(n) as pool:
        for _ in range(n):
            pool.submit(start)
        ready.wait()
        torch.set_num_threads(before)
        yield pool
