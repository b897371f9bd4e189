"""The grid beside an earlier one: what changed where decisions already held."""

import numpy as np
import pandas as pd

from oddshot.bench.decisions.criteria import MAX_NAMED
from oddshot.bench.decisions.results import CELL, cells_of

HELD_RATE, HELD_RANGE = 0.05, (0.025, 0.075)
MAX_FALL = 0.02  # of the share of anomalies found


def comparison_lines(summary: pd.DataFrame, earlier: pd.DataFrame) -> list[str]:
    """In how many cells that held in the earlier grid fewer anomalies are found, and the difference of the AUC."""
    now, before = (frame[np.isclose(frame["rate"], HELD_RATE)] for frame in (summary, earlier))
    both = now.merge(before, on=CELL, suffixes=("", "_before"))
    if both.empty:
        return ["- the earlier grid has none of these cells"]
    held = both[both["flagged_before"].between(*HELD_RANGE)]
    change = held["found"] - held["found_before"]
    worst = change[change < -MAX_FALL].sort_values(kind="stable")
    cells = cells_of(held.loc[worst.index[:MAX_NAMED]])
    shown = "; ".join(f"{cell.name}: {fall:+.1%}" for cell, fall in zip(cells, worst, strict=False))
    auc = (both["auc"] - both["auc_before"]).mean()
    text = (
        "- cells whose mean share at 5 % was within 2.5 to 7.5 % in the earlier grid: anomalies found fell by over 2 %"
    )
    return [
        f"{text}: {len(worst)} of {len(held)} cells" + (f" (worst: {shown})" if shown else ""),
        f"- beside the earlier grid: mean difference of the anomalies found there {_mean(change):+.3f}, "
        f"of the AUC over all {len(both)} cells {auc:+.4f}",
    ]


def _mean(values: "pd.Series[float]") -> float:
    return float(values.mean()) if len(values) else 0.0
