"""Where the time goes: `OMP_NUM_THREADS=1 python -m benchmarks.profiles` prints the tables of docs/performance.md."""

from collections.abc import Callable

import numpy as np
from torch.profiler import ProfilerActivity, profile

from benchmarks.models import M, fitted_detector
from benchmarks.training_step import TASKS, training_step

REPEATS, LEAST = 5, 0.02  # operations with a smaller share are summed up


def print_profile(title: str, work: Callable[[], object]) -> None:
    """The share of each operation in the time that all take by themselves."""
    work()
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for _ in range(REPEATS):
            work()
    times = {event.key: event.self_cpu_time_total for event in profiled.key_averages()}
    total = sum(times.values())
    shares = {name: time / total for name, time in times.items() if time >= LEAST * total}
    print(f"\n{title}: {total / REPEATS / 1e3:.0f} ms\n\n| operation | share |\n| --- | --- |")
    for name, share in sorted(shares.items(), key=lambda item: -item[1]):
        print(f"| `{name}` | {share:.0%} |")
    print(f"| all others | {1 - sum(shares.values()):.0%} |", flush=True)


def main() -> None:
    print_profile(f"One training step, {TASKS} tasks, M = {M}", training_step(TASKS))
    detector, X = fitted_detector(), np.random.default_rng(0).normal(size=(100_000, M))
    encoded = detector.encoding_.transform(X)
    print_profile(f"Scoring {len(X):,} encoded rows of {M} attributes", lambda: detector.task_.score_encoded(encoded))
    support = X[:6], np.array([0, 0, 0, 0, 0, 1])
    print_profile("One fit on six rows", lambda: detector.fit(*support))


if __name__ == "__main__":
    main()
