"""The map: rows brought to a plane, once for a table, so that labels recolour it but never move it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oddshot.app.sheet import Rows


@dataclass(frozen=True)
class Plane:
    """The two directions in which rows differ most. center: [M], directions: [M, 2], spread: [2]."""

    center: NDArray[np.float64]
    directions: NDArray[np.float64]
    spread: NDArray[np.float64]

    def place(self, rows: Rows) -> NDArray[np.float64]:
        """[n, M] -> [n, 2], within about ±3."""
        out: NDArray[np.float64] = (_drawn_in(rows) - self.center) @ self.directions / self.spread
        return out


def fit_plane(rows: Rows) -> Plane:
    """Principal components of encoded rows, [n, M], far values drawn in so that a few outliers do not fill the map."""
    X = _drawn_in(rows)
    center = X.mean(0)
    _, vectors = np.linalg.eigh((X - center).T @ (X - center))
    directions = vectors[:, ::-1][:, :2]
    if directions.shape[1] == 1:  # a table with one attribute: a line
        directions = np.column_stack([directions, np.zeros(1)])
    directions = directions * np.where(directions[np.abs(directions).argmax(0), [0, 1]] < 0, -1.0, 1.0)
    spread = ((X - center) @ directions).std(0)
    return Plane(center, directions, np.where(spread > 0, spread, 1.0))


def _drawn_in(rows: Rows) -> NDArray[np.float64]:
    return np.arcsinh(rows.astype(np.float64))
