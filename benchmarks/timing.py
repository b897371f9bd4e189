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


def in_turn(*works: Callable[[], object], repeats: int = 5) -> list[float]:
    """The shortest of several runs of each, one after the other, so that other work on the machine slows all alike."""
    best = [float("inf")] * len(works)
    for work in works:
        work()
    for _ in range(repeats):
        for k, work in enumerate(works):
            started = time.perf_counter()
            work()
            best[k] = min(best[k], time.perf_counter() - started)
    return best
