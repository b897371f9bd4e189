"""The service without HTTP: adapt detectors, find them again and score rows, with long work in threads."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from oddshot.adapted.memory import return_free_memory
from oddshot.errors import CapacityError
from oddshot.service.batching import MicroBatcher
from oddshot.service.cache import CachedDetector, DetectorCache, adapt
from oddshot.service.limits import ServiceLimits
from oddshot.service.metrics import Metrics, MetricsFolder
from oddshot.service.rows import RequestRows
from oddshot.service.store import DetectorStore
from oddshot.service.support import Support
from oddshot.storage.container import read_digest
from oddshot.storage.model_file import Model, to_bytes
from oddshot.web.logs import LOGGER

N_SCORING_THREADS = 2
N_SHORT_THREADS = 2  # for short work, which does not wait for long work
MAX_CELLS_IN_EVENT_LOOP = 256  # of one request; more are encoded and scored in a thread
MAX_NUMBERS_IN_EVENT_LOOP = 1 << 16  # the same where all cells are numbers
MAX_CELLS_OF_SHORT_WORK = 20_000  # of a support, or of rows to score
N_STORE_UPDATES_PER_LIFETIME = 20  # how often the store is told within the time to live that a detector is in use
MIN_GROWTH_BYTES = 1 << 20  # of a detector, after which free memory is given back
METRICS_INTERVAL_SECONDS = 1.0  # between two updates of the file that other workers read

T = TypeVar("T")


class BusyError(CapacityError):
    """There is more work than can be done soon."""


class DetectorService:
    """A model, the detectors adapted from it, and the threads for long work. For use by one event loop.

    store keeps detectors on disk, metrics_folder shares metrics with other workers; both may be None.
    """

    def __init__(
        self,
        model: Model,
        limits: ServiceLimits,
        store: DetectorStore | None = None,
        metrics_folder: MetricsFolder | None = None,
    ) -> None:
        self.model, self.limits = model, limits
        self._store, self._metrics_folder = store, metrics_folder
        self.digest = read_digest(to_bytes(model))
        self.metrics, self._cache = Metrics(), DetectorCache(limits)
        self._adapting, self._adapting_large = (ThreadPoolExecutor(1, name) for name in ("adapting", "adapting-large"))
        self._short = ThreadPoolExecutor(N_SHORT_THREADS, "short")
        self._scoring = ThreadPoolExecutor(N_SCORING_THREADS, "scoring")
        self._batcher = MicroBatcher(self.metrics, self._scoring)
        self._being_fitted: dict[str, asyncio.Future[CachedDetector | None]] = {}

    async def adapt(self, support: Support, store: bool) -> CachedDetector:
        """Return the detector of a support, from the cache or newly fitted.

        store: also write it to the store, if there is one; it is on the disk when this returns.
        """
        detector_id = await self.run_in_thread(lambda: support.detector_id(self.digest), is_short=True)
        cached = self._cache.get(detector_id)
        if cached is None:
            cached = await self._fit_once(detector_id, lambda: self._fit(support, detector_id, "adaptations"))
        assert cached is not None
        if store and self._store is not None:
            await self._run(self._adapting, self._store.put, detector_id, self.digest, support)
        return cached

    async def find(self, detector_id: str) -> CachedDetector | None:
        """Return the detector with this id, fitted again from the store if it is not cached; None if it is unknown."""
        cached = self._cache.get(detector_id)
        if cached is None:
            if self._store is None:
                return None
            return await self._fit_once(detector_id, lambda: self._restore(detector_id))
        interval = self.limits.time_to_live_seconds / N_STORE_UPDATES_PER_LIFETIME
        if self._store is not None and time.monotonic() - cached.last_store_update > interval:
            cached.last_store_update = time.monotonic()
            self._adapting.submit(self._store.mark_used, detector_id)
        return cached

    async def score(self, cached: CachedDetector, rows: RequestRows) -> tuple[NDArray[np.float64], list[str]]:
        """Score rows: [n], higher = more anomalous, and what is to be said of them.

        Requests with few rows are scored in micro-batches.
        """
        self.metrics.add("rows_scored", len(rows))
        n_cells = len(rows) * len(rows.names)
        are_few_numbers = n_cells <= MAX_NUMBERS_IN_EVENT_LOOP and cached.matrix(rows) is not None
        if n_cells <= MAX_CELLS_IN_EVENT_LOOP or are_few_numbers:
            encoded, notes = cached.encode(rows)
            scores = await self._batcher.score(cached, encoded)
        else:
            self.metrics.add("scoring_calls")
            is_short = n_cells <= MAX_CELLS_OF_SHORT_WORK
            scores, notes = await self.run_in_thread(lambda: _score(cached, rows), is_short)
        if cached.most_rows > cached.counted_rows:
            await self._recount(cached)
        return scores, notes

    async def _recount(self, cached: CachedDetector) -> None:
        """Count the memory of a detector again, and give back what was needed in between."""
        cached.counted_rows, n_bytes_before = cached.most_rows, cached.n_bytes
        self._cache.recount(cached, await self.run_in_thread(cached.count_bytes, is_short=True))
        if cached.n_bytes - n_bytes_before > MIN_GROWTH_BYTES:
            await self.run_in_thread(return_free_memory, is_short=True)

    async def run_in_thread(self, work: Callable[[], T], is_short: bool = False) -> T:
        """Run work that would block the event loop for too long. is_short: it does not wait for long work."""
        return await self._run(self._short if is_short else self._scoring, work)

    def describe_model(self) -> dict[str, Any]:
        """The model and the limits, as GET /v1/model answers them."""
        model = self.model
        return {
            "method": model.method.name,
            "sha256": self.digest,
            "weights": model.n_weights,
            "columns": None if model.encoding is None else model.encoding.kinds,
            "calibrated": model.calibration is not None,
            "limits": {
                "bytes": self.limits.max_body_bytes,
                "rows": self.limits.max_rows,
                "columns": self.limits.max_columns,
                "cells": self.limits.max_cells,
                "labelled_rows": self.limits.max_labelled_rows,
                "magnitude": 1e18,
                "seconds_kept": self.limits.time_to_live_seconds,
            },
        }

    def metrics_text(self) -> str:
        """The metrics of all workers in the text format of Prometheus."""
        self.metrics.samples["detectors"] = len(self._cache)
        return self.metrics.text(None if self._metrics_folder is None else self._metrics_folder.read_others())

    async def publish_metrics(self) -> None:
        """Write the metrics of this worker for the others, again and again; without other workers, do nothing.

        A failed write, such as one to a full disk, is logged once and tried again at the next interval.
        """
        is_failing = False
        while self._metrics_folder is not None:
            self.metrics.samples["detectors"] = len(self._cache)
            samples = Counter(self.metrics.samples)  # a copy: the event loop goes on counting
            try:
                await self._run(self._adapting, self._metrics_folder.write, samples)
                is_failing = False
            except Exception:
                if not is_failing:
                    LOGGER.error("metrics cannot be shared with the other workers", exc_info=True)
                is_failing = True
            await asyncio.sleep(METRICS_INTERVAL_SECONDS)

    def close(self) -> None:
        """Wait for the threads to finish their work and close the store."""
        for pool in (self._scoring, self._short, self._adapting_large, self._adapting):
            pool.shutdown(cancel_futures=True)
        if self._store is not None:
            self._store.close()

    async def _fit(self, support: Support, detector_id: str, counter: str) -> CachedDetector:
        is_short = support.table.num_rows * support.table.num_columns <= MAX_CELLS_OF_SHORT_WORK
        pool = self._adapting if is_short else self._adapting_large
        cached = await self._run(pool, adapt, self.model, support, detector_id)
        self.metrics.add(counter)
        self._cache.put(cached)
        return cached

    async def _restore(self, detector_id: str) -> CachedDetector | None:
        assert self._store is not None
        support = await self._run(self._adapting, self._store.get, detector_id, self.digest)
        return None if support is None else await self._fit(support, detector_id, "restored")

    async def _fit_once(self, detector_id: str, work: Callable[[], Any]) -> CachedDetector | None:
        """Run the work unless it is running already: concurrent requests for one detector share its result."""
        running = self._being_fitted.get(detector_id)
        if running is None:
            if len(self._being_fitted) >= self.limits.max_pending_adaptations:
                raise BusyError("too many detectors are being adapted; try again")
            running = self._being_fitted[detector_id] = asyncio.ensure_future(work())
            running.add_done_callback(lambda _: self._being_fitted.pop(detector_id))
        return await asyncio.shield(running)

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)


def _score(cached: CachedDetector, rows: RequestRows) -> tuple[NDArray[np.float64], list[str]]:
    encoded, notes = cached.encode(rows)
    return cached.score(encoded), notes
