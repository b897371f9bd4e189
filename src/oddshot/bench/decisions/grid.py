"""The cells of the grid: how many labelled and unlabelled rows `fit` is given, and whether it is given them twice."""

import itertools
from dataclasses import dataclass

import numpy as np

from oddshot.errors import InputError

NORMAL_COUNTS = (2, 3, 5, 10, 20, 40, 100, 300)
ANOMALY_COUNTS = (0, 1, 2, 4, 8, 12, 20, 40, 100)
UNLABELLED_COUNTS = (0, 1, 3, 10, 80, 400)
CONTAMINATIONS = (0, 10)  # per cent of the unlabelled rows that are anomalies
COPIES = ("as-is", "twice", "near")
RATES = (0.01, 0.05, 0.1, 0.2)
MAX_DRAWN_ONE_BY_ONE = 3  # among so few unlabelled rows, each is an anomaly with the probability of the contamination


@dataclass(frozen=True, order=True)
class DecisionCell:
    """What is given to `fit`: distinct labelled normal rows, labelled anomalies and unlabelled rows.

    contamination: per cent of the unlabelled rows that are anomalies. copies: `as-is`, `twice` for every row a second
    time with the same label, `near` for the same with noise of 1e-6 standard deviations in the second copy.
    """

    normal: int
    anomalies: int
    unlabelled: int
    contamination: int
    copies: str

    @property
    def name(self) -> str:
        """Such as `5+1, 80 unlabelled (10 %), twice`."""
        parts = [f"{self.normal}+{self.anomalies}"]
        if self.unlabelled:
            parts.append(f"{self.unlabelled} unlabelled ({self.contamination} %)")
        return ", ".join(parts if self.copies == "as-is" else [*parts, self.copies])

    @property
    def background(self) -> int:
        """Normal and unlabelled rows together."""
        return self.normal + self.unlabelled

    @property
    def most_unlabelled_anomalies(self) -> int:
        """How many unlabelled rows can be anomalies in any draw."""
        if not self.contamination or self.unlabelled <= MAX_DRAWN_ONE_BY_ONE:
            return self.unlabelled if self.contamination else 0
        return round(self.unlabelled * self.contamination / 100)


def all_cells(copies: str = "") -> list[DecisionCell]:
    """Every cell of the grid. copies: names of copies, separated by commas; where there is none, all."""
    chosen = [name.strip() for name in copies.split(",") if name.strip()] or list(COPIES)
    for name in chosen:
        if name not in COPIES:
            raise InputError(f"--copies {name}: expected {', '.join(COPIES)}, separated by commas")
    return [
        DecisionCell(normal, anomalies, unlabelled, contamination, name)
        for normal, anomalies, unlabelled, contamination, name in itertools.product(
            NORMAL_COUNTS, ANOMALY_COUNTS, UNLABELLED_COUNTS, CONTAMINATIONS, COPIES
        )
        if name in chosen and (unlabelled or not contamination)
    ]


def every_nth(cells: list[DecisionCell], n: int) -> list[DecisionCell]:
    """One in n cells, always the same ones, spread over the grid; all of them for 1."""
    order = np.random.default_rng(0).permutation(len(cells))
    return [cells[k] for k in sorted(order[::n])]
