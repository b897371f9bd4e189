"""Simple methods beside the detector: each sees the rows and labels that the detector sees, and nothing else."""

import functools
import importlib
import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from oddshot.bench.field.episodes import FieldEpisode
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

OPPONENTS_VERSION = 1
"""To be increased whenever a simple method gives other scores: their stored results are then computed again."""

N_NEIGHBOURS = 10
N_TREES = 100
N_CATBOOST_BORDERS = 32  # with 254, the default, a table of 259 columns takes five seconds a draw


@dataclass(frozen=True)
class ScaledEpisode:
    """An episode with columns scaled by the rows given to fit: mean 0, standard deviation 1, constant columns as 0.

    normal: [a, M], anomaly: [b, M] and unlabelled: [u, M] were given; scored: [q, M] are to be ranked. own: [q], the
    place of each scored row among the unlabelled rows, or None where it was not given.
    """

    normal: FloatArray
    anomaly: FloatArray
    unlabelled: FloatArray
    scored: FloatArray
    own: IntArray | None

    @property
    def background(self) -> FloatArray:
        """Rows that are normal, or probably so: [u + a, M], the unlabelled ones first."""
        return np.concatenate([self.unlabelled, self.normal])

    @functools.cached_property
    def knn_distances(self) -> FloatArray:
        """Mean distance of each scored row to its ten nearest rows of the background, itself left out, [q]."""
        n_others = len(self.background) - (self.own is not None)
        k = min(N_NEIGHBOURS, n_others)
        n_found = k + (self.own is not None)
        search = NearestNeighbors(n_neighbors=n_found, algorithm="brute").fit(self.background)
        distances, neighbours = search.kneighbors(self.scored)
        if self.own is not None:
            is_self = neighbours == self.own[:, None]
            is_self[~is_self.any(1), -1] = True  # the row is hidden behind duplicates of itself at the same distance
            distances = distances[~is_self].reshape(len(self.scored), k)
        mean: FloatArray = distances.mean(1)
        return mean

    @property
    def labelled(self) -> tuple[FloatArray, IntArray]:
        """Labelled rows and their labels."""
        labels = np.repeat([NORMAL, ANOMALY], [len(self.normal), len(self.anomaly)])
        return np.concatenate([self.normal, self.anomaly]), labels.astype(np.int64)

    @property
    def all_labelled(self) -> tuple[FloatArray, IntArray]:
        """All rows given and their labels, unlabelled rows as normal."""
        labels = np.repeat([NORMAL, ANOMALY], [len(self.background), len(self.anomaly)])
        return np.concatenate([self.background, self.anomaly]), labels.astype(np.int64)


def scale_episode(episode: FieldEpisode) -> ScaledEpisode:
    """Scale the columns by the rows given to fit; the rows to be scored are not looked at."""
    mean, spread = episode.X.mean(0), episode.X.std(0)
    constant = spread <= 1e-12 * np.abs(episode.X).max(0)  # rounding gives large constants a spread above 0
    spread = np.where(constant, 1.0, spread)
    X, labels = (episode.X - mean) / spread, episode.labels
    own = None
    if episode.positions is not None:
        place = np.cumsum(labels == UNLABELLED) - 1
        own = place[episode.positions]
    return ScaledEpisode(
        X[labels == NORMAL], X[labels == ANOMALY], X[labels == UNLABELLED], (episode.scored - mean) / spread, own
    )


def nearest_normal(episode: ScaledEpisode) -> FloatArray:
    """Distance to the nearest labelled normal row, [q]."""
    nearest: FloatArray = cdist(episode.scored, episode.normal).min(1)
    return nearest


def background_knn(episode: ScaledEpisode) -> FloatArray:
    """Mean distance to the ten nearest rows of the background, of which a row itself is none, [q]."""
    return episode.knn_distances


def ridge(episode: ScaledEpisode) -> FloatArray:
    """Ridge regression on the centred labelled rows, λ the mean diagonal of their Gram matrix, [q]."""
    rows, labels = episode.labelled
    mean = rows.mean(0)
    Z = rows - mean
    gram = Z @ Z.T
    penalty = np.trace(gram) / len(gram) or 1.0
    weights = np.linalg.solve(gram + penalty * np.eye(len(gram)), labels - labels.mean())
    predicted: FloatArray = (episode.scored - mean) @ (Z.T @ weights)
    return predicted


def ridge_nearest(episode: ScaledEpisode) -> FloatArray:
    """Ridge and the nearest normal row, each divided by its standard deviation over the scored rows."""
    return _standardised(ridge(episode)) + _standardised(nearest_normal(episode))


def ridge_knn(episode: ScaledEpisode) -> FloatArray:
    """Ridge and kNN over the background, each divided by its standard deviation over the scored rows."""
    return _standardised(ridge(episode)) + _standardised(background_knn(episode))


