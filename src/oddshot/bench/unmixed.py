"""`oddshot bench unmixed`: the shipped model on tables that were not used in its training.

Each table is one task, with its rows in the units of its file. Each episode draws at random 5 normal rows and 1 anomaly
as the support, 25 normal rows and 5 anomalies as queries, and some of the other rows as unlabelled rows. As for a user,
columns are scaled by the rows that are given, never by the queries.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from oddshot.adapted.task import AdaptedTask
from oddshot.data.episodes.sampling import EpisodeSizes
from oddshot.data.sources.catalogue import Dataset
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED
from oddshot.methods import find_method
from oddshot.storage.model_file import DEFAULT_THRESHOLD, Model
from oddshot.universal.shipped import load_universal

SIZES = EpisodeSizes()
BASELINES = ("ridge+nearest", "catboost")
IS_ANOMALY = np.repeat([False, True], [SIZES.query_normal, SIZES.query_anomaly])  # of the queries

FloatArray = NDArray[np.float64]


class DrawnEpisode(NamedTuple):
    """Rows of a table: labelled ones, normal first, [6, M], unlabelled ones [u, M], queries, normal first, [30, M]."""

    support: FloatArray
    unlabelled: FloatArray
    query: FloatArray


def draw_episodes(dataset: Dataset, n_episodes: int, n_unlabelled: int, seed: Sequence[int]) -> list[DrawnEpisode]:
    """Draw episodes of a table; within an episode no row is drawn twice."""
    rng, X = np.random.default_rng(seed), np.asarray(dataset.X, dtype=np.float64)
    normal, anomaly = (np.flatnonzero(dataset.y == label) for label in (NORMAL, ANOMALY))
    episodes = []
    for _ in range(n_episodes):
        normal, anomaly = rng.permutation(normal), rng.permutation(anomaly)
        support = [normal[: SIZES.support_normal], anomaly[: SIZES.support_anomaly]]
        query = [normal[SIZES.support_normal : SIZES.normal], anomaly[SIZES.support_anomaly : SIZES.anomaly]]
        others = rng.permutation(np.concatenate([normal[SIZES.normal :], anomaly[SIZES.anomaly :]]))[:n_unlabelled]
        episodes.append(DrawnEpisode(X[np.concatenate(support)], X[others], X[np.concatenate(query)]))
    return episodes


def mean_auc(model: Model, episodes: Sequence[DrawnEpisode], n_unlabelled: int) -> float:
    """Mean AUC of the queries, ties as a half, with at most so many of the unlabelled rows."""
    aucs = []
    for support, unlabelled, query in episodes:
        given = np.concatenate([support, unlabelled[:n_unlabelled]])
        counts = [SIZES.support_normal, SIZES.support_anomaly, len(given) - len(support)]
        labels = np.repeat([NORMAL, ANOMALY, UNLABELLED], counts).astype(np.int8)
        task = AdaptedTask.from_table(model, given, labels)
        aucs.append(roc_auc_score(IS_ANOMALY, task.score_encoded(task.encode(query, "query"))))
    return float(np.mean(aucs))


def compare_methods(
    datasets: Iterable[Dataset], n_episodes: int, n_unlabelled: int, on_row: Callable[[list[str]], None]
) -> list[list[str]]:
    """A table of mean AUCs as rows of text: a header, one row for every dataset, and the averages.

    on_row: called with every row as soon as it is computed.
    """
    models = {"relative": load_universal(), **{name: untrained_model(name) for name in BASELINES}}
    rows = [["dataset", *models, *(f"{name} + {n_unlabelled} unlabelled" for name in models)]]
    on_row(rows[0])
    values = []
    for dataset in datasets:
        episodes = draw_episodes(dataset, n_episodes, n_unlabelled, [0, len(dataset.y)])
        values.append([mean_auc(model, episodes, n) for n in (0, n_unlabelled) for model in models.values()])
        rows.append([dataset.card.title, *(f"{value:.4f}" for value in values[-1])])
        on_row(rows[-1])
    rows.append(["Average", *(f"{value:.4f}" for value in np.mean(values, axis=0))])
    on_row(rows[-1])
    return rows


def untrained_model(name: str) -> Model:
    """A method without parameters, which takes rows of any width."""
    method = find_method(name)
    return Model(method(1, method.config_type()), None, DEFAULT_THRESHOLD, {})
