"""AUC as a function of a setting: number of training tasks (Figure 3), labelled normal rows or labelled anomalies."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.bench.paper import FIGURE3_METHODS, OUTLIER_DATASETS
from oddshot.bench.plots import Curve
from oddshot.bench.record import AucKind, RunRecord
from oddshot.bench.selection import ScoresBySplit, select
from oddshot.bench.significance import confidence_interval

PAPER_N_TRAINING = 400  # number of training tasks in the paper


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A setting and the values at which methods are compared.

    substitutes: (method, value) -> the method that is run in place of one that cannot be run at this value, None to
    leave out the point.
    """

    name: str
    setting: str
    values: tuple[int, ...]
    x_label: str
    title: str
    substitutes: Mapping[tuple[str, int], str | None] = dataclasses.field(default_factory=dict)

    def where(self, value: int) -> dict[str, Any]:
        """The setting at this value, as in the configuration of runs: there, None is the paper's n_training."""
        is_default = self.setting == "n_training" and value == PAPER_N_TRAINING
        return {self.setting: None if is_default else value}

    def methods_at(self, value: int, methods: Iterable[str]) -> dict[str, str]:
        """Method -> the method that is run for it at this value: itself or its substitute."""
        chosen = {method: self.substitutes.get((method, value), method) for method in methods}
        return {method: substitute for method, substitute in chosen.items() if substitute is not None}


TASKS = Sweep(
    "tasks",
    "n_training",
    (25, 50, 100, 200, PAPER_N_TRAINING),
    "training tasks",
    "AUC over the number of training tasks",
)
# NOTE[PAPER] not in the paper: the two curves over labelled rows.
NORMALS = Sweep(
    "normals", "sizes.support_normal", (1, 2, 5, 10), "labelled normal rows", "AUC over the number of labelled normals"
)
ANOMALIES = Sweep(
    "anomalies",
    "sizes.support_anomaly",
    (0, 1, 2, 5, 10),
    "labelled anomalies",
    "AUC over the number of labelled anomalies",
    {("eigen", 0): "woanomaly", ("proto", 0): None, ("r2d2", 0): None},
)
SWEEPS = {sweep.name: sweep for sweep in (TASKS, NORMALS, ANOMALIES)}


def collect_curves(
    records: Sequence[RunRecord],
    sweep: Sweep,
    protocol: str,
    auc: AucKind,
    where: Mapping[str, Any] | None = None,
    datasets: Sequence[str] = OUTLIER_DATASETS,
    methods: Sequence[str] = FIGURE3_METHODS,
) -> tuple[dict[str, Curve], list[str]]:
    """Mean AUC of each method at each value of a sweep, with 95 % confidence intervals over splits.

    Returns the curves by method, and the datasets of the means: those with runs at every point of every curve.
    """
    points: dict[tuple[str, int], ScoresBySplit] = {}
    for value in sweep.values:
        run_methods = sweep.methods_at(value, methods)
        settings = {**(where or {}), **sweep.where(value)}
        scores = select(records, protocol, settings, datasets, set(run_methods.values())).aucs(auc)
        for method, run_method in run_methods.items():
            found = {key: by_split for key, by_split in scores.items() if key[1] == run_method}
            if found:
                points[method, value] = found
    with_points = [method for method in methods if any(key[0] == method for key in points)]
    datasets_by_point = [{dataset for dataset, _ in scores} for scores in points.values()]
    common = [name for name in datasets if points and all(name in known for known in datasets_by_point)]
    curves = {method: _make_curve(sweep, method, points, common) for method in with_points} if common else {}
    return curves, common


def _make_curve(
    sweep: Sweep, method: str, points: Mapping[tuple[str, int], ScoresBySplit], datasets: Sequence[str]
) -> Curve:
    values = [value for value in sweep.values if (method, value) in points]
    intervals = [confidence_interval(_split_means(points[method, value], datasets)) for value in values]
    mean, low, high = zip(*intervals, strict=True)
    return Curve(tuple(values), mean, low, high, tuple((method, value) in sweep.substitutes for value in values))


def _split_means(scores: ScoresBySplit, datasets: Sequence[str]) -> NDArray[np.float64]:
    """Mean over the datasets for every split that all of them have, [n_splits]."""
    rows = [by_split for (dataset, _), by_split in scores.items() if dataset in datasets]
    splits = sorted(set.intersection(*(set(by_split) for by_split in rows)))
    return np.array([np.mean([by_split[split] for by_split in rows]) for split in splits])
