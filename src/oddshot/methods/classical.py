"""`osvm`, `if`, `lof`, `lr`, `knn`, `rf`: scikit-learn's detectors and classifiers, fitted on one support at a time."""

import math
import zlib
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from oddshot.methods.contract import Method, Score
from oddshot.methods.hyperparameters import require_at_least, require_one_of
from oddshot.methods.random_forest import fit_random_forest
from oddshot.score.arrays import Array
from oddshot.score.rows import LabelledRows

FloatArray = NDArray[np.float64]
RowScorer = Callable[[FloatArray], FloatArray]  # rows [N, M] -> scores [N]


@dataclass(frozen=True)
class ClassicalConfig:
    """defaults: those of scikit-learn before 0.22, with which the paper's Table 1 was made, or today's."""

    defaults: Literal["paper", "modern"] = "paper"
    seed: int = 0

    def __post_init__(self) -> None:
        require_one_of(self, "defaults", ("paper", "modern"))
        require_at_least(self, seed=0)


class PerTask(Method):
    """A model of another library, fitted for each task of each replica by itself. No parameters."""

    config_type: ClassVar[type] = ClassicalConfig
    min_normal: ClassVar[int] = 1
    min_anomaly: ClassVar[int] = 0

    @abstractmethod
    def fit_task(self, normal: FloatArray, anomaly: FloatArray, seed: int) -> RowScorer:
        """The scores of one task, higher = more anomalous. normal: [N_N, M], anomaly: [N_A, M]."""

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """Fit every task."""
        self.check_support(support, normal=self.min_normal, anomaly=self.min_anomaly)
        tasks = zip(*(_of_tasks(part) for part in support), strict=True)
        return PerTaskScore([self._fit(*rows) for rows in tasks])

    def _fit(self, normal: FloatArray, anomaly: FloatArray) -> RowScorer:
        # In a fixed order and with a seed from the rows themselves, a task has the same scores in every batch.
        normal, anomaly = _sorted(normal), _sorted(anomaly)
        return self.fit_task(normal, anomaly, zlib.crc32(normal.tobytes(), self.config.seed))


@dataclass(frozen=True)
class PerTaskScore(Score):
    """Scores of fitted tasks, in the order of their leading dimensions."""

    fitted: list[RowScorer]

    def __call__(self, x: Array) -> Array:
        """x: [..., n, M] -> [..., n] in float64."""
        if x.size == 0:
            return np.empty(x.shape[:-1])
        scores = np.stack([score(rows) for score, rows in zip(self.fitted, _of_tasks(x), strict=True)])
        return scores.astype(np.float64).reshape(x.shape[:-1])


class OSVM(PerTask):
    """One-class SVM (Schölkopf et al., 2001). paper: γ = 1 / M; modern: γ = 1 / (M · variance of the support)."""

    name = "osvm"

    def fit_task(self, normal: FloatArray, anomaly: FloatArray, seed: int) -> RowScorer:
        """Minus the decision function."""
        from sklearn.svm import OneClassSVM

        model = OneClassSVM(gamma="auto" if self.config.defaults == "paper" else "scale").fit(normal)
        return lambda x: -model.decision_function(x)


class IF(PerTask):
    """Isolation forest (Liu et al., 2008). Both defaults are 100 trees; the old contamination of 0.1 moved all scores
    alike and is left out."""

    name = "if"
    min_normal = 2

    def fit_task(self, normal: FloatArray, anomaly: FloatArray, seed: int) -> RowScorer:
        """Minus the score of scikit-learn, whose normal rows score high."""
        from sklearn.ensemble import IsolationForest

        model = IsolationForest(random_state=seed).fit(normal)
        return lambda x: -model.score_samples(x)


class LOF(PerTask):
    """Local outlier factor (Breunig et al., 2000). Both defaults are 20 neighbours, or all there are (4 for 5 rows);
    the old contamination changed no order."""

    name = "lof"
    min_normal = 2

    def fit_task(self, normal: FloatArray, anomaly: FloatArray, seed: int) -> RowScorer:
        """The local outlier factor of a new row."""
        from sklearn.neighbors import LocalOutlierFactor

        model = LocalOutlierFactor(n_neighbors=min(20, len(normal) - 1), novelty=True).fit(normal)
        return lambda x: -model.score_samples(x)


class LR(PerTask):
    """Logistic regression. paper: liblinear, which shrinks the intercept too; modern: L-BFGS, which does not."""

    name = "lr"
    min_anomaly = 1

    def fit_task(self, normal: FloatArray, anomaly: FloatArray, seed: int) -> RowScorer:
        """The logit of the probability of an anomaly."""
        from sklearn.linear_model import LogisticRegression

        solver = "liblinear" if self.config.defaults == "paper" else "lbfgs"
        model = LogisticRegression(solver=solver, random_state=seed).fit(*labelled(normal, anomaly))
        return lambda x: model.decision_function(x)


class KNN(PerTask):
    """The label of the nearest support row: one neighbour, as the paper sets it, so scores are 0 or 1."""

    name = "knn"
    min_anomaly = 1

    def fit_task(self, normal: FloatArray, anomaly: FloatArray, seed: int) -> RowScorer:
        """1 where an anomaly is nearest."""
        from sklearn.neighbors import KNeighborsClassifier

        model = KNeighborsClassifier(n_neighbors=1).fit(*labelled(normal, anomaly))
        return lambda x: model.predict_proba(x)[:, 1]


class RF(PerTask):
    """Random forest (Breiman, 2001). paper: 10 trees; modern: 100."""

    name = "rf"
    min_anomaly = 1

    def fit_task(self, normal: FloatArray, anomaly: FloatArray, seed: int) -> RowScorer:
        """The mean over trees of the probability of an anomaly."""
        n_trees = 10 if self.config.defaults == "paper" else 100
        return fit_random_forest(*labelled(normal, anomaly), n_trees, seed)


def labelled(normal: FloatArray, anomaly: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """Rows and labels as scikit-learn's classifiers take them: X [N_N + N_A, M], y [N_N + N_A]."""
    return np.concatenate([normal, anomaly]), np.repeat([0, 1], [len(normal), len(anomaly)])


def _of_tasks(rows: Array) -> FloatArray:
    """[..., n, M] -> [tasks, n, M]."""
    return np.asarray(rows, np.float64).reshape(math.prod(rows.shape[:-2]), *rows.shape[-2:])


def _sorted(rows: FloatArray) -> FloatArray:
    """Rows in lexicographic order."""
    return rows[np.lexsort(rows.T[::-1])]
