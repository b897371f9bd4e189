"""How a change of the columns has changed which rows are flagged."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.open_table import OpenTable

N_TOP_ROWS = 100  # compared where there is no threshold yet

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class FlagChange:
    """Rows that were not flagged before and are now, and the other way round. among: what "flagged" means."""

    entered: int
    left: int
    among: str


def compare_flags(before: OpenTable, after: OpenTable) -> dict[str, Any]:
    """Compare the flagged rows of the same table; of a large one, those rows that both rankings have scored so far."""
    is_scored = ~np.isnan(before.ranking.scores) & ~np.isnan(after.ranking.scores)
    if before.threshold is not None and after.threshold is not None:
        was_flagged = before.ranking.scores > before.threshold
        is_flagged = after.ranking.scores > after.threshold
        among = "the flagged ones"
    else:
        n_top = min(N_TOP_ROWS, int(is_scored.sum()))
        was_flagged, is_flagged = (_find_top(table, is_scored, n_top) for table in (before, after))
        among = f"the first {n_top}"
    entered, left = is_scored & is_flagged & ~was_flagged, is_scored & was_flagged & ~is_flagged
    return asdict(FlagChange(int(entered.sum()), int(left.sum()), among))


def _find_top(open_table: OpenTable, is_compared: BoolArray, n_top: int) -> BoolArray:
    """Whether each row is among the n_top highest of the compared ones: [n]."""
    order = open_table.ranking.order
    is_top = np.zeros(len(is_compared), bool)
    is_top[order[is_compared[order]][:n_top]] = True
    return is_top
