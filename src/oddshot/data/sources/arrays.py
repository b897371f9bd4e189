"""The rows and labels of a dataset as its reader returns them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class DatasetArrays(NamedTuple):
    """X: [n, M]. y: [n], 1 = anomaly, 0 = normal.

    task: [n], an index into task_names, or None if all rows are one task. task_names: empty if the file has none.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int8]
    task: NDArray[np.int64] | None = None
    task_names: tuple[str, ...] = ()
