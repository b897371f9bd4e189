"""Rows sorted by score, the histogram of their scores, and the effect of a threshold."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.rankers import Ranker

N_HISTOGRAM_BINS = 56
_BELOW_LOWEST_SCORE = 1e-9  # distance of a threshold that all rows lie above from the lowest score

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Ranking:
    """Scores of some or all of the n rows of a table. scores: [n], NaN for rows that are not scored yet."""

    ranker: Ranker
    scores: FloatArray

    @cached_property
    def order(self) -> IntArray:
        """The scored rows by descending score; rows with equal scores in the order of the table."""
        scored = np.flatnonzero(~np.isnan(self.scores))
        order: IntArray = scored[np.argsort(-self.scores[scored], kind="stable")]
        return order

    @cached_property
    def sorted_scores(self) -> FloatArray:
        """The scores in descending order."""
        return self.scores[self.order]

    @property
    def is_complete(self) -> bool:
        """Whether every row is scored."""
        return len(self.order) == len(self.scores)

    def count_above(self, threshold: float) -> int:
        """The number of rows with a score above the threshold."""
        return int(np.searchsorted(-self.sorted_scores, -threshold, side="left"))

    def rank_of(self, row: int) -> int | None:
        """The position of a row in the ranking, 0 for the highest score; None if it is not scored yet."""
        score = self.scores[row]
        if np.isnan(score):
            return None
        first, last = (int(np.searchsorted(-self.sorted_scores, -score, side=side)) for side in ("left", "right"))
        return first + int(np.searchsorted(self.order[first:last], row))

    def threshold_for_share(self, share: float) -> float:
        """A threshold that this share of the rows lies above."""
        n = len(self.sorted_scores)
        n_above = min(max(round(share * n), 0), n)
        if n_above == 0:
            return float(self.sorted_scores[0])
        if n_above == n:
            return float(self.sorted_scores[-1] - _BELOW_LOWEST_SCORE)
        return float((self.sorted_scores[n_above - 1] + self.sorted_scores[n_above]) / 2)

    @cached_property
    def axis(self) -> tuple[float, float, float]:
        """(scale, low, high): the axis of the plots shows asinh(score / scale), from low to high.

        The scale is the median of the absolute scores; for larger scores the axis is logarithmic.
        """
        scale = float(np.median(np.abs(self.sorted_scores))) or 1.0
        low, high = np.arcsinh(self.sorted_scores[[-1, 0]] / scale).tolist()
        return scale, low, high if high > low else low + 1.0

    def positions(self, scores: FloatArray) -> FloatArray:
        """Positions of scores on the axis, from 0 to 1: [n] -> [n]."""
        scale, low, high = self.axis
        out: FloatArray = np.clip((np.arcsinh(scores / scale) - low) / (high - low), 0.0, 1.0)
        return out

    @cached_property
    def histogram(self) -> list[int]:
        """The number of rows in each of N_HISTOGRAM_BINS bins of equal width on the axis."""
        counts: list[int] = np.histogram(self.positions(self.sorted_scores), N_HISTOGRAM_BINS, (0.0, 1.0))[0].tolist()
        return counts

    def describe(self) -> dict[str, Any]:
        """The histogram and its axis as JSON."""
        scale, low, high = self.axis
        return {
            "scored": len(self.order),
            "histogram": self.histogram,
            "axis": {"scale": scale, "low": low, "high": high},
        }

    def describe_threshold(self, threshold: float) -> dict[str, Any]:
        """Number and share of the rows above a threshold, and its false positive rate where that is known, as JSON."""
        n_above = self.count_above(threshold)
        return {
            "value": threshold,
            "position": float(self.positions(np.array([threshold]))[0]),
            "above": n_above,
            "share": n_above / len(self.order),
            "false_alarms": self.ranker.false_positive_rate(threshold),
        }