def _standardised(scores: FloatArray) -> FloatArray:
    return scores / (scores.std() or 1.0)


def logistic_regression(episode: ScaledEpisode) -> FloatArray:
    """Logistic regression on the labelled rows: its log-odds."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=1000).fit(*episode.labelled)
    odds: FloatArray = model.decision_function(episode.scored)
    return odds


def random_forest(episode: ScaledEpisode) -> FloatArray:
    """Random forest on the labelled rows."""
    from sklearn.ensemble import RandomForestClassifier

    return _anomaly_share(RandomForestClassifier(N_TREES, random_state=0, n_jobs=1), episode.labelled, episode)


def extra_trees(episode: ScaledEpisode) -> FloatArray:
    """ExtraTrees on the labelled rows."""
    from sklearn.ensemble import ExtraTreesClassifier

    return _anomaly_share(ExtraTreesClassifier(N_TREES, random_state=0, n_jobs=1), episode.labelled, episode)


def extra_trees_background(episode: ScaledEpisode) -> FloatArray:
    """ExtraTrees on all rows given, unlabelled ones as normal, classes balanced."""
    from sklearn.ensemble import ExtraTreesClassifier

    forest = ExtraTreesClassifier(N_TREES, random_state=0, n_jobs=1, class_weight="balanced")
    return _anomaly_share(forest, episode.all_labelled, episode)


def catboost(episode: ScaledEpisode) -> FloatArray:
    """CatBoost on all rows given, unlabelled ones as normal, classes balanced."""
    CatBoostClassifier = importlib.import_module("catboost").CatBoostClassifier

    rows, labels = episode.all_labelled
    if (rows[0] == rows).all():  # nothing to split on, which CatBoost takes for an error
        return np.zeros(len(episode.scored))
    model = CatBoostClassifier(
        iterations=N_TREES, border_count=N_CATBOOST_BORDERS, auto_class_weights="Balanced", random_seed=0,
        thread_count=1, verbose=False, allow_writing_files=False,
    )  # fmt: skip
    return _anomaly_share(model, (rows, labels), episode)


def isolation_forest(episode: ScaledEpisode) -> FloatArray:
    """Isolation forest on the background."""
    from sklearn.ensemble import IsolationForest

    forest = IsolationForest(n_estimators=N_TREES, random_state=0, n_jobs=1).fit(episode.background)
    scores: FloatArray = -forest.score_samples(_in_float32(episode.scored))
    return scores


def _anomaly_share(model: object, training: tuple[FloatArray, IntArray], episode: ScaledEpisode) -> FloatArray:
    """Probability of an anomaly by a classifier with fit and predict_proba."""
    model.fit(*training)  # type: ignore[attr-defined]
    shares: FloatArray = model.predict_proba(_in_float32(episode.scored))[:, 1]  # type: ignore[attr-defined]
    return shares


def _in_float32(rows: FloatArray) -> FloatArray:
    """Rows with values that forests can take; a column that hardly varies among the rows given gives larger ones."""
    limit = float(np.finfo(np.float32).max)
    return np.clip(rows, -limit, limit)


@dataclass(frozen=True)
class Opponent:
    """A simple method.

    needs_anomaly: left out where no anomaly is labelled. needs_unlabelled: left out where there are no unlabelled rows
    apart from the rows to be ranked.
    """

    name: str
    score: Callable[[ScaledEpisode], FloatArray]
    needs_anomaly: bool = False
    needs_unlabelled: bool = False


OPPONENTS = {
    opponent.name: opponent
    for opponent in (
        Opponent("nearest normal", nearest_normal),
        Opponent("kNN", background_knn),
        Opponent("ridge + nearest", ridge_nearest, needs_anomaly=True),
        Opponent("ridge + kNN", ridge_knn, needs_anomaly=True),
        Opponent("logistic regression", logistic_regression, needs_anomaly=True),
        Opponent("random forest", random_forest, needs_anomaly=True),
        Opponent("ExtraTrees", extra_trees, needs_anomaly=True),
        Opponent("ExtraTrees + unlabelled", extra_trees_background, needs_anomaly=True, needs_unlabelled=True),
        Opponent("CatBoost", catboost, needs_anomaly=True),
        Opponent("isolation forest", isolation_forest),
    )
}


def installed_opponents() -> list[str]:
    """Names of all simple methods; CatBoost only where it is installed."""
    has_catboost = importlib.util.find_spec("catboost") is not None
    return [name for name in OPPONENTS if name != "CatBoost" or has_catboost]


def score_opponent(name: str, episode: ScaledEpisode) -> FloatArray:
    """Anomaly scores of a simple method, [q]."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return OPPONENTS[name].score(episode)
