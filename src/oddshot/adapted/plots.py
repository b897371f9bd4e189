"""Pictures of an adapted task: its scores, its rows in the spaces of the method, and what columns add to a score.

Matplotlib is imported when something is drawn. The colours are of the palette of Okabe and Ito, which colour-blind
readers can tell apart; groups also differ by their markers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oddshot.adapted.explanation import Explanation
from oddshot.adapted.task import AdaptedTask
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import InputError, as_list, missing_package, require_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, VERMILION, SKY, PURPLE, GREEN = "#0072B2", "#D55E00", "#56B4E9", "#CC79A7", "#009E73"
N_BINS = 40
MAX_DRAWN_ROWS = 2000  # of the rows in a scatter plot
MAX_BARS = 12  # columns that are drawn by themselves
MAX_LINEAR_SPAN = 1000.0  # the largest number in typical ones; beyond, the axis is logarithmic
OUTLINE: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.6}

EncodedRows = NDArray[np.float32]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class _Space:
    """Rows in one space: points [n, 2], labelled [m, 2]; center [2], or None where there is none."""

    title: str
    axis_titles: tuple[str, str]
    points: FloatArray
    labelled: FloatArray
    center: FloatArray | None = None


def draw_scores(task: AdaptedTask, scores: FloatArray, ax: "Axes | None" = None) -> "Axes":
    """A histogram of the scores of rows, [n], with the threshold and the labelled rows."""
    ax = _given_or_new(ax, 6.4, 4.0)
    labelled = task.score_encoded(task.support)
    everything = np.append(scores, labelled)
    unit = _typical_size(everything)
    is_wide = float(np.abs(everything).max()) > MAX_LINEAR_SPAN * unit
    if is_wide:
        ax.set_xscale("symlog", linthresh=unit)
    is_anomaly = scores > task.threshold
    parts, names = [scores[~is_anomaly], scores[is_anomaly]], ("rows called normal", "rows called anomalies")
    titles = [f"{name}: {len(part):,}" for name, part in zip(names, parts, strict=True)]
    bins = _edges(everything, task.threshold, unit if is_wide else None).tolist()
    ax.hist(parts, bins=bins, stacked=True, color=[BLUE, VERMILION], label=titles)
    rate = task.decision.rate(task.threshold)
    note = "" if rate is None else f" (false-positive rate {100 * rate:.3g} %)"
    ax.axvline(task.threshold, color="black", linestyle="--", linewidth=1.2, label=f"threshold{note}")
    for label, name, colour in ((NORMAL, "labelled normal", SKY), (ANOMALY, "labelled anomaly", PURPLE)):
        own = labelled[task.labels == label]
        if len(own):
            heights = np.full(len(own), 0.03)
            across = ax.get_xaxis_transform()  # heights are shares of the height of the picture
            ax.scatter(own, heights, c=colour, marker="X", s=70, label=name, transform=across, zorder=3, **OUTLINE)
    ax.set_yscale("function", functions=(_root, np.square))  # so that few rows stay visible beside many
    ax.set(xlabel="score: the higher, the more anomalous", ylabel="number of rows (square-root scale)", title="Scores")
    _legend_below(ax)
    return ax


def draw_spaces(
    task: AdaptedTask, rows: EncodedRows, scores: FloatArray, axes: "Sequence[Axes] | None" = None
) -> list["Axes"]:
    """Encoded rows, [n, M], in the original, the embedded and the projected space, as far as the method has them."""
    if len(rows) == 0:
        raise InputError("X has no rows to draw")
    if len(rows) > MAX_DRAWN_ROWS:
        drawn = np.sort(np.random.default_rng(0).choice(len(rows), MAX_DRAWN_ROWS, replace=False))
        rows, scores = rows[drawn], scores[drawn]
    spaces = _find_spaces(task, rows)
    found = _given_or_new_row(axes, len(spaces))
    for ax, space in zip(found, spaces, strict=True):
        _draw_space(ax, space, scores > task.threshold, task.labels)
    if axes is None:
        handles, titles = found[-1].get_legend_handles_labels()
        found[0].figure.legend(handles, titles, loc="outside lower center", ncols=5, frameon=False)
    else:
        _legend_below(found[-1])
    return found


def draw_contributions(explanation: Explanation, ax: "Axes | None" = None) -> "Axes":
    """What each column adds to the score of the first row that is explained, the largest on top."""
    added = explanation.contributions[0]
    order = np.argsort(-np.abs(added), kind="stable")
    shown, others = order[:MAX_BARS], order[MAX_BARS:]
    names, values = [plain_text(explanation.attributes[j]) for j in shown], added[shown]
    if len(others):
        names.append(f"{len(others):,} other column{'s' * (len(others) > 1)}")
        values = np.append(values, added[others].sum())
    ax = _given_or_new(ax, 6.4, 1.4 + 0.3 * len(names))
    height = np.arange(len(names))
    for is_drawn, colour, title in (
        (values > 0, VERMILION, "raises the score"),
        (values < 0, BLUE, "lowers the score"),
    ):
        if is_drawn.any():
            ax.barh(height[is_drawn], values[is_drawn], color=colour, label=title)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(height, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    start, end = float(explanation.baseline_score[0]), float(explanation.score[0])
    ax.set(
        xlabel=f"from {start:.3g}, the score of the nearest labelled normal row,\nto {end:.3g}, the score of this row",
        title="What each column adds to the score",
    )
    if (values != 0).any():
        _legend_below(ax, 0.95 / (1.4 + 0.3 * len(names)))
    return ax


def plain_text(name: str) -> str:
    """A name that matplotlib does not take for a formula, without line breaks and not too long."""
    text = " ".join(name.split()) or repr(name)
    return (text if len(text) <= 40 else f"{text[:39]}…").replace("$", r"\$")


def new_axes(n: int, width: float, height: float) -> list["Axes"]:
    """Axes of a new figure, side by side."""
    _, axes = _import_matplotlib("pyplot").subplots(1, n, figsize=(width, height), layout="constrained", squeeze=False)
    return list(axes[0])


def _given_or_new(ax: "Axes | None", width: float, height: float) -> "Axes":
    """The axes that were given, or those of a new figure."""
    if ax is None:
        return new_axes(1, width, height)[0]
    require_type("ax", ax, _import_matplotlib("axes").Axes, "Axes of matplotlib")
    return ax


def _given_or_new_row(axes: "Sequence[Axes] | None", n: int) -> "list[Axes]":
    """The axes that were given, which must be n, or those of a new figure."""
    if axes is None:
        return new_axes(n, 4.4 * n, 4.4)
    found: list[Any] = as_list("ax", axes, f"a list of {n} Axes") if isinstance(axes, Iterable) else [axes]
    for ax in found:
        require_type("ax", ax, _import_matplotlib("axes").Axes, f"a list of {n} Axes of matplotlib")
    if len(found) != n:
        raise InputError(f"ax has {len(found)} axes; this task is drawn on {n}")
    return found


def _import_matplotlib(module: str) -> Any:
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError:
        raise missing_package("a plot", "matplotlib", "matplotlib") from None


def _find_spaces(task: AdaptedTask, rows: EncodedRows) -> list[_Space]:
    """The spaces that the method has, each with the rows and the labelled rows."""
    n, together = len(rows), np.concatenate([rows, task.support])
    components = ("first principal component", "second principal component")
    original = principal_plane(np.arcsinh(together.astype(np.float64)))  # or outliers would fill the picture
    spaces = [_Space("original space", components, original[:n], original[n:])]
    embedded = task.embed(together)
    if embedded.shape[1]:
        with_center = np.vstack([embedded, np.zeros(embedded.shape[1])])
        plane = principal_plane(np.arcsinh(with_center / _typical_size(embedded)))
        spaces.append(_Space("embedded space", components, plane[:n], plane[n:-1], plane[-1]))
    projected = task.project(together)
    if projected.shape[1] == 1:
        # One dimension; random heights keep the points from hiding each other.
        heights = np.random.default_rng(0).uniform(-1, 1, len(together))
        points = np.column_stack([projected[:, 0], heights])
        titles = ("wᵀ(φ − c): far from the centre is anomalous", "heights are random")
        spaces.append(_Space("projected space", titles, points[:n], points[n:], np.zeros(2)))
    return spaces


def _draw_space(ax: "Axes", space: _Space, is_anomaly: NDArray[np.bool_], labels: NDArray[np.int8]) -> None:
    groups = (
        ("called normal", space.points[~is_anomaly], BLUE, "o", 22),
        ("called an anomaly", space.points[is_anomaly], VERMILION, "D", 26),
        ("labelled normal", space.labelled[labels == NORMAL], SKY, "X", 90),
        ("labelled anomaly", space.labelled[labels == ANOMALY], PURPLE, "X", 110),
    )
    for name, points, colour, marker, size in groups:
        if len(points):
            ax.scatter(points[:, 0], points[:, 1], c=colour, marker=marker, s=size, label=name, **OUTLINE)
    if space.center is not None:
        ax.scatter(space.center[0], space.center[1], c=GREEN, marker="^", s=90, label="centre", **OUTLINE)
    unit = _typical_size(space.points[:, 0])
    if np.abs(space.points[:, 0]).max() > MAX_LINEAR_SPAN * unit:
        ax.set_xscale("symlog", linthresh=unit)
    ax.set(title=space.title, xlabel=space.axis_titles[0], ylabel=space.axis_titles[1], xticks=[], yticks=[])


def principal_plane(rows: FloatArray) -> FloatArray:
    """The first two principal components of rows: [n, D] -> [n, 2]; the second is 0 where there is one column."""
    centered = rows - rows.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    plane = centered @ axes[:2].T
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))


def _edges(values: FloatArray, threshold: float, unit: float | None) -> FloatArray:
    """The bounds of a histogram's bins, of which the threshold is one; equally wide on the axis.

    unit: up to which a logarithmic axis is linear; None for a linear one.
    """
    ends = np.array([min(values.min(), threshold), max(values.max(), threshold), threshold])
    low, high, middle = (ends if unit is None else np.arcsinh(ends / unit)).tolist()
    width = (high - low) / N_BINS or 1.0
    edges = middle + width * np.arange(np.floor((low - middle) / width) - 1, np.ceil((high - middle) / width) + 2)
    found: FloatArray = edges if unit is None else unit * np.sinh(edges)
    found[found == found[np.abs(edges - middle).argmin()]] = threshold
    return found


def _typical_size(values: FloatArray) -> float:
    """The median of the absolute values that are not 0."""
    sizes = np.abs(values[values != 0])
    return float(np.median(sizes)) if len(sizes) else 1.0


def _root(values: FloatArray) -> FloatArray:
    return np.sqrt(np.maximum(values, 0))


def _legend_below(ax: "Axes", distance: float = 0.15) -> None:
    """A legend below the title of the axis, where it hides nothing. distance: in heights of the picture."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -distance), ncols=2, frameon=False)
