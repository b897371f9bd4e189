"""How the cost of the model that ships grows: `python -m benchmarks.growth` prints a table and draws docs/growth.png.

The exponent is the slope of log time over log size from the third largest size on: 1 where twice as much takes twice as
long, 0 where the size does not matter.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from benchmarks.models import M
from benchmarks.shipped import task
from benchmarks.timing import Verdict, in_turn
from oddshot.detector import FewShotDetector

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "growth.png"
MAX_EXPONENT, N_FITTED = 1.1, 3
SCORED_ROWS = 4_000
REPEATS = 3


class Growth(NamedTuple):
    """Seconds at each size."""

    work: str
    what: str
    sizes: Sequence[int]
    seconds: Sequence[float]

    @property
    def exponent(self) -> float:
        """The slope at the largest sizes."""
        sizes, seconds = np.log(self.sizes[-N_FITTED:]), np.log(self.seconds[-N_FITTED:])
        return float(np.polyfit(sizes, seconds, 1)[0])


class Sizes(NamedTuple):
    """Of a task."""

    n_labelled: int = 6
    n_unlabelled: int = 0
    n_columns: int = M
    n_scored: int = SCORED_ROWS


def fit(sizes: Sizes) -> Callable[[], object]:
    """A fit."""
    X, y = task(sizes.n_unlabelled, sizes.n_labelled, sizes.n_columns)
    return lambda: FewShotDetector().fit(X, y)


def score(sizes: Sizes) -> Callable[[], object]:
    """Rows scored by a fitted detector."""
    detector = FewShotDetector().fit(*task(sizes.n_unlabelled, sizes.n_labelled, sizes.n_columns))
    rows = np.random.default_rng(4).normal(size=(sizes.n_scored, sizes.n_columns))
    return lambda: detector.score_samples(rows)


LABELLED = (30, 60, 120, 240, 480, 960, 1_920)
UNLABELLED = (60, 125, 250, 500, 1_000, 2_000, 4_000)
COLUMNS = (10, 20, 40, 80, 160, 320, 640)
SCORED = (1_000, 4_000, 16_000, 64_000, 256_000)
CASES: tuple[tuple[Callable[[Sizes], Callable[[], object]], str, str, Sequence[int]], ...] = (
    (fit, "n_labelled", "labelled rows", LABELLED),
    (fit, "n_unlabelled", "unlabelled rows", UNLABELLED),
    (fit, "n_columns", "columns", COLUMNS),
    (score, "n_labelled", "labelled rows", LABELLED),
    (score, "n_unlabelled", "unlabelled rows", UNLABELLED),
    (score, "n_columns", "columns", COLUMNS),
    (score, "n_scored", "scored rows", SCORED),
)


def measure() -> list[Growth]:
    """Every case at every size."""
    found = []
    for make, field, what, sizes in CASES:
        works = [make(Sizes()._replace(**{field: size})) for size in sizes]
        found.append(Growth(make.__name__, what, sizes, in_turn(*works, repeats=REPEATS)))
    return found


def run() -> list[Verdict]:
    return [
        Verdict(
            f"the model that ships, {one.work}: exponent of the growth over {one.what}",
            one.exponent,
            MAX_EXPONENT,
            one.exponent <= MAX_EXPONENT,
        )
        for one in measure()
    ]


def draw(found: Sequence[Growth]) -> None:
    """One panel for fits, one for scored rows."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    for panel, (work, title) in zip(panels, (("fit", "a fit"), ("score", "scoring")), strict=True):
        for one in found:
            if one.work == work:
                milliseconds = [1e3 * seconds for seconds in one.seconds]
                panel.loglog(one.sizes, milliseconds, "o-", label=f"{one.what}: exponent {one.exponent:.2f}")
        panel.set(title=title, xlabel="size", ylabel="milliseconds" if work == "fit" else "")
        panel.grid(alpha=0.3)
        panel.legend(loc="upper left")
    panels[0].set_ylim(top=5e3 * max(seconds for one in found for seconds in one.seconds))  # room for the legends
    figure.savefig(PICTURE, dpi=120)
    plt.close(figure)


def main() -> None:
    found = measure()
    print("| work | what grows | sizes | milliseconds | exponent |\n| --- | --- | --- | --- | --- |")
    for one in found:
        sizes = ", ".join(f"{size:,}" for size in one.sizes)
        times = ", ".join(f"{1e3 * seconds:.1f}" for seconds in one.seconds)
        print(f"| {one.work} | {one.what} | {sizes} | {times} | {one.exponent:.2f} |")
    draw(found)


if __name__ == "__main__":
    main()
