"""Rows that arrive at the same time for the same detector are scored together."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from oddshot.service.adapted import Adapted
from oddshot.service.metrics import Metrics

LOOP_SECONDS = 0.04  # that scoring may keep the event loop: threads that take turns with it need far longer
FEW_ROWS = 64  # below, the number of rows hardly matters

Scores = NDArray[np.float64]
Part = tuple[NDArray[np.float32], "asyncio.Future[Scores]"]


class Together:
    """Collects rows until the loop has seen all requests that are ready, then scores them in one call.

    What is expected to take long is scored by a thread; rows that arrive meanwhile wait for the detector's next call.
    """

    def __init__(self, metrics: Metrics, threads: Executor) -> None:
        self._metrics, self._threads = metrics, threads
        self._waiting: dict[Adapted, list[Part]] = {}
        self._busy: set[Adapted] = set()

    async def score(self, adapted: Adapted, rows: NDArray[np.float32]) -> Scores:
        """[n, attributes] -> [n]."""
        loop = asyncio.get_running_loop()
        waiting = self._waiting.setdefault(adapted, [])
        if not waiting and adapted not in self._busy:
            loop.call_soon(self._flush, adapted)
        future: asyncio.Future[Scores] = loop.create_future()
        waiting.append((rows, future))
        return await future

    def _flush(self, adapted: Adapted) -> None:
        parts = self._waiting.pop(adapted)
        self._metrics.add("scoring_calls")
        if adapted.seconds_a_row * max(sum(len(rows) for rows, _ in parts), FEW_ROWS) <= LOOP_SECONDS:
            try:
                _answer(parts, _score(adapted, parts))
            except Exception as error:
                _fail(parts, error)
            return
        self._busy.add(adapted)
        scored = asyncio.get_running_loop().run_in_executor(self._threads, _score, adapted, parts)
        scored.add_done_callback(lambda done: self._finish(adapted, parts, done))

    def _finish(self, adapted: Adapted, parts: Sequence[Part], done: "asyncio.Future[Scores]") -> None:
        self._busy.discard(adapted)
        error = done.exception()
        if error is None:
            _answer(parts, done.result())
        else:
            _fail(parts, error)
        if adapted in self._waiting:
            self._flush(adapted)


def _score(adapted: Adapted, parts: Sequence[Part]) -> Scores:
    rows = parts[0][0] if len(parts) == 1 else np.concatenate([rows for rows, _ in parts])
    started = time.thread_time()  # its own work, without waiting for other threads
    scores = adapted.detector.score_encoded(rows)
    spent = (time.thread_time() - started) / max(len(rows), FEW_ROWS)
    adapted.seconds_a_row = (adapted.seconds_a_row + spent) / 2
    return scores


def _answer(parts: Sequence[Part], scores: Scores) -> None:
    start = 0
    for rows, future in parts:
        if not future.done():  # cancelled
            future.set_result(scores[start : start + len(rows)])
        start += len(rows)


def _fail(parts: Sequence[Part], error: BaseException) -> None:
    for _, future in parts:
        if not future.done():
            future.set_exception(error)
