"""The figures, drawn from numbers alone: nothing is run here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oddshot.bench.paper import METHOD_TITLES, method_title
from oddshot.data.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers; a marker a method besides.
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "os^DvPX"


@dataclass(frozen=True)
class Curve:
    """A method over several x. mean, low, high: [len(x)], NaN where there is no figure. hollow: marks that differ in
    kind (here: a variant that stands in)."""

    x: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    hollow: tuple[bool, ...] = ()


def draw_curves(path: Path, curves: Mapping[str, Curve], x_label: str, title: str, note: str = "") -> None:
    """Mean AUC with its confidence band, a line a method (Figure 3). curves: by method name."""
    figure = _figure(6.4, 4.4)
    axes = figure.subplots()
    ticks = sorted({x for curve in curves.values() for x in curve.x})
    place = {x: number for number, x in enumerate(ticks)}  # equal steps: the numbers double or nearly so
    for number, (method, curve) in enumerate(curves.items()):
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        where = [place[x] for x in curve.x]
        # Student's t knows no upper bound; an AUC has one.
        axes.fill_between(where, curve.low, np.minimum(curve.high, 1.0), color=colour, alpha=0.18, linewidth=0)
        axes.plot(where, curve.mean, color=colour, marker=marker, label=method_title(method))
        for x, y, hollow in zip(where, curve.mean, curve.hollow, strict=False):
            if hollow:
                axes.plot(x, y, marker=marker, color=colour, markerfacecolor="white", zorder=3)
    axes.set_xticks(range(len(ticks)), [f"{tick:g}" for tick in ticks])
    axes.set(xlabel=x_label, ylabel="test AUC", title=title)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", frameon=False)
    if note:
        figure.supxlabel(note, fontsize=8, color="#555555")
    _save(figure, path)


def draw_ranks(path: Path, methods: Sequence[str], ranks: NDArray[np.float64], distance: float, title: str) -> None:
    """Critical-difference diagram (Demšar, 2006): best rank on the left, bars join what is not told apart.

    methods, ranks: [k], in any order.
    """
    order = np.argsort(ranks, kind="stable")
    sorted_ranks, names = ranks[order], [method_title(methods[place]) for place in order]
    k = len(names)
    groups = cliques(sorted_ranks, distance)
    half = (k + 1) // 2
    figure = _figure(7.4, 1.5 + 0.27 * half + 0.16 * len(groups))
    axes = figure.subplots()
    low, high = 1.0, float(k)
    first = 0.35 + 0.35 * len(groups) + 0.35  # depth of the first name, below the bars
    for number, (rank, name) in enumerate(zip(sorted_ranks, names, strict=True)):
        left = number < half
        depth = first + 0.6 * (number if left else k - 1 - number)
        edge = low - 0.06 * (high - low) if left else high + 0.06 * (high - low)
        ours = name == METHOD_TITLES["eigen"]
        axes.plot([rank, rank, edge], [0, depth, depth], color=COLOURS[0] if ours else "#333333", linewidth=1)
        text = f"{name} {rank:.2f} " if left else f" {rank:.2f} {name}"
        axes.text(edge, depth, text, ha="right" if left else "left", va="center", weight="bold" if ours else "normal")
    for number, (start, end) in enumerate(groups):
        ends = [sorted_ranks[start] - 0.03, sorted_ranks[end] + 0.03]
        axes.plot(ends, [0.35 + 0.35 * number] * 2, color=COLOURS[1], linewidth=4, solid_capstyle="round")
    axes.plot([low, low + distance], [-1.15, -1.15], color=COLOURS[1], linewidth=4, solid_capstyle="butt")
    axes.text(low + distance, -1.15, f"  critical difference {distance:.2f}", va="center")
    axes.set(xlim=(low - 0.35 * (high - low), high + 0.35 * (high - low)), ylim=(first + 0.6 * half, -1.6), title=title)
    _rank_axis(axes, k)
    _save(figure, path)


def cliques(sorted_ranks: NDArray[np.float64], distance: float) -> list[tuple[int, int]]:
    """First and last places of the widest runs of methods that are not told apart. sorted_ranks: [k], ascending."""
    groups: list[tuple[int, int]] = []
    for start, rank in enumerate(sorted_ranks):
        end = int(np.searchsorted(sorted_ranks, rank + distance, side="right")) - 1
        if end > start and (not groups or end > groups[-1][1]):
            groups.append((start, end))
    return groups


def three_spaces(
    path: Path,
    original: NDArray[Any],
    embedded: NDArray[Any],
    projected: NDArray[Any],
    labels: NDArray[Any],
    is_support: NDArray[np.bool_],
    title: str = "",
) -> None:
    """Figure 2: a task's rows in the original and the embedded space (both by t-SNE) and on the projected line.

    original: [n, M], embedded: [n, J], projected: [n], the last two minus the centre; labels: [n], 1 = anomaly;
    is_support: [n].
    """
    from oddshot.bench.spaces import TaskSpaces, draw_task_spaces

    draw_task_spaces(TaskSpaces(original, embedded, projected, labels, is_support), path, title)


def _rank_axis(axes: Any, k: int) -> None:
    """A ruler from 1 to k at height 0, and no frame."""
    axes.set_axis_off()
    axes.plot([1, k], [0, 0], color="black", linewidth=1.2)
    for tick in range(1, k + 1):
        axes.plot([tick, tick], [0, -0.18], color="black", linewidth=1.2)
        axes.text(tick, -0.3, str(tick), ha="center", va="bottom", fontsize=9)


def _figure(width: float, height: float) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _save(figure: "Figure", path: Path) -> None:
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150, format="png")
