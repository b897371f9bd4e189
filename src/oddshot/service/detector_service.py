"""The service without HTTP: adapt detectors, find them again and score rows, with long work in threads."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

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
MAX_ROWS_ENCODED_IN_EVENT_LOOP = 2048  # of one request; more are encoded and scored in a thread
N_STORE_UPDATES_PER_LIFETIME = 20  # how often the store is told within the time to live that a detector is in use
METRICS_INTERVAL_SECONDS = 1.0  # between two updates of the file that other workers read

T = TypeVar("T")


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
        self._adapting = ThreadPoolExecutor(1, "adapting")
        self._scoring = ThreadPoolExecutor(N_SCORING_THREADS, "scoring")
        self._batcher = MicroBatcher(self.metrics, self._scoring)
        self._being_fitted: dict[str, asyncio.Future[CachedDetector | None]] = {}

    async def adapt(self, support: Support, store: bool) -> CachedDetector:
        """Return the detector of a support, from the cache or newly fitted.

        store: also write it to the store, if there is one; it is on the disk when this returns.
        """
        detector_id = await self.run_in_thread(lambda: support.detector_id(self.digest))
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

    async def score(self, cached: CachedDetector, rows: RequestRows) -> NDArray[np.float64]:
        """Score rows: [n], higher = more anomalous. Requests with few rows are scored in micro-batches."""
        self.metrics.add("rows_scored", len(rows))
        if len(rows) <= MAX_ROWS_ENCODED_IN_EVENT_LOOP:
            return await self._batcher.score(cached, cached.encode(rows))
        self.metrics.add("scoring_calls")
        return await self.run_in_thread(lambda: cached.task.score_encoded(cached.encode(rows)))

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Run work that would block the event loop for too long."""
        return await self._run(self._scoring, work)

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
        self._scoring.shutdown()
        self._adapting.shutdown()
        if self._store is not None:
            self._store.close()

    async def _fit(self, support: Support, detector_id: str, counter: str) -> CachedDetector:
        cached = await self._run(self._adapting, adapt, self.model, support, detector_id)
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
            running = self._being_fitted[detector_id] = asyncio.ensure_future(work())
            running.add_done_callback(lambda _: self._being_fitted.pop(detector_id))
        return await asyncio.shield(running)

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)
