"""Micro-batching: rows that arrive at the same time for the same detector are scored in one call."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oddshot.service.cache import CachedDetector
from oddshot.service.metrics import Metrics

MAX_EVENT_LOOP_SECONDS = 0.04  # longer batches are scored in a thread, which costs several times as much for short ones
MIN_ROWS_FOR_TIMING = 64  # a call for fewer rows takes as long as for this many

FloatArray = NDArray[np.float64]


class PendingRows(NamedTuple):
    """The encoded rows of one request, [n, attributes], and the future of their scores, [n]."""

    rows: NDArray[np.float32]
    scores: "asyncio.Future[FloatArray]"


class MicroBatcher:
    """Collects rows until the event loop has handled all requests that are ready, then scores them in one call.

    Batches that are expected to take long are scored in a thread. Rows that arrive for the same detector meanwhile
    form its next batch.
    """

    def __init__(self, metrics: Metrics, threads: Executor) -> None:
        self._metrics, self._threads = metrics, threads
        self._pending: dict[CachedDetector, list[PendingRows]] = {}
        self._scored_in_threads: set[CachedDetector] = set()

    async def score(self, cached: CachedDetector, rows: NDArray[np.float32]) -> FloatArray:
        """Score encoded rows: [n, attributes] -> [n]."""
        loop = asyncio.get_running_loop()
        batch = self._pending.setdefault(cached, [])
        if not batch and cached not in self._scored_in_threads:
            loop.call_soon(self._score_pending, cached)
        scores: asyncio.Future[FloatArray] = loop.create_future()
        batch.append(PendingRows(rows, scores))
        return await scores

    def _score_pending(self, cached: CachedDetector) -> None:
        """Score the pending batch of a detector, at once or in a thread."""
        batch = self._pending.pop(cached)
        self._metrics.add("scoring_calls")
        n_rows = sum(len(pending.rows) for pending in batch)
        if cached.seconds_per_row * max(n_rows, MIN_ROWS_FOR_TIMING) <= MAX_EVENT_LOOP_SECONDS:
            try:
                _set_scores(batch, _score_batch(cached, batch))
            except Exception as error:
                _set_error(batch, error)
            return
        self._scored_in_threads.add(cached)
        result = asyncio.get_running_loop().run_in_executor(self._threads, _score_batch, cached, batch)
        result.add_done_callback(lambda done: self._finish(cached, batch, done))

    def _finish(self, cached: CachedDetector, batch: Sequence[PendingRows], done: "asyncio.Future[FloatArray]") -> None:
        """Hand out the scores of a batch that a thread has scored, and start the next batch of its detector."""
        self._scored_in_threads.discard(cached)
        error = done.exception()
        if error is None:
            _set_scores(batch, done.result())
        else:
            _set_error(batch, error)
        if cached in self._pending:
            self._score_pending(cached)


def _score_batch(cached: CachedDetector, batch: Sequence[PendingRows]) -> FloatArray:
    """Score the rows of all requests of a batch in one call, and update the time per row."""
    rows = batch[0].rows if len(batch) == 1 else np.concatenate([pending.rows for pending in batch])
    started = time.thread_time()  # CPU time of this thread, without waiting for others
    scores = cached.score(rows)
    seconds_per_row = (time.thread_time() - started) / max(len(rows), MIN_ROWS_FOR_TIMING)
    cached.seconds_per_row = (cached.seconds_per_row + seconds_per_row) / 2
    return scores


def _set_scores(batch: Sequence[PendingRows], scores: FloatArray) -> None:
    """Give each request its part of the scores of the batch."""
    start = 0
    for pending in batch:
        stop = start + len(pending.rows)
        if not pending.scores.done():  # it is when the request was cancelled
            pending.scores.set_result(scores[start:stop])
        start = stop


def _set_error(batch: Sequence[PendingRows], error: BaseException) -> None:
    for pending in batch:
        if not pending.scores.done():
            pending.scores.set_exception(error)
