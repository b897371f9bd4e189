"""Counts tries and failures of each door."""

import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MAX_SECONDS = 20.0  # of one try in this process
MAX_FAILURES_TOLD = 20  # of each door


class TrialLog:
    """What was tried at each door and what failed."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.tried, self.failed, self.seconds = Counter[str](), Counter[str](), Counter[str]()
        self.failures: list[str] = []

    @contextmanager
    def door(self, name: str, max_seconds: float = MAX_SECONDS) -> Iterator[Callable[[str, Callable[[], None]], None]]:
        """Yields a function that makes one try: it fails if the given function raises or takes too long."""
        started = time.monotonic()

        def attempt(what: str, action: Callable[[], None]) -> None:
            self.tried[name] += 1
            try:
                with _time_limit(max_seconds):
                    action()
            except Exception as error:
                self.failed[name] += 1
                if self.failed[name] <= MAX_FAILURES_TOLD:
                    line = f"{name}: {what}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
                    self.failures.append(line)
                    print(line, file=sys.stderr)
            if not self.quiet and self.tried[name] % 500 == 0:
                print(f"{name}: {self.tried[name]:,} tried, {self.failed[name]} failed", file=sys.stderr)

        yield attempt
        self.seconds[name] += time.monotonic() - started

    def report(self, seed: int) -> dict[str, Any]:
        """All figures."""
        doors = {
            name: {"tried": n, "failed": self.failed[name], "seconds": round(self.seconds[name], 1)}
            for name, n in self.tried.items()
        }
        totals = {"tried": self.tried.total(), "failed": self.failed.total()}
        return {"seed": seed, **totals, "doors": doors, "failures": self.failures}


def write_report(report: dict[str, Any], folder: Path) -> None:
    """report.json, and the same as a table."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    lines = ["| door | tried | failed | seconds |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {name} | {d['tried']:,} | {d['failed']:,} | {d['seconds']:.0f} |" for name, d in report["doors"].items()
    ]
    lines.append(f"| all | {report['tried']:,} | {report['failed']:,} | |")
    (folder / "table.md").write_text("\n".join(lines) + "\n")


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {seconds:.0f} s")

    before, started = signal.signal(signal.SIGALRM, stop), time.monotonic()
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)  # of the time limit of the test, if there is one
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - started), 0.001) if left else 0)
