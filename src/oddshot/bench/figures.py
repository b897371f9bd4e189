"""The figures of `oddshot bench figures` that are drawn from finished runs: average ranks and curves."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oddshot.bench import paper
from oddshot.bench.curves import SWEEPS, collect_curves
from oddshot.bench.plots import draw_curves, draw_ranks
from oddshot.bench.record import AucKind, RunRecord
from oddshot.bench.selection import select
from oddshot.bench.tables import rank_selection
from oddshot.errors import InputError

FIGURES = ("ranks", "spaces", *SWEEPS)


@dataclass(frozen=True)
class FigureRequest:
    """Which runs a figure is drawn from.

    where: values of settings (`selection.select`). methods: None for the figure's default methods.
    """

    protocol: str
    auc: AucKind
    where: Mapping[str, Any]
    datasets: Sequence[str]
    methods: Sequence[str] | None = None


def parse_figures(text: str) -> list[str]:
    """Names of figures from a comma-separated list."""
    names = [word.strip() for word in text.split(",") if word.strip()]
    for name in names:
        if name not in FIGURES:
            raise InputError(f"no figure {name!r}; there are {', '.join(FIGURES)}")
    return names


def draw_figure(name: str, records: Sequence[RunRecord], request: FigureRequest, path: Path) -> dict[str, Any]:
    """Draw `ranks` or a curve and return its numbers; an InputError where there are no runs for it."""
    if name == "ranks":
        return _draw_average_ranks(records, request, path)
    sweep = SWEEPS[name]
    curves, datasets = collect_curves(
        records,
        sweep,
        request.protocol,
        request.auc,
        request.where,
        request.datasets,
        request.methods or paper.FIGURE3_METHODS,
    )
    if not any(len(curve.x) > 1 for curve in curves.values()):
        raise InputError("no dataset has runs at two values and more; add --run")
    of = f"mean over {len(datasets)} datasets" if len(datasets) > 1 else paper.dataset_title(datasets[0])
    note = f"{request.protocol}; {of}; bands: 95 % confidence over splits"
    if any(any(curve.hollow) for curve in curves.values()):
        note += "\nhollow: WoAnomaly in our place"
    draw_curves(path, curves, sweep.x_label, sweep.title, note)
    return {"datasets": datasets, "curves": {method: asdict(curve) for method, curve in curves.items()}}


def _draw_average_ranks(records: Sequence[RunRecord], request: FigureRequest, path: Path) -> dict[str, Any]:
    selection = select(records, request.protocol, request.where, request.datasets, request.methods)
    methods, ranks = rank_selection(selection, request.auc)
    title = f"Average ranks over {ranks.n_datasets} datasets ({request.protocol}; Friedman p = {ranks.p_value:.2g})"
    draw_ranks(path, methods, ranks.average, ranks.critical_difference, title)
    averages = dict(zip(methods, ranks.average.tolist(), strict=True))
    return {"ranks": averages, "p_value": ranks.p_value, "critical_difference": ranks.critical_difference}
