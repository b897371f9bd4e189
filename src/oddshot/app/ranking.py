"""Rows sorted by score, how their scores are spread, and what a threshold means for them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oddshot.app.scorers import Floats, Scorer
from oddshot.app.sheet import Ints

BINS = 56
_BARELY = 1e-9


@dataclass(frozen=True)
class Ranking:
    """Scores of some or all of a sheet's n rows. by_row: [n], NaN where a row has no score yet."""

    scorer: Scorer
    by_row: Floats

    @cached_property
    def order(self) -> Ints:
        """The scored rows, highest score first; equal ones in the order of the table."""
        known = np.flatnonzero(~np.isnan(self.by_row))
        order: Ints = known[np.argsort(-self.by_row[known], kind="stable")]
        return order

    @cached_property
    def falling(self) -> Floats:
        """Their scores."""
        return self.by_row[self.order]

    @property
    def is_complete(self) -> bool:
        """Whether every row has its score."""
        return len(self.order) == len(self.by_row)

    def above(self, threshold: float) -> int:
        """How many rows have a higher score."""
        return int(np.searchsorted(-self.falling, -threshold, side="left"))

    def place(self, row: int) -> int | None:
        """Where a row stands, 0 for the highest score; None where it has no score yet."""
        score = self.by_row[row]
        if np.isnan(score):
            return None
        first, last = (int(np.searchsorted(-self.falling, -score, side=side)) for side in ("left", "right"))
        return first + int(np.searchsorted(self.order[first:last], row))

    def threshold_for(self, share: float) -> float:
        """A score above which this share of the rows lies."""
        n = len(self.falling)
        k = min(max(round(share * n), 0), n)
        if k == 0:
            return float(self.falling[0])
        return float(self.falling[-1] - _BARELY if k == n else (self.falling[k - 1] + self.falling[k]) / 2)

    @cached_property
    def scale(self) -> tuple[float, float, float]:
        """(s, low, high): the plots' axis is v = asinh(score / s) from low to high, logarithmic for large scores."""
        usual = float(np.median(np.abs(self.falling))) or 1.0
        low, high = np.arcsinh(self.falling[[-1, 0]] / usual).tolist()
        return usual, low, high if high > low else low + 1.0

    def positions(self, scores: Floats) -> Floats:
        """Where scores lie on the axis, from 0 to 1."""
        usual, low, high = self.scale
        out: Floats = np.clip((np.arcsinh(scores / usual) - low) / (high - low), 0.0, 1.0)
        return out

    @cached_property
    def histogram(self) -> list[int]:
        """How many rows fall into each of BINS equal parts of the axis."""
        counts: list[int] = np.histogram(self.positions(self.falling), BINS, (0.0, 1.0))[0].tolist()
        return counts

    def describe(self) -> dict[str, Any]:
        """What the page draws the histogram from."""
        usual, low, high = self.scale
        return {
            "scored": len(self.order),
            "histogram": self.histogram,
            "axis": {"scale": usual, "low": low, "high": high},
        }

    def describe_threshold(self, threshold: float) -> dict[str, Any]:
        """The number and share of rows above it, and the expected share of normal rows above it, where known."""
        n = self.above(threshold)
        return {
            "value": threshold,
            "position": float(self.positions(np.array([threshold]))[0]),
            "above": n,
            "share": n / len(self.order),
            "false_alarms": self.scorer.false_alarms(threshold),
        }
