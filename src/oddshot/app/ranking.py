"""Rows sorted by score, the histogram of their scores, and the effect of a threshold."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.rankers import Ranker

N_HISTOGRAM_BINS = 56
_ROUNDING = 1e-5  # of a score, as a share of the largest: a row is not always scored in the same batch

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Ranking:
    """Scores of some or all of the n rows of a table.

    scores: [n], NaN for rows that are not scored yet. weights: [n], how many rows of the table each scored one stands
    for; None where every row is scored.
    """

    ranker: Ranker
    scores: FloatArray
    weights: FloatArray | None = None

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

    @cached_property
    def _rows_down_to(self) -> FloatArray:
        """The number of rows of the table that the first 0, 1, ... rows of the order stand for."""
        weights = np.ones(len(self.order)) if self.weights is None else self.weights[self.order]
        return np.concatenate([[0.0], np.cumsum(weights)])

    def estimate_above(self, threshold: float) -> float:
        """The number of rows of the whole table above the threshold: estimated, exact once every row is scored."""
        return float(self._rows_down_to[self.count_above(threshold)])

    def threshold_for_count(self, count: float) -> float:
        """A threshold that this number of rows of the whole table lies above."""
        n_above = int(np.abs(self._rows_down_to - count).argmin())
        if n_above == 0:
            return float(self.sorted_scores[0])
        if n_above == len(self.order):
            return float(np.nextafter(self.sorted_scores[-1], -np.inf))
        return float((self.sorted_scores[n_above - 1] + self.sorted_scores[n_above]) / 2)

    def clear_of_scores(self, threshold: float) -> float:
        """A threshold that decides the same and all but equals no score: elsewhere a score is rounded differently."""
        n_above = self.count_above(threshold)
        below = float(self.sorted_scores[n_above]) if n_above < len(self.order) else -np.inf
        above = float(self.sorted_scores[n_above - 1]) if n_above else np.inf
        margin = min(_ROUNDING * float(np.abs(self.sorted_scores[[0, -1]]).max()), (above - below) / 2)
        return min(max(threshold, below + margin), above - margin)

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
        with np.errstate(over="ignore"):  # a threshold far beyond all scores has the end of the axis
            out: FloatArray = np.clip((np.arcsinh(scores / scale) - low) / (high - low), 0.0, 1.0)
        return out

    @cached_property
    def histogram(self) -> list[int]:
        """The number of rows of the table, estimated if need be, in each of N_HISTOGRAM_BINS bins of equal width."""
        positions, weights = self.positions(self.sorted_scores), np.diff(self._rows_down_to)
        counts, _ = np.histogram(positions, N_HISTOGRAM_BINS, (0.0, 1.0), weights=weights)
        return [round(count) for count in counts.tolist()]

    def describe(self) -> dict[str, Any]:
        """The histogram and its axis as JSON."""
        scale, low, high = self.axis
        return {
            "scored": len(self.order),
            "histogram": self.histogram,
            "axis": {"scale": scale, "low": low, "high": high},
        }
