"""A task: one machine, site or customer, with its rows and labels."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.errors import InputError

NORMAL, ANOMALY, UNLABELLED = 0, 1, -1


@dataclass(frozen=True)
class Task:
    """Rows of one task and their labels.

    name: how messages call it. X: [n, M], an array of numbers or a table (pandas, polars, Arrow) with named columns of
    any kind. y: [n], 1 = anomaly, 0 = normal, -1 = unlabelled.
    """

    name: str
    X: Any
    y: NDArray[np.int8] = field(repr=False)

    def __post_init__(self) -> None:
        y = np.asarray(self.y)
        if y.ndim != 1 or len(y) != len(self.X):
            raise InputError(f"task {self.name!r}: {len(self.X)} rows but labels of shape {y.shape}")
        if not np.isin(y, (NORMAL, ANOMALY, UNLABELLED)).all():
            wrong = y[~np.isin(y, (NORMAL, ANOMALY, UNLABELLED))][0]
            raise InputError(
                f"task {self.name!r}: label {wrong!r}; labels are 1 (anomaly), 0 (normal), -1 (unlabelled)"
            )
        object.__setattr__(self, "y", y.astype(np.int8))
