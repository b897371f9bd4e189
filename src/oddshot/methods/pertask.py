"""What the methods without training share: a model of another library, fitted on the support of one task at a time."""

import zlib
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.methods.contract import Method, LabelledRows, ScoreFunction
from oddshot.methods.settings import require_at_least, require_one_of

Array = NDArray[np.float64]
RowScores = Callable[[Array], Array]  # rows [N, M] -> scores [N]


@dataclass(frozen=True)
class ClassicalConfig:
    """defaults: those of scikit-learn before 0.22, with which the paper's Table 1 was made, or today's."""

    defaults: Literal["paper", "modern"] = "paper"
    seed: int = 0

    def __post_init__(self) -> None:
        require_one_of(self, "defaults", ("paper", "modern"))
        require_at_least(self, seed=0)


class PerTask(Method):
    """Fits each task of each replica by itself. No parameters."""

    config_type: ClassVar[type] = ClassicalConfig
    least_normal: ClassVar[int] = 1
    least_anomaly: ClassVar[int] = 0

    def __init__(self, n_attributes: int, config: Any, replicas: int = 1) -> None:
        super().__init__(n_attributes, config, replicas)

    @abstractmethod
    def fit_task(self, normal: Array, anomaly: Array, seed: int) -> RowScores:
        """The scores of one task, higher = more anomalous. normal: [N_N, M], anomaly: [N_A, M]."""

    def adapt(self, support: LabelledRows) -> ScoreFunction:
        """Fit every task."""
        self.check_support(support, normal=self.least_normal, anomaly=self.least_anomaly)
        tasks = zip(*(_arrays(part) for part in support), strict=True)
        return PerTaskScore([self._fit(*rows) for rows in tasks])

    def _fit(self, normal: Array, anomaly: Array) -> RowScores:
        # In a fixed order and with a seed from the rows themselves, a task has the same scores wherever it is met.
        normal, anomaly = _sorted(normal), _sorted(anomaly)
        return self.fit_task(normal, anomaly, zlib.crc32(normal.tobytes(), self.config.seed))


@dataclass(frozen=True)
class PerTaskScore:
    """Score function of fitted tasks, all those of the first replica first."""

    fitted: list[RowScores]

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M]. Returns [R, T, N] in float64."""
        if x.numel() == 0:
            return x.new_empty(x.shape[:3], dtype=torch.float64)
        scores = np.stack([score(rows) for score, rows in zip(self.fitted, _arrays(x), strict=True)])
        return torch.from_numpy(scores.astype(np.float64)).to(x.device).reshape(x.shape[:3])


def labelled(normal: Array, anomaly: Array) -> tuple[Array, NDArray[np.int64]]:
    """LabelledRows and labels as scikit-learn's classifiers take them: X [N_N + N_A, M], y."""
    return np.concatenate([normal, anomaly]), np.repeat([0, 1], [len(normal), len(anomaly)])


def _arrays(rows: Tensor) -> Array:
    """[R, T, N, M] -> [R T, N, M]."""
    return rows.detach().flatten(0, 1).double().cpu().numpy()


def _sorted(rows: Array) -> Array:
    """LabelledRows in lexicographic order."""
    return rows[np.lexsort(rows.T[::-1])]
