"""The model that ships on tables it has never seen: `oddshot bench unmixed`.

Each table is one task, its columns z-scored over all rows and not mixed. Drawn at random: 5 normal rows and 1 anomaly
as the support, 25 + 5 rows to score, and some of the others as unlabelled rows.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from oddshot.bench.protocol import z_score
from oddshot.data.episodes.sampling import EpisodeSizes
from oddshot.data.sources.catalogue import Dataset
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.methods import find_method
from oddshot.methods.contract import LabelledRows, Method
from oddshot.model.auc import exact_auc
from oddshot.universal.shipped import load_universal

SIZES = EpisodeSizes()
MAX_EPISODES_PER_CHUNK = 10  # draws scored together
BASELINES = ("ridge+nearest", "catboost")


class DrawnEpisodes(NamedTuple):
    """DrawnEpisodes of one table: support and query as of T tasks, unlabelled [1, T, u, M]."""

    support: LabelledRows
    query: LabelledRows
    unlabelled: Tensor


def draw_episodes(dataset: Dataset, n_draws: int, n_unlabelled: int, rng: np.random.Generator) -> DrawnEpisodes:
    """LabelledRows of n_draws episodes, no row twice in one of them."""
    X = z_score(np.asarray(dataset.X, dtype=np.float64)).astype(np.float32)
    groups = [
        (np.flatnonzero(dataset.y == NORMAL), SIZES.normal),
        (np.flatnonzero(dataset.y == ANOMALY), SIZES.anomaly),
    ]
    drawn = []
    for _ in range(n_draws):
        shuffled = [(rng.permutation(rows), size) for rows, size in groups]
        rest = rng.permutation(np.concatenate([rows[size:] for rows, size in shuffled]))[:n_unlabelled]
        drawn.append(np.concatenate([*(rows[:size] for rows, size in shuffled), rest]))
    rows = torch.from_numpy(X[np.stack(drawn)]).unsqueeze(0)
    n, a = SIZES.support_normal, SIZES.support_anomaly
    end = SIZES.normal + SIZES.anomaly
    normals, anomalies = rows[:, :, : SIZES.normal], rows[:, :, SIZES.normal : end]
    support, query = (
        LabelledRows(normals[:, :, :n], anomalies[:, :, :a]),
        LabelledRows(normals[:, :, n:], anomalies[:, :, a:]),
    )
    return DrawnEpisodes(support, query, rows[:, :, end:])


@torch.no_grad()
def mean_auc(method: Method, draws: DrawnEpisodes, use_unlabelled: bool) -> float:
    """Over all draws, ties as a half."""
    aucs = []
    for start in range(0, draws.unlabelled.shape[1], MAX_EPISODES_PER_CHUNK):
        some = slice(start, start + MAX_EPISODES_PER_CHUNK)
        support, query = (LabelledRows(*(part[:, some] for part in rows)) for rows in (draws.support, draws.query))
        score = method.adapt_with(support, draws.unlabelled[:, some] if use_unlabelled else None)
        aucs.append(exact_auc(score(query.normal), score(query.anomaly)))
    return float(torch.cat(aucs, dim=1).mean())


def compare_methods(
    datasets: Iterable[Dataset], n_draws: int, n_unlabelled: int, on_line: Callable[[list[str]], None]
) -> list[list[str]]:
    """Lines of a table, the first and the last ones header and average; on_line is told of each."""
    methods = {"relative": load_universal().method, **{name: _untrained(name) for name in BASELINES}}
    lines = [["dataset", *methods, *(f"{name} + {n_unlabelled} unlabelled" for name in methods)]]
    on_line(lines[0])
    values = []
    for dataset in datasets:
        draws = draw_episodes(dataset, n_draws, n_unlabelled, np.random.default_rng([0, len(dataset.y)]))
        values.append([mean_auc(method, draws, use) for use in (False, True) for method in methods.values()])
        lines.append([dataset.card.title, *(f"{value:.4f}" for value in values[-1])])
        on_line(lines[-1])
    lines.append(["Average", *(f"{value:.4f}" for value in np.mean(values, axis=0))])
    on_line(lines[-1])
    return lines


def _untrained(name: str) -> Method:
    method = find_method(name)
    return method(1, method.config_type())
