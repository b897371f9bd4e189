"""Counters in the text format of Prometheus."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS = {
    "rows_scored": "Rows that were scored.",
    "scoring_calls": "Calls of a detector; fewer than requests where rows were scored together.",
    "adaptations": "Detectors that were adapted to a support.",
    "restored": "Detectors that were adapted again from the store.",
}


class Metrics:
    """What the service has done since its start; used by one thread."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, int], int] = defaultdict(int)
        self._seconds: dict[str, list[float]] = {}
        self._counts = dict.fromkeys(_COUNTERS, 0)

    def on_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests[route, status] += 1
        buckets = self._seconds.setdefault(route, [0.0] * (len(BOUNDS) + 2))
        place = next((k for k, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
        buckets[place] += 1
        buckets[-1] += seconds

    def add(self, name: str, amount: int = 1) -> None:
        """Count something else."""
        self._counts[name] += amount

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """Everything. gauges: description and value of what goes up and down."""
        return "\n".join([*self._lines(gauges), ""])

    def _lines(self, gauges: Mapping[str, tuple[str, float]]) -> Iterator[str]:
        yield from _heading("requests_total", "counter", "Requests by route and status.")
        for (route, status), number in sorted(self._requests.items()):
            yield f'oddshot_requests_total{{route="{route}",status="{status}"}} {number}'
        yield from _heading("request_seconds", "histogram", "Seconds from a request to its answer.")
        for route, buckets in sorted(self._seconds.items()):
            total = 0.0
            for bound, count in zip([*map(str, BOUNDS), "+Inf"], buckets[:-1], strict=True):
                total += count
                yield f'oddshot_request_seconds_bucket{{route="{route}",le="{bound}"}} {total:.0f}'
            yield f'oddshot_request_seconds_sum{{route="{route}"}} {buckets[-1]!r}'
            yield f'oddshot_request_seconds_count{{route="{route}"}} {total:.0f}'
        for name, number in self._counts.items():
            yield from _heading(f"{name}_total", "counter", _COUNTERS[name])
            yield f"oddshot_{name}_total {number}"
        for name, (description, value) in gauges.items():
            yield from _heading(name, "gauge", description)
            yield f"oddshot_{name} {value}"


def _heading(name: str, kind: str, description: str) -> Iterator[str]:
    yield f"# HELP oddshot_{name} {description}"
    yield f"# TYPE oddshot_{name} {kind}"
