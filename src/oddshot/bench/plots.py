"""Drawing of curves and critical-difference diagrams from given numbers, as PNG files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from oddshot.bench.paper import METHOD_TITLES, method_title
from oddshot.data.files import atomic_path

# The palette of Okabe and Ito and grey, which colour-blind readers can tell apart; markers differ too.
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
MARKERS = "os^DvPX*<>h"


@dataclass(frozen=True)
class Curve:
    """The AUC of a method at several values of x.

    mean, low, high: [len(x)], mean and bounds of the confidence interval. hollow: [len(x)], points drawn with a hollow
    marker, where another method was run in place of this one; empty for none.
    """

    x: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    hollow: tuple[bool, ...] = ()


def draw_curves(path: Path, curves: Mapping[str, Curve], x_label: str, title: str, note: str = "") -> None:
    """Draw mean AUCs with their confidence bands, one line for each method (Figure 3). curves: by method name."""
    figure = make_figure(6.4, 4.4)
    axes = figure.subplots()
    ticks = sorted({x for curve in curves.values() for x in curve.x})
    position = {x: index for index, x in enumerate(ticks)}  # equal distances, as each value is about twice the last
    for number, (method, curve) in enumerate(curves.items()):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        positions = [position[x] for x in curve.x]
        # The interval of Student's t is unbounded, but an AUC is at most 1.
        axes.fill_between(positions, curve.low, np.minimum(curve.high, 1.0), color=colour, alpha=0.18, linewidth=0)
        axes.plot(positions, curve.mean, color=colour, marker=marker, label=method_title(method))
        for x, y, hollow in zip(positions, curve.mean, curve.hollow, strict=False):
            if hollow:
                axes.plot(x, y, marker=marker, color=colour, markerfacecolor="white", zorder=3)
    axes.set_xticks(range(len(ticks)), [f"{tick:g}" for tick in ticks])
    axes.set(xlabel=x_label, ylabel="test AUC", title=title)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", frameon=False)
    if note:
        figure.supxlabel(note, fontsize=8, color="#555555")
    save_figure(figure, path)


def draw_ranks(
    path: Path, methods: Sequence[str], ranks: NDArray[np.float64], critical_difference: float, title: str
) -> None:
    """Draw a critical-difference diagram (Demšar, 2006): the best rank is on the left, bars join cliques.

    methods, ranks: [k], in any order.
    """
    order = np.argsort(ranks, kind="stable")
    sorted_ranks, names = ranks[order], [method_title(methods[index]) for index in order]
    k = len(names)
    groups = cliques(sorted_ranks, critical_difference)
    half = (k + 1) // 2
    figure = make_figure(7.4, 1.5 + 0.27 * half + 0.16 * len(groups))
    axes = figure.subplots()
    low, high = 1.0, float(k)
    first_depth = 0.35 + 0.35 * len(groups) + 0.35  # of the first name, below the bars
    for index, (rank, name) in enumerate(zip(sorted_ranks, names, strict=True)):
        left = index < half
        depth = first_depth + 0.6 * (index if left else k - 1 - index)
        edge = low - 0.06 * (high - low) if left else high + 0.06 * (high - low)
        ours = name == METHOD_TITLES["eigen"]
        axes.plot([rank, rank, edge], [0, depth, depth], color=COLOURS[0] if ours else "#333333", linewidth=1)
        text = f"{name} {rank:.2f} " if left else f" {rank:.2f} {name}"
        axes.text(edge, depth, text, ha="right" if left else "left", va="center", weight="bold" if ours else "normal")
    for index, (start, end) in enumerate(groups):
        ends = [sorted_ranks[start] - 0.03, sorted_ranks[end] + 0.03]
        axes.plot(ends, [0.35 + 0.35 * index] * 2, color=COLOURS[1], linewidth=4, solid_capstyle="round")
    scale_end = low + critical_difference
    axes.plot([low, scale_end], [-1.15, -1.15], color=COLOURS[1], linewidth=4, solid_capstyle="butt")
    axes.text(scale_end, -1.15, f"  critical difference {critical_difference:.2f}", va="center")
    margin = 0.35 * (high - low)
    axes.set(xlim=(low - margin, high + margin), ylim=(first_depth + 0.6 * half, -1.6), title=title)
    _draw_rank_axis(axes, k)
    save_figure(figure, path)


def cliques(sorted_ranks: NDArray[np.float64], critical_difference: float) -> list[tuple[int, int]]:
    """First and last index of every maximal group of methods without significant differences.

    sorted_ranks: [k], ascending.
    """
    groups: list[tuple[int, int]] = []
    for start, rank in enumerate(sorted_ranks):
        end = int(np.searchsorted(sorted_ranks, rank + critical_difference, side="right")) - 1
        if end > start and (not groups or end > groups[-1][1]):
            groups.append((start, end))
    return groups


def make_figure(width: float, height: float) -> Figure:
    """A figure of this size in inches that does not depend on pyplot's global state."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, atomically."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150, format="png")


def _draw_rank_axis(axes: Axes, k: int) -> None:
    """A scale from 1 to k at height 0, in place of the frame."""
    axes.set_axis_off()
    axes.plot([1, k], [0, 0], color="black", linewidth=1.2)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [0, -0.18], color="black", linewidth=1.2)
        axes.text(tick, -0.3, str(tick), ha="center", va="bottom", fontsize=9)
