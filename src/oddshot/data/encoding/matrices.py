"""The encoding of arrays of numbers, all columns at once: wide arrays would be slow column by column."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding.encoders import NumericColumn, Rows
from oddshot.data.encoding.fitting import ALL_MISSING, numeric_column
from oddshot.data.encoding.scaling import measure, standardise
from oddshot.data.tables.cells import LIMIT, Place
from oddshot.data.tables.frames import as_matrix
from oddshot.errors import InputError


def is_numeric(X: Any) -> bool:
    """Whether X is an array of real numbers."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "fiu"


def check_width(X: Any, width: int, where: str) -> None:
    """Refuse rows without column names that are not as wide as those of training."""
    found = as_matrix(X, where).shape[1]
    if found != width:
        raise InputError(f"{where} has {found} column{'s' * (found != 1)}, the model was trained on {width}")


def fit_matrices(matrices: Sequence[NDArray[Any]], where: Sequence[str]) -> tuple[list[str], list[NumericColumn | str]]:
    """Column names x0, x1, ... and the encoder of each, or why it is of no use; each matrix: [n, M]."""
    width = as_matrix(matrices[0], where[0]).shape[1]
    columns = [f"x{j}" for j in range(width)]
    for matrix, place in zip(matrices, where, strict=True):
        check_width(matrix, width, place)
        check_matrix(matrix, columns, place)
    moments = measure(matrices)
    found: list[NumericColumn | str] = [numeric_column(name, "number", moments, j) for j, name in enumerate(columns)]
    return columns, [one if moments.n_present[j] else ALL_MISSING for j, one in enumerate(found)]


def encode_matrix(encoders: Sequence[NumericColumn], X: NDArray[Any]) -> Rows:
    """X: [n, len(encoders)] numbers, NaN where missing, one column for each encoder. Returns [n, attributes]."""
    mean = np.array([encoder.mean for encoder in encoders])
    scale = np.array([encoder.scale for encoder in encoders])
    missing = np.array([encoder.missing for encoder in encoders], bool)
    scaled = np.empty(X.shape, np.float32)
    absent = standardise(np.asarray(X, np.float64), mean, scale, scaled)
    if not missing.any():
        return scaled
    rows = np.empty((len(X), len(encoders) + int(missing.sum())), np.float32)
    place = np.arange(len(encoders)) + np.cumsum(missing) - missing  # an indicator follows its value
    rows[:, place] = scaled
    rows[:, place[missing] + 1] = absent[:, missing]
    return rows


def check_matrix(X: NDArray[Any], columns: Sequence[str], where: str, first_row: int = 1) -> None:
    """Refuse infinities and numbers beyond LIMIT; X: [n, M], NaN allowed."""
    wrong = np.abs(np.asarray(X, np.float64)) > LIMIT
    if wrong.any():
        i, j = np.argwhere(wrong)[0].tolist()
        raise Place(where, columns[j], first_row).too_large(i, X[i, j].item())
