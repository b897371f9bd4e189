"""The picture of a task in three spaces: original, embedded, projected (the paper's Figure 2)."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from oddshot.data.files import atomic_path
from oddshot.methods.contract import Distance, LabelledRows
from oddshot.methods.eigen import Eigen
from oddshot.methods.relative import RelativeScore

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GROUPS = (  # title, label, support?, colour, marker, size
    ("normal query", 0, False, "#0072B2", "o", 22),
    ("anomalous query", 1, False, "#D55E00", "o", 34),
    ("labelled normal", 0, True, "#56B4E9", "X", 90),
    ("labelled anomaly", 1, True, "#CC79A7", "X", 110),
)
CENTER_COLOUR = "#009E73"
OUTLINE: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.6}


@dataclass(frozen=True)
class TaskSpaces:
    """One task's rows in the three spaces; the centre is at 0 in the embedded and the projected one.

    original: [n, M], embedded: [n, J], projected: [n], y: [n] in {0, 1}, is_support: [n].
    """

    original: NDArray[Any]
    embedded: NDArray[Any]
    projected: NDArray[Any]
    y: NDArray[Any]
    is_support: NDArray[np.bool_]


@torch.no_grad()
def compute_task_spaces(method: Eigen, support: LabelledRows, query: LabelledRows, task: int = 0) -> TaskSpaces:
    """One task's rows in the original, the embedded and the projected space. support, query: [1, T, ...]."""
    support, query = (
        LabelledRows(rows.normal[:, task, None], rows.anomaly[:, task, None]) for rows in (support, query)
    )
    rows = torch.cat([support.joined(), query.joined()], dim=2)
    counts = [part.shape[2] for part in (*support, *query)]
    score = method.adapt(support)
    distance, described = (score.distance, score.describe(rows)) if isinstance(score, RelativeScore) else (score, rows)
    assert isinstance(distance, Distance)
    assert distance.r is not None
    embedded, projected = method.embed(described, distance.r), distance.project(described)
    return TaskSpaces(
        rows[0, 0].cpu().numpy(),
        embedded[0, 0].cpu().numpy(),
        projected[0, 0, :, 0].cpu().numpy(),
        np.repeat([0, 1, 0, 1], counts),
        np.repeat([True, True, False, False], counts),
    )


def draw_task_spaces(spaces: TaskSpaces, path: Path, title: str) -> None:
    """Write the three spaces side by side as a PNG; the first two are brought to a plane by t-SNE."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 4.4), layout="constrained")
    axes = FigureCanvasAgg(figure).figure.subplots(1, 3)
    embedded = tsne_plane(np.vstack([spaces.embedded, np.zeros(spaces.embedded.shape[1])]))
    _scatter(axes[0], tsne_plane(spaces.original), spaces, "(a) original space")
    _scatter(axes[1], embedded[:-1], spaces, "(b) embedded space", embedded[-1])
    # In one dimension the rows are spread vertically so that none hides another.
    height = np.random.default_rng(0).uniform(-1, 1, len(spaces.y))
    points = np.column_stack([spaces.projected, height])
    _scatter(axes[2], points, spaces, "(c) projected space", np.zeros(2))
    axes[2].axvline(0, color=CENTER_COLOUR, linewidth=1, zorder=0)
    axes[2].set_xlabel("wᵀ(φ − c): the further from the centre, the more anomalous")
    axes[2].set_xticks([0], ["c"])
    figure.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle(title)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150, format="png")


def tsne_plane(rows: NDArray[Any]) -> NDArray[Any]:
    """[n, D] -> [n, 2] by t-SNE."""
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(rows) - 1) / 3)
    plane: NDArray[Any] = TSNE(perplexity=perplexity, init="pca", random_state=0).fit_transform(rows)
    return plane


def _scatter(
    axes: "Axes", points: NDArray[Any], spaces: TaskSpaces, title: str, center: NDArray[Any] | None = None
) -> None:
    for name, label, support, colour, marker, size in GROUPS:
        chosen = points[(spaces.y == label) & (spaces.is_support == support)]
        axes.scatter(chosen[:, 0], chosen[:, 1], c=colour, marker=marker, s=size, label=name, **OUTLINE)
    if center is not None:
        axes.scatter(center[0], center[1], c=CENTER_COLOUR, marker="^", s=90, label="centre", **OUTLINE)
    axes.set(title=title, xticks=[], yticks=[])
