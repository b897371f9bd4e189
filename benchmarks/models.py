"""Models that are ready to adapt. Their weights are random: speed does not depend on what was learned."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding import Encoding
from oddshot.detector import FewShotDetector
from oddshot.methods.contract import Method
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.score.rows import LabelledRows
from oddshot.storage.model_file import DEFAULT_THRESHOLD, Model

M = 21
NAMES = [f"x{j}" for j in range(M)]  # of the columns, where they have names

SomeMethod = TypeVar("SomeMethod", bound=Method)


def untrained(kind: type[SomeMethod], n_attributes: int, config: object) -> SomeMethod:
    """A method with random weights."""
    rng = np.random.default_rng(0)
    weights: dict[str, NDArray[np.float32]] = {}
    for name, weight in kind.weights_of(n_attributes, config).items():
        if isinstance(weight.start, str):
            values = rng.uniform(-1, 1, weight.shape) / max(weight.fan_in, 1) ** 0.5
        else:
            values = np.full(weight.shape, weight.start)
        weights[name] = values.astype(np.float32)
    return kind(n_attributes, config, weights)


def untrained_model(n_attributes: int = M, **settings: Any) -> Model:
    """The proposed method with the paper's networks, for standardised attributes."""
    rng = np.random.default_rng(0)
    method = untrained(Eigen, n_attributes, EigenConfig(**settings))
    rows = rng.normal(size=(8, 6, n_attributes)).astype(np.float32)
    method.weights["center"] = method.center_of(LabelledRows(rows[:, :5], rows[:, 5:]), rows)
    return Model(method, Encoding.fit([rng.normal(size=(1000, n_attributes))]), DEFAULT_THRESHOLD)


def support(n: int = 6, n_attributes: int = M) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """n labelled rows, a sixth of them anomalies."""
    y = (np.arange(n) % 6 == 5).astype(np.int8)
    return np.random.default_rng(1).normal(size=(n, n_attributes)) + 3 * y[:, None], y


def fitted_detector() -> FewShotDetector:
    """Adapted to five normal rows and an anomaly."""
    return FewShotDetector(untrained_model()).fit(*support())
