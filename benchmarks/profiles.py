"""Where the time goes: `OMP_NUM_THREADS=1 python -m benchmarks.profiles` prints the tables of docs/performance.md."""

import cProfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from benchmarks.models import M, fitted_detector
from benchmarks.training_step import TASKS, training_step

REPEATS, LEAST = 5, 0.02  # operations with a smaller share are summed up


def print_operations(title: str, work: Callable[[], object]) -> None:
    """The share of each of torch's operations in the time that all take by themselves."""
    from torch.profiler import ProfilerActivity, profile

    work()
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for _ in range(REPEATS):
            work()
    _print_shares(title, {event.key: event.self_cpu_time_total * 1e-6 for event in profiled.key_averages()})


def print_functions(title: str, work: Callable[[], object]) -> None:
    """The same of functions, where NumPy computes."""
    work()
    profiler = cProfile.Profile()
    with profiler:
        for _ in range(REPEATS):
            work()
    times: dict[str, float] = {}
    for entry in profiler.getstats():
        name = (
            entry.code if isinstance(entry.code, str) else f"{Path(entry.code.co_filename).stem}: {entry.code.co_name}"
        )
        times[name] = times.get(name, 0.0) + entry.inlinetime
    _print_shares(title, times)


def _print_shares(title: str, times: Mapping[str, float]) -> None:
    """times: in seconds, of all repeats."""
    total = sum(times.values())
    shares = {name: time / total for name, time in times.items() if time >= LEAST * total}
    print(f"\n{title}: {total / REPEATS * 1e3:.0f} ms\n\n| operation | share |\n| --- | --- |")
    for name, share in sorted(shares.items(), key=lambda item: -item[1]):
        print(f"| `{name}` | {share:.0%} |")
    print(f"| all others | {1 - sum(shares.values()):.0%} |", flush=True)


def main() -> None:
    print_operations(f"One training step, {TASKS} tasks, M = {M}", training_step(TASKS))
    detector, X = fitted_detector(), np.random.default_rng(0).normal(size=(100_000, M))
    encoded = detector.encoding_.transform(X)
    print_functions(f"Scoring {len(X):,} encoded rows of {M} attributes", lambda: detector.task_.score_encoded(encoded))
    support = X[:6], np.array([0, 0, 0, 0, 0, 1])
    print_functions("One fit on six rows", lambda: detector.fit(*support))


if __name__ == "__main__":
    main()
