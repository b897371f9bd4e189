"""What a label has changed: rows that rose or fell most, and rows that are flagged now or no longer."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.ranking import Ranking

N_MOVED_ROWS = 2  # named, in each direction

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def describe_change(
    before: tuple[Ranking, float | None], after: tuple[Ranking, float | None], labelled: IntArray
) -> dict[str, Any]:
    """Compare two rankings, each with its threshold if there is one, on the rows that both have scored, as JSON.

    Ranks count from 1 among these rows. A row has moved as far as the logarithm of its rank has: from 40 to 4 is as far
    as from 4,000 to 400, for the top of a ranking is what is read. Labelled rows are not named.
    """
    both = np.flatnonzero(~np.isnan(before[0].scores) & ~np.isnan(after[0].scores))
    scores = [ranking.scores[both] for ranking, _ in (before, after)]
    ranks = [_ranks(values) for values in scores]
    move = np.log(ranks[0]) - np.log(ranks[1])
    move[np.isin(both, labelled)] = 0.0
    flagged = [
        None if threshold is None else values > threshold
        for values, (_, threshold) in zip(scores, (before, after), strict=True)
    ]

    def named(order: IntArray) -> list[dict[str, int]]:
        moved = order[move[order] != 0]
        return [{"row": int(both[i]), "before": int(ranks[0][i]), "after": int(ranks[1][i])} for i in moved]

    upwards = np.argsort(-move, kind="stable")
    rose, fell = upwards[:N_MOVED_ROWS], upwards[::-1][:N_MOVED_ROWS]
    return {
        "compared": len(both),
        "rose": named(rose[move[rose] > 0]),
        "fell": named(fell[move[fell] < 0]),
        "flagged": _count_flagged(*flagged),
    }


def _ranks(scores: FloatArray) -> IntArray:
    """1 for the highest score; equal scores in the order of the table: [n] -> [n]."""
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return ranks


def _count_flagged(before: NDArray[np.bool_] | None, after: NDArray[np.bool_] | None) -> dict[str, int | None] | None:
    """The number of flagged rows, and of those that were not flagged before or no longer are; None if not known."""
    if after is None:
        return None
    if before is None:
        return {"now": int(after.sum()), "added": None, "removed": None}
    return {"now": int(after.sum()), "added": int((after & ~before).sum()), "removed": int((before & ~after).sum())}
