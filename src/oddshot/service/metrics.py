"""Counters in the text format of Prometheus, of one process or of several workers together."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oddshot.data.files import atomic_path

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS = {
    "rows_scored": "Rows that were scored.",
    "scoring_calls": "Calls of a detector; fewer than requests where rows were scored together.",
    "adaptations": "Detectors that were adapted to a support.",
    "restored": "Detectors that were adapted again from the store.",
}
_GAUGES = {"detectors": "Adapted detectors in memory."}


class Metrics:
    """What the service has done since its start; used by one thread.

    A sample is counted under "name", "name route" or "name route detail", so that those of several processes add up.
    """

    def __init__(self) -> None:
        self.samples: Counter[str] = Counter({**dict.fromkeys(_COUNTERS, 0), **dict.fromkeys(_GAUGES, 0)})

    def on_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        bound = next((str(bound) for bound in BOUNDS if seconds <= bound), "+Inf")
        self.samples[f"requests {route} {status}"] += 1
        self.samples[f"bucket {route} {bound}"] += 1
        self.samples[f"sum {route}"] += seconds  # type: ignore[assignment]

    def add(self, name: str, amount: int = 1) -> None:
        """Count something else."""
        self.samples[name] += amount

    def text(self, others: Counter[str] | None = None) -> str:
        """Everything. others: samples of other processes."""
        total = Counter(self.samples)
        total.update(others or {})
        return "\n".join([*_requests(total), *_seconds(total), *_plain(total), ""])


class Exchange:
    """Samples of all workers, each in a file of its own. A worker that starts anew begins at 0, as counters may."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._own = folder, folder / f"metrics-{number}.json"

    def write(self, metrics: Metrics) -> None:
        """Tell the others."""
        with atomic_path(self._own) as temporary:
            temporary.write_text(json.dumps(metrics.samples))

    def is_there(self) -> bool:
        """Whether the worker has started."""
        return self._own.exists()

    def read(self) -> Counter[str]:
        """What the others told."""
        total: Counter[str] = Counter()
        for path in self._folder.glob("metrics-*.json"):
            if path != self._own:
                total.update(json.loads(path.read_text()))
        return total


def _requests(total: Counter[str]) -> Iterator[str]:
    yield from _heading("requests_total", "counter", "Requests by route and status.")
    for (route, status), number in _by_route(total, "requests"):
        yield f'oddshot_requests_total{{route="{route}",status="{status}"}} {number}'


def _seconds(total: Counter[str]) -> Iterator[str]:
    yield from _heading("request_seconds", "histogram", "Seconds from a request to its answer.")
    for (route,), seconds in _by_route(total, "sum"):
        count = 0
        for bound in (*map(str, BOUNDS), "+Inf"):
            count += total[f"bucket {route} {bound}"]
            yield f'oddshot_request_seconds_bucket{{route="{route}",le="{bound}"}} {count}'
        yield f'oddshot_request_seconds_sum{{route="{route}"}} {seconds!r}'
        yield f'oddshot_request_seconds_count{{route="{route}"}} {count}'


def _plain(total: Counter[str]) -> Iterator[str]:
    for name, description in _COUNTERS.items():
        yield from _heading(f"{name}_total", "counter", description)
        yield f"oddshot_{name}_total {total[name]}"
    for name, description in _GAUGES.items():
        yield from _heading(name, "gauge", description)
        yield f"oddshot_{name} {total[name]}"


def _by_route(total: Counter[str], kind: str) -> list[tuple[list[str], Any]]:
    return sorted((key.split(" ")[1:], number) for key, number in total.items() if key.startswith(f"{kind} "))


def _heading(name: str, kind: str, description: str) -> Iterator[str]:
    yield f"# HELP oddshot_{name} {description}"
    yield f"# TYPE oddshot_{name} {kind}"
