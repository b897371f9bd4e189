"""The rows of tasks."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oddshot.score.arrays import Array, namespace


class LabelledRows(NamedTuple):
    """Labelled rows of tasks: normal [..., n, M], anomaly [..., a, M]."""

    normal: Array
    anomaly: Array

    def joined(self) -> Array:
        """All rows, normal ones first: [..., n + a, M]."""
        return namespace(self.normal).concat([self.normal, self.anomaly], axis=-2)

    @property
    def n_normal(self) -> int:
        """Number of normal rows."""
        return int(self.normal.shape[-2])

    @property
    def n_anomaly(self) -> int:
        """Number of anomalies."""
        return int(self.anomaly.shape[-2])


def spaced(n: int, most: int) -> NDArray[np.int64]:
    """At most `most` of n places, evenly spaced."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.int64)
