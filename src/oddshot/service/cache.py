"""Adapted detectors in memory: an LRU cache with a time to live."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.adapted.memory import held_bytes
from oddshot.adapted.monitor import ScoringMonitor
from oddshot.adapted.task import AdaptedTask
from oddshot.data.tables.column_names import format_names
from oddshot.data.tables.columns import MAX_MAGNITUDE
from oddshot.data.tables.labels import swapped_labels_notice
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED
from oddshot.errors import InputError
from oddshot.service.limits import ServiceLimits
from oddshot.service.noted_warnings import noted_warnings
from oddshot.service.rows import RequestRows
from oddshot.service.support import Support
from oddshot.storage.model_file import Model


@dataclass(eq=False)
class CachedDetector:
    """An adapted detector and what the service notes about it."""

    id: str
    task: AdaptedTask
    summary: dict[str, Any]  # the response to POST /v1/adapt
    n_bytes: int = 0  # of memory, when it was last counted
    most_rows: int = 0  # that were scored in one call; tables for many rows are made when they are first needed
    counted_rows: int = 0  # most_rows, when the memory was last counted
    seconds_per_row: float = 1e-4  # running average of the scoring time
    last_used: float = 0.0  # by the clock of the cache
    last_store_update: float = field(default_factory=time.monotonic)  # when the store was told of its last use

    def __post_init__(self) -> None:
        encoding = self.task.encoding
        self.columns = encoding.columns
        self.required_columns = frozenset(encoding.kinds)
        self.is_numeric = all(kind == "number" for kind in encoding.kinds.values())

    def encode(self, rows: RequestRows) -> tuple[NDArray[np.float32], list[str]]:
        """Encode rows: [n, attributes], and what is to be said of them.

        Columns are matched by name; unknown ones are refused.
        """
        if rows.names != self.columns:
            self._check_columns(rows.names)
        matrix = self.matrix(rows)
        monitor = ScoringMonitor(self.task)
        return monitor.encode(rows.table() if matrix is None else matrix, "rows"), monitor.notices()

    def matrix(self, rows: RequestRows) -> NDArray[Any] | None:
        """Rows as numbers, [n, columns], where all columns and cells are numbers of a usual size; otherwise None."""
        has_all = self.is_numeric and len(rows.names) == len(self.columns) and set(rows.names) == set(self.columns)
        matrix = rows.matrix(self.columns) if has_all else None
        is_usual = matrix is not None and not (np.abs(matrix.astype(np.float64)) > MAX_MAGNITUDE).any()
        return matrix if is_usual else None  # cells of a table that are infinite or too large are missing

    def score(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Score encoded rows: [n, attributes] -> [n]."""
        scores = self.task.score_encoded(rows)
        self.most_rows = max(self.most_rows, len(rows))
        return scores

    def count_bytes(self) -> int:
        """The memory that this detector holds beyond that of the model."""
        return held_bytes(self.task, self.summary, shared=(self.task.model,))

    def _check_columns(self, names: tuple[str, ...]) -> None:
        unknown = [name for name in names if name not in self.columns]
        missing = [name for name in self.columns if name in self.required_columns and name not in names]
        if missing:
            hint = f" (renamed to {unknown[0]!r}?)" if len(unknown) == 1 else ""
            raise InputError(f"rows: column {missing[0]!r} is missing{hint}")
        if unknown:
            known = format_names(self.columns)
            raise InputError(f"rows: the support had no column {unknown[0]!r}; its columns are {known}")


def adapt(model: Model, support: Support, detector_id: str) -> CachedDetector:
    """Fit a detector to a support. Warnings become notes of the summary."""
    with noted_warnings() as notes:
        task = AdaptedTask.from_table(
            model, support.table, support.labels, support.false_positive_rate, support.columns
        )
    notes += [notice for notice in (task.notice, swapped_labels_notice(support.labels)) if notice]
    cached = CachedDetector(detector_id, task, _summary(task, support, detector_id, notes))
    cached.n_bytes = cached.count_bytes()
    return cached


class DetectorCache:
    """Detectors by their id, the least recently used first. For use by one thread. clock: seconds, ascending."""

    def __init__(self, limits: ServiceLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._detectors: OrderedDict[str, CachedDetector] = OrderedDict()
        self._n_bytes = 0

    def get(self, detector_id: str) -> CachedDetector | None:
        """Return the detector and mark it as used; None if it is not cached or has expired."""
        cached = self._detectors.get(detector_id)
        if cached is None:
            return None
        now = self._clock()
        if now - cached.last_used > self._limits.time_to_live_seconds:
            self._drop(detector_id)
            return None
        cached.last_used = now
        self._detectors.move_to_end(detector_id)
        return cached

    def put(self, cached: CachedDetector) -> None:
        """Add a detector, then drop the least recently used ones while they have expired or exceed the limits."""
        self._drop(cached.id)
        cached.last_used = now = self._clock()
        self._detectors[cached.id] = cached
        self._n_bytes += cached.n_bytes
        self._drop_excess(now)

    def recount(self, cached: CachedDetector, n_bytes: int) -> None:
        """Note the memory that a detector holds now, and drop others if it is too much."""
        if self._detectors.get(cached.id) is cached:
            self._n_bytes += n_bytes - cached.n_bytes
            cached.n_bytes = n_bytes
            self._drop_excess(self._clock())

    def _drop_excess(self, now: float) -> None:
        while len(self._detectors) > 1:  # the new detector itself stays, however large it is
            oldest = next(iter(self._detectors.values()))
            is_expired = now - oldest.last_used > self._limits.time_to_live_seconds
            if not (is_expired or self._exceeds_limits()):
                return
            self._drop(oldest.id)

    def _exceeds_limits(self) -> bool:
        too_many = len(self._detectors) > self._limits.max_cached_detectors
        return too_many or self._n_bytes > self._limits.max_cached_bytes

    def _drop(self, detector_id: str) -> None:
        cached = self._detectors.pop(detector_id, None)
        self._n_bytes -= 0 if cached is None else cached.n_bytes

    def __len__(self) -> int:
        return len(self._detectors)


def _summary(task: AdaptedTask, support: Support, detector_id: str, notes: list[str]) -> dict[str, Any]:
    encoding, labels = task.encoding, support.labels
    return {
        "id": detector_id,
        "normal": int((labels == NORMAL).sum()),
        "anomalies": int((labels == ANOMALY).sum()),
        "unlabelled": int((labels == UNLABELLED).sum()),
        "columns": encoding.kinds,
        "dropped": dict(encoding.dropped),
        "threshold": task.threshold,
        "false_positive_rate": support.false_positive_rate,
        "calibrated": task.model.calibration is not None,
        "notes": notes,
    }
