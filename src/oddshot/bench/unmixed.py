"""`oddshot bench unmixed`: the shipped model on tables that were not used in its training.

Each table is one task: its columns are z-scored over all rows and not mixed. Each episode draws at random 5 normal rows
and 1 anomaly as the support, 25 normal rows and 5 anomalies as queries, and some of the other rows as unlabelled rows.
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
MAX_EPISODES_PER_CHUNK = 10  # scored at a time, which bounds the memory
BASELINES = ("ridge+nearest", "catboost")


class DrawnEpisodes(NamedTuple):
    """T episodes of one table as T tasks. support, query: [1, T, ...], unlabelled: [1, T, n_unlabelled, M]."""

    support: LabelledRows
    query: LabelledRows
    unlabelled: Tensor


def draw_episodes(dataset: Dataset, n_episodes: int, n_unlabelled: int, rng: np.random.Generator) -> DrawnEpisodes:
    """Draw episodes of a table; within an episode no row is drawn twice."""
    X = z_score(np.asarray(dataset.X, dtype=np.float64)).astype(np.float32)
    groups = [
        (np.flatnonzero(dataset.y == NORMAL), SIZES.normal),
        (np.flatnonzero(dataset.y == ANOMALY), SIZES.anomaly),
    ]
    drawn = []
    for _ in range(n_episodes):
        shuffled = [(rng.permutation(rows), size) for rows, size in groups]
        others = rng.permutation(np.concatenate([rows[size:] for rows, size in shuffled]))[:n_unlabelled]
        drawn.append(np.concatenate([*(rows[:size] for rows, size in shuffled), others]))
    rows = torch.from_numpy(X[np.stack(drawn)]).unsqueeze(0)
    n_labelled = SIZES.normal + SIZES.anomaly
    normals, anomalies = rows[:, :, : SIZES.normal], rows[:, :, SIZES.normal : n_labelled]
    return DrawnEpisodes(
        LabelledRows(normals[:, :, : SIZES.support_normal], anomalies[:, :, : SIZES.support_anomaly]),
        LabelledRows(normals[:, :, SIZES.support_normal :], anomalies[:, :, SIZES.support_anomaly :]),
        rows[:, :, n_labelled:],
    )


@torch.no_grad()
def mean_auc(method: Method, episodes: DrawnEpisodes, use_unlabelled: bool) -> float:
    """Mean AUC over all episodes, with ties as a half."""
    aucs = []
    for start in range(0, episodes.unlabelled.shape[1], MAX_EPISODES_PER_CHUNK):
        chunk = slice(start, start + MAX_EPISODES_PER_CHUNK)
        support, query = (
            LabelledRows(rows.normal[:, chunk], rows.anomaly[:, chunk]) for rows in (episodes.support, episodes.query)
        )
        score = method.adapt(support, episodes.unlabelled[:, chunk] if use_unlabelled else None)
        aucs.append(exact_auc(score(query.normal), score(query.anomaly)))
    return float(torch.cat(aucs, dim=1).mean())


def compare_methods(
    datasets: Iterable[Dataset], n_episodes: int, n_unlabelled: int, on_row: Callable[[list[str]], None]
) -> list[list[str]]:
    """A table of mean AUCs as rows of text: a header, one row for every dataset, and the averages.

    on_row: called with every row as soon as it is computed.
    """
    methods = {"relative": load_universal().method, **{name: _make_untrained(name) for name in BASELINES}}
    rows = [["dataset", *methods, *(f"{name} + {n_unlabelled} unlabelled" for name in methods)]]
    on_row(rows[0])
    values = []
    for dataset in datasets:
        episodes = draw_episodes(dataset, n_episodes, n_unlabelled, np.random.default_rng([0, len(dataset.y)]))
        values.append([mean_auc(method, episodes, use) for use in (False, True) for method in methods.values()])
        rows.append([dataset.card.title, *(f"{value:.4f}" for value in values[-1])])
        on_row(rows[-1])
    rows.append(["Average", *(f"{value:.4f}" for value in np.mean(values, axis=0))])
    on_row(rows[-1])
    return rows


def _make_untrained(name: str) -> Method:
    """A method without parameters, which takes rows of any width."""
    method_type = find_method(name)
    return method_type(1, method_type.config_type())
