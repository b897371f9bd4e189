"""How the benchmarks measure, and what each of them returns."""

import time
from collections.abc import Callable
from typing import NamedTuple


class Verdict(NamedTuple):
    """A ratio, the figure it should not miss, and whether it holds."""

    name: str
    ratio: float
    target: float
    ok: bool


def best_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The shortest of several runs, after one to warm up."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)
