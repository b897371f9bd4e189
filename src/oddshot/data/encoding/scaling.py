"""Standardise columns to mean 0 and standard deviation 1, with missing values and constant columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_MIN_DEVIATION = 1e-140  # below, squares lose digits and then vanish

MAX_SCALED_VALUE = 1e9
"""Scaled values are clipped to ±1e9: anything farther from the mean is as anomalous, and float32 can square it."""


@dataclass(frozen=True)
class ColumnMoments:
    """Statistics of M columns over the rows of all tasks, each [M].

    A constant column has scale 1, a column without values mean 0. n_present, n_missing: rows with and without a value.
    is_constant: whether all values are the same, so that nothing tells what is far from them.
    """

    mean: FloatArray
    scale: FloatArray
    is_constant: NDArray[np.bool_]
    n_present: IntArray
    n_missing: IntArray


def compute_moments(blocks: Sequence[NDArray[Any]]) -> ColumnMoments:
    """Compute the moments of the rows of all blocks together; each block: [n, M], NaN where a value is missing."""
    width = blocks[0].shape[1]
    total, squares = np.zeros(width), np.zeros(width)
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    n_present = np.zeros(width, np.int64)
    for block in blocks:
        values = np.asarray(block, np.float64)
        n_present += np.count_nonzero(~np.isnan(values), axis=0)
        total += np.nansum(values, axis=0)
        low = np.fmin(low, np.fmin.reduce(values, axis=0, initial=np.inf))
        high = np.fmax(high, np.fmax.reduce(values, axis=0, initial=-np.inf))
    has_values = n_present > 0
    # Rounding may put the mean of a constant column beside its value.
    mean = np.clip(total / np.maximum(n_present, 1), np.where(has_values, low, 0.0), np.where(has_values, high, 0.0))
    for block in blocks:
        squares += np.nansum((block - mean) ** 2, axis=0)
    deviation = np.sqrt(squares / np.maximum(n_present, 1))
    underflows = (low < high) & (deviation < _MIN_DEVIATION)
    if underflows.any():
        deviation[underflows] = _tiny_deviation(
            [np.asarray(block)[:, underflows] for block in blocks], mean[underflows]
        )
    scale = np.where((low < high) & (deviation > 0), deviation, 1.0)
    return ColumnMoments(mean, scale, low == high, n_present, sum(len(block) for block in blocks) - n_present)


def _tiny_deviation(blocks: Sequence[NDArray[Any]], mean: FloatArray) -> FloatArray:
    """Compute standard deviations of numbers whose squares are too small for float64."""
    largest = np.max([np.fmax.reduce(np.abs(block - mean), axis=0, initial=0.0) for block in blocks], axis=0)
    shares = [np.square((block - mean) / largest) for block in blocks]
    n_present = np.sum([np.count_nonzero(~np.isnan(share), axis=0) for share in shares], axis=0)
    ratio = np.sqrt(np.sum([np.nansum(share, axis=0) for share in shares], axis=0) / n_present)
    deviation: FloatArray = np.maximum(largest * ratio, np.finfo(np.float64).smallest_subnormal)
    return deviation


def deviation_from_constant(values: NDArray[Any], constant: Any, out: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Write by how much values deviate from a constant, from -1 to 1, and return where they are missing.

    A column that was constant in the rows seen has no scale, and what it is worth must not depend on its unit: it is
    the root of the deviation's share of the constant, at most 1. Where the constant is 0, any other value is 1 or -1.
    """
    missing: NDArray[np.bool_] = np.isnan(values)
    size = np.abs(constant)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        deviation = np.where(missing, constant, values) - constant
        share = np.minimum(np.abs(deviation) / size, 1.0)
    out[...] = np.sign(deviation) * np.sqrt(np.where(deviation == 0, 0.0, share))
    return missing


def standardise(values: NDArray[Any], mean: Any, scale: Any, out: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Write the scaled values to out, 0 where missing, and return where they are missing.

    values, out and what is returned: [n] or [n, M]; mean and scale: scalars or [M].
    """
    missing: NDArray[np.bool_] = np.isnan(values)
    with np.errstate(over="ignore"):  # a tiny scale; clipped below
        scaled = (values - mean) / scale
    np.clip(scaled, -MAX_SCALED_VALUE, MAX_SCALED_VALUE, out=scaled)
    if missing.any():
        scaled[missing] = 0.0
    out[...] = scaled
    return missing
