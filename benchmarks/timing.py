"""How the benchmarks measure, and what each of them returns.

Seconds are of this process's CPU time unless said otherwise, and `make bench` gives every library one thread: other
work on the machine takes cores away, which changes what a wall clock shows but hardly what a piece of work costs.
"""

import time
from collections.abc import Callable
from typing import NamedTuple


class Verdict(NamedTuple):
    """A ratio, the figure it should not miss, and whether it holds.

    Where the processor lacks what a line needs, there is neither ratio nor verdict, and the note says so.
    """

    name: str
    ratio: float | None
    target: float
    ok: bool | None
    note: str = ""

    def titled(self, title: str) -> "Verdict":
        """The same verdict, whose name says what it is about among those of other benchmarks."""
        return self._replace(name=f"{title}: {self.name}")


def best_seconds(work: Callable[[], object], repeats: int = 5, clock: Callable[[], float] = time.process_time) -> float:
    """The shortest of several runs, after one to warm up."""
    return in_turn(work, repeats=repeats, clock=clock)[0]


def in_turn(
    *works: Callable[[], object], repeats: int = 5, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """The shortest of several runs of each, one after the other, so that what slows one slows all."""
    best = [float("inf")] * len(works)
    for work in works:
        work()
    for _ in range(repeats):
        for k, work in enumerate(works):
            started = clock()
            work()
            best[k] = min(best[k], clock() - started)
    return best
