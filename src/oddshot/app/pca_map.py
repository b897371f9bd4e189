"""The map of the rows: two principal components, fitted once per table so that labels never move a row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class PcaMap:
    """The first two principal components of encoded rows. mean: [M], components: [M, 2], standard_deviation: [2]."""

    mean: FloatArray
    components: FloatArray
    standard_deviation: FloatArray

    def transform(self, rows: NDArray[np.float32]) -> FloatArray:
        """Coordinates of encoded rows on the map, in standard deviations: [n, M] -> [n, 2]."""
        out: FloatArray = (_compress(rows) - self.mean) @ self.components / self.standard_deviation
        return out


def fit_pca_map(rows: NDArray[np.float32]) -> PcaMap:
    """Fit the map to encoded rows, [n, M]; a table with one attribute is drawn on a line."""
    X = _compress(rows)
    mean = X.mean(0)
    _, eigenvectors = np.linalg.eigh((X - mean).T @ (X - mean))
    components = eigenvectors[:, ::-1][:, :2]
    if components.shape[1] == 1:
        components = np.column_stack([components, np.zeros(1)])
    # The sign of a component is arbitrary; its largest loading is made positive.
    components = components * np.where(components[np.abs(components).argmax(0), [0, 1]] < 0, -1.0, 1.0)
    deviation = ((X - mean) @ components).std(0)
    return PcaMap(mean, components, np.where(deviation > 0, deviation, 1.0))


def _compress(rows: NDArray[np.float32]) -> FloatArray:
    """asinh of the values, logarithmic for large ones: a few outliers must not fill the map."""
    return np.arcsinh(rows.astype(np.float64))
