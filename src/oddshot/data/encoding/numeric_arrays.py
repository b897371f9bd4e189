"""Encode arrays of numbers, all columns at once: column by column, wide arrays would be slow."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding.column_encoder import ALL_MISSING
from oddshot.data.encoding.numeric_column import NumericColumn, warn_of_distant_numbers
from oddshot.data.encoding.scaling import compute_robust_moments, deviation_from_constant, standardise
from oddshot.data.tables.columns import MAX_MAGNITUDE, CellLocation, RowNumbers
from oddshot.data.tables.conversion import as_matrix
from oddshot.data.tables.skipped_cells import SkippedCells
from oddshot.errors import InputError

_BLOCK_NUMBERS = 1 << 14  # scaled at a time, which stay in the processor's cache


def is_numeric_array(X: Any) -> bool:
    """Return whether X is an array of real numbers."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "fiu"


def check_width(X: Any, width: int, where: str) -> None:
    """Refuse rows without column names that have another number of columns than those of training."""
    found = as_matrix(X, where).shape[1]
    if found != width:
        raise InputError(f"{where} has {found} column{'s' * (found != 1)}, the model was trained on {width}")


def fit_arrays(
    arrays: Sequence[NDArray[Any]], where: Sequence[str], row_numbers: Sequence[RowNumbers]
) -> tuple[list[str], list[NumericColumn | str]]:
    """Return the column names x0, x1, ... and the encoder of each, or why it is of no use; each array: [n, M]."""
    width = as_matrix(arrays[0], where[0]).shape[1]
    columns = [f"x{j}" for j in range(width)]
    for array, array_name, numbers in zip(arrays, where, row_numbers, strict=True):
        check_width(array, width, array_name)
        check_magnitudes(array, columns, array_name, numbers)
    moments = compute_robust_moments(arrays)
    encoders = [NumericColumn.from_moments(name, "number", moments, j) for j, name in enumerate(columns)]
    farthest = moments.limit * moments.scale
    is_distant = np.any([(np.abs(array - moments.mean) > farthest).any(axis=0) for array in arrays], axis=0)
    for j in np.flatnonzero(is_distant).tolist():
        warn_of_distant_numbers(encoders[j], [array[:, j] for array in arrays], CellLocation(where[0], columns[j]))
    return columns, [encoder if moments.n_present[j] else ALL_MISSING for j, encoder in enumerate(encoders)]


def encode_array(
    encoders: Sequence[NumericColumn], X: NDArray[Any], skipped: SkippedCells | None = None
) -> NDArray[np.float32]:
    """Encode X: [n, len(encoders)] numbers, NaN where missing, one column per encoder. Returns [n, n_attributes].

    skipped: gathers how many cells are missing in columns that had all values before.
    """
    mean = np.array([encoder.mean for encoder in encoders])
    scale = np.array([encoder.scale for encoder in encoders])
    has_indicator = np.array([encoder.missing for encoder in encoders], bool)
    scaled, missing = np.empty(X.shape, np.float32), np.empty(X.shape, bool)
    step = min(max(_BLOCK_NUMBERS // max(X.shape[1], 1), 1), len(X))
    means, scales = np.tile(mean, step), np.tile(scale, step)  # a block is one long row, for which NumPy is faster
    for top in range(0, len(X), step or 1):
        values = np.asarray(X[top : top + step], np.float64).reshape(-1)
        block, n = slice(top, top + step), len(values)
        missing[block].reshape(-1)[:] = standardise(values, means[:n], scales[:n], scaled[block].reshape(-1))
    constant = np.array([encoder.constant for encoder in encoders], bool)
    if constant.any():
        beside = np.empty((len(X), int(constant.sum())), np.float32)
        rounding = np.array([encoder.rounding for encoder in encoders])[constant]
        deviation_from_constant(np.asarray(X[:, constant], np.float64), mean[constant], beside, rounding)
        scaled[:, constant] = beside
    if skipped is not None and missing.any():
        for j in np.flatnonzero(missing.any(axis=0) & ~has_indicator).tolist():
            skipped.add_missing(encoders[j].name, int(missing[:, j].sum()))
    if not has_indicator.any():
        return scaled
    rows = np.empty((len(X), len(encoders) + int(has_indicator.sum())), np.float32)
    position = np.arange(len(encoders)) + np.cumsum(has_indicator) - has_indicator  # an indicator follows its value
    rows[:, position] = scaled
    rows[:, position[has_indicator] + 1] = missing[:, has_indicator]
    return rows


def check_magnitudes(X: NDArray[Any], columns: Sequence[str], where: str, row_numbers: RowNumbers) -> None:
    """Refuse infinities and numbers beyond MAX_MAGNITUDE; X: [n, M], NaN allowed."""
    wrong = np.abs(np.asarray(X, np.float64)) > MAX_MAGNITUDE
    if wrong.any():
        i, j = np.argwhere(wrong)[0].tolist()
        raise CellLocation(where, columns[j], row_numbers).too_large_error(i, X[i, j].item())
