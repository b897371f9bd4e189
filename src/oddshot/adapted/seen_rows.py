"""Rows that a task was adapted with, found again by their values among rows to score.

An unlabelled row must not be compared with itself: it has its leave-one-out score. A labelled row keeps its label: its
score is beyond the thresholds of all rates. Where equal rows are to be expected, as in tables of a few categories, a
row that equals a labelled one is most probably another row, and the score decides.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from oddshot.adapted.copies import Copies, are_expected
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED

MAX_BLOCK_VALUES = 1 << 21  # hashed at a time

EncodedRows = NDArray[np.float32]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SeenRows:
    """rows: [L, M], encoded, and scores: [L], of each as if it had not been seen; sorted by `hashes` [L].

    low, high: [L], between which the scores of equal rows are. column: the one with the most different values, and
    is_taken: [65536], which of the slots of its values they have. Most other rows have none of these slots and need no
    hash.
    """

    rows: EncodedRows
    scores: FloatArray
    low: FloatArray
    high: FloatArray
    hashes: NDArray[np.uint64]
    column: int
    is_taken: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        rows: EncodedRows,
        scores: FloatArray,
        labels: NDArray[np.int8],
        bounds: tuple[float, float],
        copies: Copies | None = None,
    ) -> "SeenRows":
        """rows, scores, labels: of the rows that were used, [L, M], [L] and [L].

        bounds: the lowest threshold, which no labelled normal row is above, and the highest, which all labelled
        anomalies are above. copies: rows that were not used, as they are copies of a used one. Of equal rows an
        unlabelled one counts.
        """
        low, high = (np.where(labels == UNLABELLED, scores, end) for end in (-np.inf, np.inf))
        is_clear = ~is_ambiguous(rows, labels)
        high[is_clear & (labels == NORMAL)] = bounds[0]
        low[is_clear & (labels == ANOMALY)] = np.nextafter(bounds[1], np.inf)
        seen = cls._sorted(rows, scores, low, high, labels == UNLABELLED)
        if copies is None or not len(copies.rows):
            return seen
        places = np.concatenate([places for _, places in seen._found(copies.originals)])
        every = np.concatenate([np.arange(len(rows)), places])
        scores, low, high = (part[every] for part in (seen.scores, seen.low, seen.high))
        return cls._sorted(np.concatenate([seen.rows, copies.rows]), scores, low, high, low == high)

    @classmethod
    def _sorted(
        cls, rows: EncodedRows, scores: FloatArray, low: FloatArray, high: FloatArray, goes_first: NDArray[np.bool_]
    ) -> "SeenRows":
        """goes_first: [L], of equal rows these count."""
        hashes = hash_rows(rows)
        order = np.lexsort((~goes_first, hashes))
        column, is_taken = 0, np.zeros(1 << 16, bool)
        if len(rows):
            column = int((np.diff(np.sort(rows, axis=0), axis=0) > 0).sum(axis=0).argmax())
            is_taken[_slots(rows[:, column])] = True
        return cls(rows[order], scores[order], low[order], high[order], hashes[order], column, is_taken)

    def leave_one_out(self, rows: EncodedRows) -> FloatArray:
        """The scores of rows as if they had not been seen, NaN for rows that were not seen: [n, M] -> [n]."""
        scores = np.full(len(rows), np.nan)
        for found, places in self._found(rows):
            scores[found] = self.scores[places]
        return scores

    def score(self, rows: EncodedRows, score_as_new: Callable[[EncodedRows], FloatArray]) -> FloatArray:
        """Scores of rows, between the bounds of a seen row that they equal: [n, M] -> [n].

        score_as_new: scores rows without bounds; it is not asked for those that have the score of a seen one.
        """
        scores, all_found = np.full(len(rows), np.nan), self._found(rows)
        for found, places in all_found:
            low = self.low[places]
            scores[found] = np.where(low == self.high[places], low, np.nan)
        is_new = np.isnan(scores)
        if is_new.any():
            scores[is_new] = score_as_new(rows if is_new.all() else rows[is_new])
        for found, places in all_found:
            scores[found] = np.clip(scores[found], self.low[places], self.high[places])
        return scores

    def _found(self, rows: EncodedRows) -> "list[tuple[IntArray, IntArray]]":
        """Which rows equal a seen one, and which one, a block at a time."""
        out: list[tuple[IntArray, IntArray]] = []
        n_block = max(MAX_BLOCK_VALUES // max(rows.shape[1], 1), 1)
        for start in range(0, len(rows) if len(self.rows) else 0, n_block):
            block = rows[start : start + n_block]
            candidates = np.flatnonzero(self.is_taken[_slots(block[:, self.column])])
            hashes = hash_rows(block[candidates])
            places = np.searchsorted(self.hashes, hashes).clip(max=len(self.hashes) - 1)
            is_found = self.hashes[places] == hashes
            is_found &= (block[candidates] == self.rows[places]).all(axis=1)
            out.append((start + candidates[is_found], places[is_found]))
        return out


def is_ambiguous(rows: EncodedRows, labels: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Whether a label does not say how an equal row is to be decided on: [L, M], [L] -> [L].

    Because both labels occur for the same values, or because equal rows are to be expected.
    """
    ambiguous, labelled = np.zeros(len(rows), bool), np.flatnonzero(labels != UNLABELLED)
    if len(labelled):
        ambiguous[labelled] = are_expected(rows[labelled], rows)
        is_both = np.isin(hash_rows(rows[labels == NORMAL]), hash_rows(rows[labels == ANOMALY]))
        twice = rows[labels == NORMAL][is_both]
        if len(twice):
            ambiguous[labelled] |= np.isin(hash_rows(rows[labelled]), hash_rows(twice))
    return ambiguous


def _slots(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    """A number below 65,536 for each value, the same for 0 and -0: [n] -> [n]."""
    slots: NDArray[np.uint32] = (values + np.float32(0)).view(np.uint32) * np.uint32(2654435769) >> np.uint32(16)
    return slots


@lru_cache(maxsize=8)
def _hash_factors(width: int) -> NDArray[np.uint64]:
    """An odd random number for each column: [M]."""
    numbers = np.random.default_rng(0).integers(1, 2**63, size=width, dtype=np.uint64)
    factors: NDArray[np.uint64] = numbers * np.uint64(2) + np.uint64(1)
    return factors


def hash_rows(rows: EncodedRows) -> NDArray[np.uint64]:
    """A 64-bit hash of the bits of each row: [n, M] -> [n]."""
    bits = (np.ascontiguousarray(rows) + np.float32(0)).view(np.uint32)  # -0 and 0 are the same number
    hashes: NDArray[np.uint64] = (bits.astype(np.uint64) * _hash_factors(rows.shape[1])).sum(axis=1, dtype=np.uint64)
    return hashes
