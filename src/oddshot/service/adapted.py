"""Adapted detectors in memory: a bounded number, the least recently used goes first, with a time to live."""

import time
import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.tables.frames import listed
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED
from oddshot.detector import FewShotDetector
from oddshot.errors import InputError
from oddshot.service.limits import Limits
from oddshot.service.rows import Rows
from oddshot.service.support import Support
from oddshot.storage.model_file import Model

FIXED_BYTES = 1 << 16  # of a detector, whatever its support
COPIES = 4  # of its support: as given, encoded, in the method's tensors


@dataclass(eq=False)
class Adapted:
    """A detector with its name. size: about how many bytes it takes. used, touched: when, also in the store.

    seconds_a_row: what scoring takes, by what it took so far.
    """

    name: str
    detector: FewShotDetector
    summary: dict[str, Any]
    size: int = 0
    seconds_a_row: float = 1e-4
    used: float = 0.0
    touched: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        encoding = self.detector.encoding_
        self.columns = encoding.columns
        self.needed = frozenset(encoding.kinds)
        self.only_numbers = all(kind == "number" for kind in encoding.kinds.values())

    def encode(self, rows: Rows) -> NDArray[np.float32]:
        """Rows as the detector sees them: [n, attributes]. Columns are found by name; unknown ones are refused."""
        names = rows.names
        if names != self.columns:
            self._check(names)
        matrix = rows.matrix(self.columns) if self.only_numbers and len(names) == len(self.columns) else None
        return self.detector.encoding_.transform(rows.table() if matrix is None else matrix, "rows")

    def _check(self, names: tuple[str, ...]) -> None:
        unknown = [name for name in names if name not in self.columns]
        missing = [name for name in self.columns if name in self.needed and name not in names]
        if missing:
            hint = f" (renamed to {unknown[0]!r}?)" if len(unknown) == 1 else ""
            raise InputError(f"rows: column {missing[0]!r} is missing{hint}")
        if unknown:
            raise InputError(f"rows: the support had no column {unknown[0]!r}; its columns are {listed(self.columns)}")


def adapt(model: Model, support: Support, name: str) -> Adapted:
    """Fit a detector. What the fit warns of comes back as notes; call it from one thread at a time."""
    detector = FewShotDetector(model, support.false_positive_rate)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        detector.fit(support.table, support.labels)
    notes = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
    size = FIXED_BYTES + COPIES * support.table.nbytes
    return Adapted(name, detector, _summary(detector, support, name, notes), size)


class Cache:
    """Detectors by name. Used by one thread. now: the clock."""

    def __init__(self, limits: Limits, now: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._now = limits, now
        self._kept: OrderedDict[str, Adapted] = OrderedDict()
        self._bytes = 0

    def get(self, name: str) -> Adapted | None:
        """The detector, used now; None where it is not here."""
        found = self._kept.get(name)
        if found is None:
            return None
        now = self._now()
        if now - found.used > self._limits.seconds_kept:
            self._drop(name)
            return None
        found.used = now
        self._kept.move_to_end(name)
        return found

    def put(self, adapted: Adapted) -> None:
        """Keep a detector; the oldest go where there are too many or they are too old."""
        self._drop(adapted.name)
        adapted.used = now = self._now()
        self._kept[adapted.name] = adapted
        self._bytes += adapted.size
        while len(self._kept) > 1:
            oldest = next(iter(self._kept.values()))
            too_many = len(self._kept) > self._limits.most_detectors or self._bytes > self._limits.most_detector_bytes
            if not too_many and now - oldest.used <= self._limits.seconds_kept:
                return
            self._drop(oldest.name)

    def _drop(self, name: str) -> None:
        found = self._kept.pop(name, None)
        self._bytes -= 0 if found is None else found.size

    def __len__(self) -> int:
        return len(self._kept)


def _summary(detector: FewShotDetector, support: Support, name: str, notes: list[str]) -> dict[str, Any]:
    encoding, labels = detector.encoding_, support.labels
    return {
        "id": name,
        "normal": int((labels == NORMAL).sum()),
        "anomalies": int((labels == ANOMALY).sum()),
        "unlabelled": int((labels == UNLABELLED).sum()),
        "columns": encoding.kinds,
        "dropped": dict(encoding.dropped),
        "threshold": detector.threshold_,
        "false_positive_rate": support.false_positive_rate,
        "calibrated": detector.probability_of(np.zeros(1)) is not None,
        "familiarity": detector.familiarity_,
        "notes": notes,
    }
