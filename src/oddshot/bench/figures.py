"""Every figure by its name: what it needs of the store, and where it is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oddshot.bench import paper
from oddshot.bench.curves import SWEEPS, collect_curves
from oddshot.bench.plots import draw_curves, draw_ranks
from oddshot.bench.record import RunRecord
from oddshot.bench.selection import AucKind, select
from oddshot.bench.tables import rank_selection
from oddshot.errors import InputError

FIGURES = ("ranks", "spaces", *SWEEPS)
SPACES_DATASET = "wdbc"  # as in Figure 2


@dataclass(frozen=True)
class FigureRequest:
    """Which runs a figure is made from; methods: None for those that the figure usually has."""

    protocol: str
    auc: AucKind
    where: Mapping[str, Any]
    datasets: Sequence[str]
    methods: Sequence[str] | None = None


def parse_figures(text: str) -> list[str]:
    """Names with commas."""
    names = [word.strip() for word in text.split(",") if word.strip()]
    for name in names:
        if name not in FIGURES:
            raise InputError(f"no figure {name!r}; there are {', '.join(FIGURES)}")
    return names


def draw_figure(name: str, records: Sequence[RunRecord], wanted: FigureRequest, path: Path) -> dict[str, Any]:
    """Draw `ranks` or a curve. Returns its numbers; an InputError where the store has no runs for it."""
    if name == "ranks":
        return _draw_ranks(records, wanted, path)
    sweep = SWEEPS[name]
    methods = wanted.methods or paper.FIGURE3_METHODS
    curves, datasets = collect_curves(
        records, sweep, wanted.protocol, wanted.auc, wanted.where, wanted.datasets, methods
    )
    if not any(len(curve.x) > 1 for curve in curves.values()):
        raise InputError("no dataset has runs at two values and more; add --run")
    of = f"mean over {len(datasets)} datasets" if len(datasets) > 1 else paper.dataset_title(datasets[0])
    note = f"{wanted.protocol}; {of}; bands: 95 % confidence over splits"
    if any(any(curve.hollow) for curve in curves.values()):
        note += "\nhollow: WoAnomaly in our place"
    draw_curves(path, curves, sweep.x_label, sweep.title, note)
    return {"datasets": datasets, "curves": {method: asdict(curve) for method, curve in curves.items()}}


def _draw_ranks(records: Sequence[RunRecord], wanted: FigureRequest, path: Path) -> dict[str, Any]:
    selection = select(records, wanted.protocol, wanted.where, wanted.datasets, wanted.methods)
    methods, ranks = rank_selection(selection, wanted.auc)
    title = f"Average ranks over {ranks.n_datasets} datasets ({wanted.protocol}; Friedman p = {ranks.p_value:.2g})"
    draw_ranks(path, methods, ranks.average, ranks.distance, title)
    averages = dict(zip(methods, ranks.average.tolist(), strict=True))
    return {"ranks": averages, "p_value": ranks.p_value, "critical_difference": ranks.distance}
