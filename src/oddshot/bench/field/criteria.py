"""What the detector is to reach in the field trial, and which situations miss it."""

from collections.abc import Sequence

import numpy as np

from oddshot.bench.field.product import PRODUCT
from oddshot.bench.field.report import Comparison

MAX_SHORTFALL = 0.005  # below the best simple method, where a user is to lose nothing
MIN_MEAN_GAIN = 0.01  # over the best simple methods, on average
MAX_CONTAMINATION_SHORTFALL = 0.01  # below the nearest normal row, where no anomaly is labelled
INVERTED_AUC, GOOD_AUC = 0.5, 0.7  # ranked backwards though a simple method ranks well
EVERYDAY_GROUPS = ("apart", "whole", "tiny", "growth")


def criteria_lines(comparisons: Sequence[Comparison]) -> list[str]:
    """A line for every criterion that the results are enough for."""
    compared = [c for c in comparisons if c.difference is not None]
    everyday = [c for c in compared if c.situation.group in EVERYDAY_GROUPS]
    fleets = [c for c in compared if c.situation.group == "fleets"]
    contaminated = [c for c in compared if c.situation.group == "contamination"]
    lines = []
    if everyday:
        gain = np.mean([c.difference for c in everyday if c.difference is not None])
        lines.append(
            _line(f"{', '.join(EVERYDAY_GROUPS)}: more than 0.005 below the best simple method", _behind(everyday))
        )
        lines.append(f"- mean difference of these {len(everyday)} situations: {gain:+.3f} (at least +0.010 is wanted)")
    if contaminated:
        unlabelled = [c for c in contaminated if c.situation.n_anomaly == 0 and "nearest normal" in c.aucs]
        behind = [c for c in unlabelled if c.aucs[PRODUCT] < c.aucs["nearest normal"] - MAX_CONTAMINATION_SHORTFALL]
        lines.append(_line("contamination, no anomaly labelled: more than 0.01 below the nearest normal row", behind))
        inverted = [c for c in contaminated if c.aucs[PRODUCT] < INVERTED_AUC and _best_auc(c) > GOOD_AUC]
        lines.append(_line("contamination: below 0.5 where a simple method is above 0.7", inverted))
    if fleets:
        what = "fleets: more than 0.005 below the shipped model or the best simple method"
        lines.append(_line(what, _behind(fleets)))
    return lines


def _best_auc(comparison: Comparison) -> float:
    return max(auc for name, auc in comparison.aucs.items() if name != PRODUCT)


def _behind(comparisons: Sequence[Comparison]) -> list[Comparison]:
    return [c for c in comparisons if c.difference is not None and c.difference < -MAX_SHORTFALL]


def _line(what: str, found: Sequence[Comparison]) -> str:
    return _names_line(what, [c.situation.name for c in found])


def _names_line(what: str, names: Sequence[str]) -> str:
    return f"- {what}: {len(names)}" + (f" ({'; '.join(names)})" if names else "")
