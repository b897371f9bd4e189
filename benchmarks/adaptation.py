"""Adaptation: how long it takes, and how that grows. `python -m benchmarks.adaptation` prints the curve."""

import numpy as np

from benchmarks.models import M, support, untrained_model
from benchmarks.timing import Verdict, best_seconds, in_turn
from oddshot.detector import FewShotDetector
from oddshot.score.rows import LabelledRows

ROWS = (6, 60, 600, 1_000, 3_000, 10_000, 30_000, 100_000)
WIDTHS = (5, 21, 60, 250, 1000)
TASKS = (1, 16, 256)
UNITS = (32, 64, 128, 256, 512)


def fit_seconds(n_rows: int, n_attributes: int = M, **settings: int) -> float:
    """One fit of the detector."""
    detector, (X, y) = FewShotDetector(untrained_model(n_attributes, **settings)), support(n_rows, n_attributes)
    return best_seconds(lambda: detector.fit(X, y), repeats=20 if n_rows <= 1_000 else 4)


def tasks_seconds(n_tasks: int) -> float:
    """Many tasks of six support rows at once, as in training."""
    method, (X, y) = untrained_model().method, support()
    rows = np.tile(X.astype(np.float32), (n_tasks, 1, 1))
    return best_seconds(lambda: method.adapt(LabelledRows(rows[:, y == 0], rows[:, y == 1])), repeats=20)


def run() -> list[Verdict]:
    small, large = fit_seconds(6) * 1e3, fit_seconds(10_000)
    detector = FewShotDetector(untrained_model())
    supports = [support(n) for n in (3_000, 30_000)]
    once, tenfold = in_turn(*(lambda rows=rows: detector.fit(*rows) for rows in supports), repeats=4)
    growth = tenfold / (10 * once)
    return [
        Verdict("fit on a support of 6 rows: milliseconds", small, 5.0, small <= 5.0),
        Verdict("fit on a support of 10,000 rows: seconds", large, 1.0, large <= 1.0),
        Verdict("fit on 30,000 rows: times ten fits on 3,000 (1 = linear)", growth, 1.25, growth <= 1.25),
    ]


def main() -> None:
    print("| what grows | size | fit, ms | µs a row |\n| --- | --- | --- | --- |")
    for name, sizes, seconds, rows in (
        ("support rows", ROWS, fit_seconds, lambda size: size),
        ("attributes M, 600 rows", WIDTHS, lambda size: fit_seconds(600, size), lambda size: 600),
        ("tasks of 6 rows at once", TASKS, tasks_seconds, lambda size: 6 * size),
        ("units J, 600 rows", UNITS, lambda size: fit_seconds(600, units=size), lambda size: 600),
    ):
        for size in sizes:
            took = seconds(size)
            print(f"| {name} | {size:,} | {1e3 * took:.2f} | {1e6 * took / rows(size):.1f} |", flush=True)


if __name__ == "__main__":
    main()
