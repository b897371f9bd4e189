"""The picture of the field trial: one square a situation, coloured by the difference from the best simple method."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

from oddshot.bench.field.report import Comparison
from oddshot.bench.plots import make_figure, save_figure

MAX_COLOURED_DIFFERENCE = 0.1  # a larger difference has the same colour
INCHES_PER_ROW, INCHES_PER_COLUMN = 0.34, 0.72
GROUP_TITLES = {
    "apart": "rows apart",
    "whole": "whole table",
    "tiny": "one to three labelled normal rows",
    "growth": "labels grow",
    "contamination": "anomalies among the unlabelled rows",
    "widths": "widths",
    "fleets": "fleets of training tasks",
}


def draw_picture(path: Path, comparisons: Sequence[Comparison], title: str) -> None:
    """Draw a panel for every group: rows and columns of squares with the difference written in each."""
    groups: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        if comparison.difference is not None:
            groups.setdefault(comparison.situation.group, []).append(comparison)
    if not groups:
        return
    heights = [len(_ordered(c.situation.row for c in members)) for members in groups.values()]
    widths = [len(_ordered(c.situation.column for c in members)) for members in groups.values()]
    figure = make_figure(3.2 + INCHES_PER_COLUMN * max(widths), 1.2 + sum(INCHES_PER_ROW * n + 0.75 for n in heights))
    panels = figure.subplots(len(groups), 1, height_ratios=[n + 0.6 for n in heights], squeeze=False)[:, 0]
    norm = TwoSlopeNorm(0.0, -MAX_COLOURED_DIFFERENCE, MAX_COLOURED_DIFFERENCE)
    for axes, (group, members) in zip(panels, groups.items(), strict=True):
        _draw_panel(axes, members, norm, max(widths))
        axes.set_title(GROUP_TITLES.get(group, group), loc="left", fontsize=10, weight="bold")
    figure.suptitle(title, fontsize=11)
    figure.supxlabel("AUC of oddshot less that of the best simple method; blue: ahead, red: behind", fontsize=9)
    save_figure(figure, path)


def _draw_panel(axes: Axes, members: Sequence[Comparison], norm: TwoSlopeNorm, n_columns: int) -> None:
    """Squares of one group, left-aligned on a grid of n_columns."""
    rows = _ordered(c.situation.row for c in members)
    columns = _ordered(c.situation.column for c in members)
    values = np.full((len(rows), len(columns)), np.nan)
    for c in members:
        values[rows.index(c.situation.row), columns.index(c.situation.column)] = c.difference
    axes.imshow(values, cmap="RdBu", norm=norm, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = "white" if abs(value) > 0.6 * MAX_COLOURED_DIFFERENCE else "black"
            axes.text(j, i, f"{value:+.3f}", ha="center", va="center", fontsize=7.5, color=colour)
    axes.set_xticks(range(len(columns)), columns, fontsize=8)
    axes.set_yticks(range(len(rows)), [row or "labelled rows only" for row in rows], fontsize=8)
    axes.set_xlim(-0.5, n_columns - 0.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _ordered(names: Iterable[str]) -> list[str]:
    """Different names in the order of their first occurrence."""
    return list(dict.fromkeys(names))
