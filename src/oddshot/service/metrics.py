"""Metrics in the text format of Prometheus, of one process or summed over several workers."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oddshot.data.files import atomic_path

BUCKET_BOUNDS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS = {
    "rows_scored": "Rows that were scored.",
    "scoring_calls": "Calls of a detector; fewer than requests where rows were scored together.",
    "adaptations": "Detectors that were adapted to a support.",
    "restored": "Detectors that were adapted again from the store.",
}
_GAUGES = {"detectors": "Adapted detectors in memory."}


class Metrics:
    """Counters and gauges since the start of the process. For use by one thread.

    The key of a sample is "name", "name route" or "name route detail"; samples of several workers add up key by key.
    """

    def __init__(self) -> None:
        self.samples: Counter[str] = Counter({**dict.fromkeys(_COUNTERS, 0), **dict.fromkeys(_GAUGES, 0)})

    def on_request(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request. route: its path pattern."""
        bound = next((str(bound) for bound in BUCKET_BOUNDS_SECONDS if seconds <= bound), "+Inf")
        self.samples[f"requests {route} {status}"] += 1
        self.samples[f"bucket {route} {bound}"] += 1
        self.samples[f"sum {route}"] += seconds  # type: ignore[assignment]

    def add(self, name: str, amount: int = 1) -> None:
        """Increase a counter."""
        self.samples[name] += amount

    def text(self, others: Counter[str] | None = None) -> str:
        """All metrics in the text format. others: the samples of other workers, which are added."""
        total = Counter(self.samples)
        total.update(others or {})
        return "\n".join([*_request_counts(total), *_request_seconds(total), *_other_metrics(total), ""])


class MetricsFolder:
    """Folder in which every worker writes its samples to a file of its own and reads those of the others.

    A worker that is restarted begins at 0 again; Prometheus expects that of counters.
    """

    def __init__(self, folder: Path, worker: int) -> None:
        self._folder, self._own_file = folder, folder / f"metrics-{worker}.json"

    def write(self, samples: Counter[str]) -> None:
        """Write the samples of this worker."""
        with atomic_path(self._own_file) as temporary:
            temporary.write_text(json.dumps(samples))

    def has_written(self) -> bool:
        """Whether this worker has written its samples, which it does as soon as it has started."""
        return self._own_file.exists()

    def read_others(self) -> Counter[str]:
        """The sum of the samples of the other workers."""
        total: Counter[str] = Counter()
        for path in self._folder.glob("metrics-*.json"):
            if path != self._own_file:
                total.update(json.loads(path.read_text()))
        return total


def _request_counts(total: Counter[str]) -> Iterator[str]:
    yield from _heading("requests_total", "counter", "Requests by route and status.")
    for (route, status), number in _samples_by_route(total, "requests"):
        yield f'oddshot_requests_total{{route="{route}",status="{status}"}} {number}'


def _request_seconds(total: Counter[str]) -> Iterator[str]:
    yield from _heading("request_seconds", "histogram", "Seconds from a request to its answer.")
    for (route,), seconds in _samples_by_route(total, "sum"):
        count = 0
        for bound in (*map(str, BUCKET_BOUNDS_SECONDS), "+Inf"):
            count += total[f"bucket {route} {bound}"]
            yield f'oddshot_request_seconds_bucket{{route="{route}",le="{bound}"}} {count}'
        yield f'oddshot_request_seconds_sum{{route="{route}"}} {seconds!r}'
        yield f'oddshot_request_seconds_count{{route="{route}"}} {count}'


def _other_metrics(total: Counter[str]) -> Iterator[str]:
    for name, description in _COUNTERS.items():
        yield from _heading(f"{name}_total", "counter", description)
        yield f"oddshot_{name}_total {total[name]}"
    for name, description in _GAUGES.items():
        yield from _heading(name, "gauge", description)
        yield f"oddshot_{name} {total[name]}"


def _samples_by_route(total: Counter[str], kind: str) -> list[tuple[list[str], Any]]:
    """The samples of one kind, sorted: the rest of the key (route and detail) and the value."""
    return sorted((key.split(" ")[1:], number) for key, number in total.items() if key.startswith(f"{kind} "))


def _heading(name: str, kind: str, description: str) -> Iterator[str]:
    yield f"# HELP oddshot_{name} {description}"
    yield f"# TYPE oddshot_{name} {kind}"
