"""A task in three spaces (the paper's Figure 2): its original attributes, the embedding and the projection."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from sklearn.manifold import TSNE

from oddshot.bench.plots import make_figure, save_figure
from oddshot.methods.contract import Method
from oddshot.score.rows import LabelledRows

GROUPS = (  # title, label, whether in the support, colour, marker, size
    ("normal query", 0, False, "#0072B2", "o", 22),
    ("anomalous query", 1, False, "#D55E00", "o", 34),
    ("labelled normal", 0, True, "#56B4E9", "X", 90),
    ("labelled anomaly", 1, True, "#CC79A7", "X", 110),
)
CENTER_COLOUR = "#009E73"
OUTLINE: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.6}
MAX_PERPLEXITY = 30.0  # scikit-learn's default; t-SNE needs more rows than that


@dataclass(frozen=True)
class TaskSpaces:
    """The rows of one task in the three spaces; the centre is at 0 in the embedded and in the projected space.

    original: [n, M], embedded: [n, J], projected: [n], y: [n] in {0, 1}, is_support: [n].
    """

    original: NDArray[Any]
    embedded: NDArray[Any]
    projected: NDArray[Any]
    y: NDArray[Any]
    is_support: NDArray[np.bool_]


def compute_task_spaces(method: Method, support: LabelledRows, query: LabelledRows) -> TaskSpaces:
    """Adapt to the first task and compute its rows in the three spaces. support, query: [T, ...]."""
    support, query = (LabelledRows(rows.normal[0], rows.anomaly[0]) for rows in (support, query))
    rows = np.concatenate([support.joined(), query.joined()])
    counts = [part.shape[0] for part in (*support, *query)]
    score = method.adapt(support)
    embedded, projected = score.embed(rows), score.project(rows)
    assert embedded is not None
    assert projected is not None
    return TaskSpaces(
        original=rows,
        embedded=embedded,
        projected=projected[:, 0],
        y=np.repeat([0, 1, 0, 1], counts),
        is_support=np.repeat([True, True, False, False], counts),
    )


def draw_task_spaces(spaces: TaskSpaces, path: Path, title: str) -> None:
    """Draw the three spaces side by side as a PNG file, the first two reduced to two dimensions by t-SNE."""
    figure = make_figure(13, 4.4)
    axes = figure.subplots(1, 3)
    center = np.zeros(spaces.embedded.shape[1])
    embedded = tsne_plane(np.vstack([spaces.embedded, center]))
    _scatter(axes[0], tsne_plane(spaces.original), spaces, "(a) original space")
    _scatter(axes[1], embedded[:-1], spaces, "(b) embedded space", embedded[-1])
    # The projected space has one dimension; random heights keep the points from hiding each other.
    height = np.random.default_rng(0).uniform(-1, 1, len(spaces.y))
    points = np.column_stack([spaces.projected, height])
    _scatter(axes[2], points, spaces, "(c) projected space", np.zeros(2))
    axes[2].axvline(0, color=CENTER_COLOUR, linewidth=1, zorder=0)
    axes[2].set_xlabel("wᵀ(φ − c): the further from the centre, the more anomalous")
    axes[2].set_xticks([0], ["c"])
    figure.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(title)
    save_figure(figure, path)


def tsne_plane(rows: NDArray[Any]) -> NDArray[Any]:
    """Reduce rows to two dimensions by t-SNE. rows: [n, D] -> [n, 2]."""
    perplexity = min(MAX_PERPLEXITY, (len(rows) - 1) / 3)
    plane: NDArray[Any] = TSNE(perplexity=perplexity, init="pca", random_state=0).fit_transform(rows)
    return plane


def _scatter(
    axes: Axes, points: NDArray[Any], spaces: TaskSpaces, title: str, center: NDArray[Any] | None = None
) -> None:
    """Scatter plot of the groups of rows. points: [n, 2], center: [2] or None."""
    for name, label, in_support, colour, marker, size in GROUPS:
        group = points[(spaces.y == label) & (spaces.is_support == in_support)]
        axes.scatter(group[:, 0], group[:, 1], c=colour, marker=marker, s=size, label=name, **OUTLINE)
    if center is not None:
        axes.scatter(center[0], center[1], c=CENTER_COLOUR, marker="^", s=90, label="centre", **OUTLINE)
    axes.set(title=title, xticks=[], yticks=[])
