"""A task: one machine, site or customer, with its rows and labels."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.errors import InputError

NORMAL, ANOMALY, UNLABELLED = 0, 1, -1


@dataclass(frozen=True)
class Task:
    """The rows of one task and their labels.

    Parameters
    ----------
    name : str
        The name of the task in messages.
    X : array or table of shape (n, M)
        An array of numbers, or a pandas, polars or Arrow table whose named columns may be of any kind.
    y : array-like of shape (n,)
        1 for an anomaly, 0 for a normal row, -1 for an unlabelled row; stored as int8.

    Raises
    ------
    InputError
        If the number of labels is not that of the rows, or a label is not 1, 0 or -1.

    Examples
    --------
    >>> from oddshot import Task
    >>> task = Task("press 1", [[0.1], [0.2], [9.0]], [0, -1, 1])
    >>> task.y
    array([ 0, -1,  1], dtype=int8)
    """

    name: str
    X: Any
    y: NDArray[np.int8] = field(repr=False)

    def __post_init__(self) -> None:
        y = np.asarray(self.y)
        if y.ndim != 1 or len(y) != len(self.X):
            raise InputError(f"task {self.name!r}: {len(self.X)} rows but labels of shape {y.shape}")
        is_label = np.isin(y, (NORMAL, ANOMALY, UNLABELLED))
        if not is_label.all():
            wrong = y[~is_label][0]
            raise InputError(
                f"task {self.name!r}: label {wrong!r}; labels are 1 (anomaly), 0 (normal), -1 (unlabelled)"
            )
        object.__setattr__(self, "y", y.astype(np.int8))
