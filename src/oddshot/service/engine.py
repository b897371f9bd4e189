"""What the service does, apart from HTTP: adapt once, find again, score; long work in threads."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from oddshot.service.adapted import Adapted, Cache, adapt
from oddshot.service.batching import Together
from oddshot.service.limits import Limits
from oddshot.service.metrics import Exchange, Metrics
from oddshot.service.rows import Rows
from oddshot.service.store import Store
from oddshot.service.support import Support
from oddshot.storage.container import digest_of
from oddshot.storage.model_file import Model, to_bytes

SCORING_THREADS = 2
ENCODED_AT_ONCE = 2048  # rows of a request that the event loop encodes itself
TOUCHES = 20  # how often the store hears within the time to live that a detector is used

T = TypeVar("T")


class Engine:
    """A model, the detectors adapted from it, and the threads that work. All methods are for one event loop."""

    def __init__(
        self, model: Model, limits: Limits, store: Store | None = None, exchange: Exchange | None = None
    ) -> None:
        self.model, self.limits, self._store, self._exchange = model, limits, store, exchange
        self.digest = digest_of(to_bytes(model))
        self.metrics, self._cache = Metrics(), Cache(limits)
        self._adapting = ThreadPoolExecutor(1, "adapting")
        self._scoring = ThreadPoolExecutor(SCORING_THREADS, "scoring")
        self._together = Together(self.metrics, self._scoring)
        self._under_way: dict[str, asyncio.Future[Adapted | None]] = {}

    async def adapt(self, support: Support, keep: bool) -> Adapted:
        """A detector for the support, fitted or found. keep: also in the store; when this returns it is there."""
        name = await self.in_thread(lambda: support.name(self.digest))
        found = self._cache.get(name) or await self._once(name, lambda: self._fit(support, name, "adaptations"))
        assert found is not None
        if keep and self._store is not None:
            await self._run(self._adapting, self._store.put, name, self.digest, support)
        return found

    async def find(self, name: str) -> Adapted | None:
        """The detector of this name, if need be fitted again from the store; None where nobody knows it."""
        found = self._cache.get(name)
        if found is None:
            return None if self._store is None else await self._once(name, lambda: self._restore(name))
        if self._store is not None and time.monotonic() - found.touched > self.limits.seconds_kept / TOUCHES:
            found.touched = time.monotonic()
            self._adapting.submit(self._store.touch, name)
        return found

    async def score(self, adapted: Adapted, rows: Rows) -> NDArray[np.float64]:
        """[n], higher = more anomalous."""
        self.metrics.add("rows_scored", len(rows))
        if len(rows) <= ENCODED_AT_ONCE:
            return await self._together.score(adapted, adapted.encode(rows))
        self.metrics.add("scoring_calls")
        return await self.in_thread(lambda: adapted.detector.score_encoded(adapted.encode(rows)))

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Work that is too long for the event loop."""
        return await self._run(self._scoring, work)

    def facts(self) -> dict[str, Any]:
        """What the model is."""
        model = self.model
        return {
            "method": model.method.name,
            "sha256": self.digest,
            "weights": model.n_weights,
            "columns": None if model.encoding is None else model.encoding.kinds,
            "calibrated": model.calibration is not None,
            "limits": {
                "bytes": self.limits.most_bytes,
                "rows": self.limits.most_rows,
                "columns": self.limits.most_columns,
                "cells": self.limits.most_cells,
                "labelled_rows": self.limits.most_labelled,
                "magnitude": 1e18,
                "seconds_kept": self.limits.seconds_kept,
            },
        }

    def metrics_text(self) -> str:
        """For Prometheus, of all workers."""
        self.metrics.samples["detectors"] = len(self._cache)
        return self.metrics.text(None if self._exchange is None else self._exchange.read())

    async def tell_metrics(self) -> None:
        """Tell the other workers every second what was done here."""
        while self._exchange is not None:
            self.metrics.samples["detectors"] = len(self._cache)
            await self._run(self._adapting, self._exchange.write, self.metrics)
            await asyncio.sleep(1)

    def close(self) -> None:
        """Finish what is under way."""
        self._scoring.shutdown()
        self._adapting.shutdown()
        if self._store is not None:
            self._store.close()

    async def _fit(self, support: Support, name: str, counted: str) -> Adapted:
        adapted = await self._run(self._adapting, adapt, self.model, support, name)
        self.metrics.add(counted)
        self._cache.put(adapted)
        return adapted

    async def _restore(self, name: str) -> Adapted | None:
        assert self._store is not None
        support = await self._run(self._adapting, self._store.get, name, self.digest)
        return None if support is None else await self._fit(support, name, "restored")

    async def _once(self, name: str, work: Callable[[], Any]) -> Adapted | None:
        """However many ask for the same detector at the same time, it is fitted once."""
        running = self._under_way.get(name)
        if running is None:
            running = self._under_way[name] = asyncio.ensure_future(work())
            running.add_done_callback(lambda _: self._under_way.pop(name))
        return await asyncio.shield(running)

    async def _run(self, pool: ThreadPoolExecutor, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, work, *arguments)
