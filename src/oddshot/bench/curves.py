"""AUC over a number that varies: training tasks (Figure 3), labelled normal rows, labelled anomalies."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from oddshot.bench.paper import FIGURE3_METHODS, OUTLIER_DATASETS
from oddshot.bench.plots import Curve
from oddshot.bench.record import RunRecord
from oddshot.bench.selection import AucKind, select
from oddshot.bench.significance import confidence_interval


@dataclasses.dataclass(frozen=True)
class Sweep:
    """One setting at several values; `substitutes` names who takes a method's place at a value it cannot do."""

    name: str
    setting: str
    values: tuple[int, ...]
    x_label: str
    title: str
    substitutes: Mapping[tuple[str, int], str | None] = dataclasses.field(default_factory=dict)

    def where(self, value: int) -> dict[str, Any]:
        """The setting at this value; the usual number of training tasks is stored as None."""
        return {self.setting: None if self.setting == "n_training" and value == PAPER_N_TRAINING else value}

    def methods_at(self, value: int, methods: Iterable[str]) -> dict[str, str]:
        """Method -> the one that is run in its place: itself, a stand-in, or left out."""
        chosen = {method: self.substitutes.get((method, value), method) for method in methods}
        return {method: runs for method, runs in chosen.items() if runs is not None}


PAPER_N_TRAINING = 400  # training tasks in the paper
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
    """Curves by method with their 95 % bands over splits, and the datasets that have figures at every point of them."""
    points: dict[tuple[str, int], dict[tuple[str, str], dict[int, float]]] = {}
    for value in sweep.values:
        runs = sweep.methods_at(value, methods)
        chosen = select(records, protocol, {**(where or {}), **sweep.where(value)}, datasets, set(runs.values()))
        scores = chosen.aucs(auc)
        for method, name in runs.items():
            found = {key: by_split for key, by_split in scores.items() if key[1] == name}
            if found:
                points[method, value] = found
    drawn = [method for method in methods if any(key[0] == method for key in points)]
    known = [{dataset for dataset, _ in found} for found in points.values()]
    common = [name for name in datasets if known and all(name in here for here in known)]
    curves = {method: _curve(sweep, method, points, common) for method in drawn} if common else {}
    return curves, common


def _curve(sweep: Sweep, method: str, points: Mapping[tuple[str, int], Any], datasets: Sequence[str]) -> Curve:
    values = [value for value in sweep.values if (method, value) in points]
    bands = [confidence_interval(_split_means(points[method, value], datasets)) for value in values]
    mean, low, high = zip(*bands, strict=True)
    return Curve(tuple(values), mean, low, high, tuple((method, value) in sweep.substitutes for value in values))


def _split_means(found: Mapping[tuple[str, str], Mapping[int, float]], datasets: Sequence[str]) -> Any:
    """Mean over the datasets for each split that all of them have. [n_splits]."""
    rows = [by_split for (dataset, _), by_split in found.items() if dataset in datasets]
    splits = sorted(set.intersection(*(set(by_split) for by_split in rows)))
    return np.array([np.mean([by_split[split] for by_split in rows]) for split in splits])
