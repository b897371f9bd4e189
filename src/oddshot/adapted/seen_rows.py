"""Rows that a task was adapted with, found again among rows to score: these must not be compared with themselves.

They are recognised by their values. If equal rows are common, a row that equals a labelled row is most probably another
row, and the label is good evidence for it: then labelled rows are not searched for.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

MAX_BLOCK_VALUES = 1 << 21  # hashed at a time
MAX_TWIN_SHARE = 0.05  # of the rows that have an equal one among them

EncodedRows = NDArray[np.float32]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SeenRows:
    """rows: [L, M], encoded, and scores: [L], of each as if it had not been seen; sorted by `hashes` [L].

    column: the one with the most different values, and is_taken: [65536], which of the slots of its values they have.
    Most other rows have none of these slots and need no hash.
    """

    rows: EncodedRows
    scores: FloatArray
    hashes: NDArray[np.uint64]
    column: int
    is_taken: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: EncodedRows, scores: FloatArray, n_unlabelled: int) -> "SeenRows":
        """From rows of which the last `n_unlabelled` are not labelled. Of equal rows an unlabelled one counts."""
        hashes, n_labelled = hash_rows(rows), len(rows) - n_unlabelled
        _, twins = np.unique(hashes, return_counts=True)
        has_many_twins = twins[twins > 1].sum() > MAX_TWIN_SHARE * len(rows)
        kept = np.arange(n_labelled, len(rows)) if has_many_twins else np.roll(np.arange(len(rows)), n_unlabelled)
        order = kept[np.argsort(hashes[kept], kind="stable")]
        column, is_taken = 0, np.zeros(1 << 16, bool)
        if len(rows):
            column = int((np.diff(np.sort(rows, axis=0), axis=0) > 0).sum(axis=0).argmax())
            is_taken[_slots(rows[order, column])] = True
        return cls(rows[order], scores[order], hashes[order], column, is_taken)

    def scores_of(self, rows: EncodedRows) -> FloatArray | None:
        """The scores of rows that all were seen, else None: [n, M] -> [n]."""
        scores = np.full(len(rows), np.nan)
        self.replace_scores(rows, scores)
        return None if np.isnan(scores).any() else scores

    def replace_scores(self, rows: EncodedRows, scores: FloatArray) -> None:
        """Give rows that equal a seen one the score of that one, in place. rows: [n, M], scores: [n]."""
        if len(self.rows) == 0:
            return
        n_block = _rows_of_block(rows)
        for start in range(0, len(rows), n_block):
            block = rows[start : start + n_block]
            candidates = np.flatnonzero(self.is_taken[_slots(block[:, self.column])])
            hashes = hash_rows(block[candidates])
            position = np.searchsorted(self.hashes, hashes).clip(max=len(self.hashes) - 1)
            is_found = self.hashes[position] == hashes
            is_found &= (block[candidates] == self.rows[position]).all(axis=1)
            scores[start + candidates[is_found]] = self.scores[position[is_found]]


def _rows_of_block(rows: EncodedRows) -> int:
    width: int = rows.shape[1]
    return max(MAX_BLOCK_VALUES // max(width, 1), 1)


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
