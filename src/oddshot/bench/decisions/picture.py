"""The picture of the grid: one square a cell, coloured by the share of normal rows flagged."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

from oddshot.bench.plots import make_figure, save_figure

WANTED, MOST_COLOURED = 5.0, 20.0  # per cent; a larger share has the same colour
INCHES_PER_SQUARE = 0.32
COLOURS = "RdBu_r"  # told apart by colour-blind readers; the numbers say the same


def draw_grid(path: Path, panels: Mapping[str, pd.DataFrame], title: str) -> None:
    """Draw a panel for every number of unlabelled rows, in a row for every kind of copies.

    panels: by the title of the copies, rows of a summary with one for each cell.
    """
    cells = pd.concat(panels.values())
    normal, anomalies, unlabelled = (sorted(set(cells[name])) for name in ("normal", "anomalies", "unlabelled"))
    width = 1.6 + len(unlabelled) * (0.25 + INCHES_PER_SQUARE * len(normal))
    figure = make_figure(width, 1.3 + len(panels) * (0.35 + INCHES_PER_SQUARE * len(anomalies)))
    grid = figure.subplots(len(panels), len(unlabelled), squeeze=False, sharex=True, sharey=True)
    norm = TwoSlopeNorm(WANTED, 0.0, MOST_COLOURED)
    for row, (name, group) in zip(grid, panels.items(), strict=True):
        for axes, n in zip(row, unlabelled, strict=True):
            shares = group[group["unlabelled"] == n].pivot(index="anomalies", columns="normal", values="flagged")
            _draw_panel(axes, 100 * shares.reindex(index=anomalies, columns=normal), norm)
            axes.set_title(f"{name}; {n} unlabelled" if n else f"{name}; none unlabelled", loc="left", fontsize=9)
    figure.suptitle(title, fontsize=12)
    figure.supxlabel("labelled normal rows", fontsize=10)
    figure.supylabel("labelled anomalies", fontsize=10)
    bar = figure.colorbar(grid[0, 0].images[0], ax=grid, shrink=0.5, aspect=40, extend="max", ticks=[0, 2.5, 5, 10, 20])
    bar.set_label("per cent of normal rows flagged; 5 is wanted", fontsize=9)
    save_figure(figure, path)


def _draw_panel(axes: Axes, shares: pd.DataFrame, norm: TwoSlopeNorm) -> None:
    """Squares with their numbers. shares: per cent; rows are labelled anomalies, columns labelled normal rows."""
    values = shares.to_numpy(float)
    axes.imshow(values, cmap=COLOURS, norm=norm, aspect="equal", origin="lower")
    for (i, j), value in np.ndenumerate(values):
        if np.isfinite(value):
            dark = value > 0.75 * MOST_COLOURED or value < 0.2 * WANTED
            text = f"{value:.1f}" if value < 0.95 else f"{value:.0f}"
            axes.text(j, i, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")
    axes.set_xticks(range(len(shares.columns)), [str(n) for n in shares.columns], fontsize=7)
    axes.set_yticks(range(len(shares.index)), [str(n) for n in shares.index], fontsize=7)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
