"""The labels that a person has given to rows."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from oddshot.data.task import ANOMALY, NORMAL

LABEL_NAMES = {NORMAL: "normal", ANOMALY: "anomaly"}


class Labels:
    """Labels of some rows of a table, 0 or 1 by row, counted from 0."""

    def __init__(self, labels: Mapping[int, int]) -> None:
        self._labels = labels

    def __len__(self) -> int:
        return len(self._labels)

    def get(self, row: int) -> int | None:
        """The label of a row, 0 or 1; None if it has none."""
        return self._labels.get(row)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The labelled rows in ascending order, [m]."""
        return np.array(sorted(self._labels), np.int64)

    @property
    def values(self) -> NDArray[np.int8]:
        """The labels of these rows, [m]."""
        return np.array([self._labels[row] for row in sorted(self._labels)], np.int8)

    def count(self, label: int) -> int:
        """The number of rows with this label."""
        return sum(value == label for value in self._labels.values())
