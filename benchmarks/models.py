"""Models that are ready to adapt. Their weights are random: speed does not depend on what was learned."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from oddshot.data.encoding import Encoding
from oddshot.detector import FewShotDetector
from oddshot.methods.contract import LabelledRows
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.storage.model_file import DEFAULT_THRESHOLD, Model

M = 21
NAMES = [f"x{j}" for j in range(M)]  # of the columns, where they have names


def untrained_model(n_attributes: int = M, **settings: Any) -> Model:
    """The proposed method with the paper's networks, for standardised attributes."""
    rng = np.random.default_rng(0)
    method = Eigen(n_attributes, EigenConfig(**settings))
    method.initialise([torch.Generator().manual_seed(0)])
    rows = torch.from_numpy(rng.normal(size=(1, 8, 6, n_attributes)).astype(np.float32))
    method.fix_center(LabelledRows(rows[:, :, :5], rows[:, :, 5:]), rows)
    return Model(method.eval(), Encoding.fit([rng.normal(size=(1000, n_attributes))]), DEFAULT_THRESHOLD)


def support(n: int = 6, n_attributes: int = M) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """n labelled rows, a sixth of them anomalies."""
    y = (np.arange(n) % 6 == 5).astype(np.int8)
    return np.random.default_rng(1).normal(size=(n, n_attributes)) + 3 * y[:, None], y


def fitted_detector() -> FewShotDetector:
    """Adapted to five normal rows and an anomaly."""
    return FewShotDetector(untrained_model()).fit(*support())
