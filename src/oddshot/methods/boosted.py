"""`catboost`, `xgboost`: gradient-boosted trees on the support, from packages that are not required."""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshot.errors import missing_package
from oddshot.methods.classical import FloatArray, PerTask, RowScorer, labelled
from oddshot.methods.contract import Score
from oddshot.methods.hyperparameters import require_at_least
from oddshot.score.arrays import Array
from oddshot.score.rows import LabelledRows


@dataclass(frozen=True)
class BoostedConfig:
    """Beyond the paper: 100 trees, both classes of equal weight in all."""

    trees: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        require_at_least(self, trees=1, seed=0)


class Boosted(PerTask):
    """Trees tell the labelled anomalies from the normal rows, and from the unlabelled ones where there are any."""

    config_type = BoostedConfig
    min_anomaly = 1
    uses_unlabelled = True

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """Fit every task. Unlabelled rows are taken as normal: most of them are."""
        if unlabelled is not None:
            support = LabelledRows(np.concatenate([support.normal, unlabelled], axis=-2), support.anomaly)
        return super().adapt(support)


class CatBoost(Boosted):
    """Prokhorenkova et al., 2018."""

    name = "catboost"

    def fit_task(self, normal: FloatArray, anomaly: FloatArray, seed: int) -> RowScorer:
        """The logit of the probability of an anomaly."""
        model = _package(self.name).CatBoostClassifier(
            iterations=self.config.trees,
            auto_class_weights="Balanced",
            random_seed=seed % 2**31,
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
        )
        X, y = labelled(normal, anomaly)
        if (X[0] == X).all():  # nothing to split on, which CatBoost takes for an error
            return lambda x: np.zeros(len(x))
        model.fit(X, y)
        return lambda x: model.predict(x, prediction_type="RawFormulaVal", thread_count=1)


class XGBoost(Boosted):
    """Chen & Guestrin, 2016."""

    name = "xgboost"

    def fit_task(self, normal: FloatArray, anomaly: FloatArray, seed: int) -> RowScorer:
        """The logit of the probability of an anomaly."""
        model = _package(self.name).XGBClassifier(
            n_estimators=self.config.trees,
            tree_method="exact",  # splits halfway between two rows, where histograms split at one of them
            min_child_weight=0,  # by default a leaf needs a weight that a handful of rows cannot have
            random_state=seed % 2**31,
            n_jobs=1,
        )
        X, y = labelled(normal, anomaly)
        model.fit(X, y, sample_weight=len(y) / (2 * np.bincount(y))[y])
        return lambda x: model.predict(x, output_margin=True)


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing_package(f"method {name!r}", name, name) from None
