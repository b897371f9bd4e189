"""Standardise columns to mean 0 and standard deviation 1, with missing values and constant columns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

Array = Any  # of NumPy or ndonnx
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_MIN_DEVIATION = 1e-140  # below, squares lose digits and then vanish

MAX_SCALED_VALUE = 2.0**30
"""Scaled values are clipped to ±2³⁰: anything farther from the mean is as anomalous, and float32 can square it."""

_MIN_ROWS_TO_LIMIT = 20
_MAX_ROWS_TO_LIMIT = 20_000  # a sample of them suffices
_OUTSIDE_SHARE = 0.02  # of the values, at least one, that the limit does not depend on
_LIMIT_FACTOR = 10.0  # times the largest deviation of the others: 23 standard deviations of a normal distribution


@dataclass(frozen=True)
class ColumnMoments:
    """Statistics of M columns over the rows of all tasks, each [M].

    A constant column has scale 1, a column without values mean 0. n_present, n_missing: rows with and without a value.
    is_constant: whether all values are the same, so that nothing tells what is far from them. limit: scaled values
    beyond it are far outside of the others.
    """

    mean: FloatArray
    scale: FloatArray
    is_constant: NDArray[np.bool_]
    n_present: IntArray
    n_missing: IntArray
    limit: FloatArray


def compute_robust_moments(blocks: Sequence[NDArray[Any]]) -> ColumnMoments:
    """Compute moments that a few values far outside of the others hardly change, such as 99999 for a broken sensor."""
    if sum(map(len, blocks)) < _MIN_ROWS_TO_LIMIT:
        return compute_moments(blocks)
    low, high = _plausible_range(blocks)
    moments = compute_moments([np.clip(block, low, high) for block in blocks])
    farthest = np.maximum(high - moments.mean, moments.mean - low) / moments.scale
    return replace(moments, limit=np.minimum(farthest, MAX_SCALED_VALUE))


def _plausible_range(blocks: Sequence[NDArray[Any]]) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and the highest value of each column that is not far outside of the others, [M] each.

    That is within ten times the deviation from the median that all but 2 % of the deviating values have. Columns with
    too few values have an infinite range.
    """
    step = -(-sum(len(block) for block in blocks) // _MAX_ROWS_TO_LIMIT) or 1
    values = np.concatenate([np.asarray(block[::step], np.float64) for block in blocks])
    is_missing = np.isnan(values)
    values[:, is_missing.all(axis=0)] = 0.0
    median = (np.nanmedian if is_missing.any() else np.median)(values, axis=0)
    deviation = np.abs(values - median)
    deviation[~(deviation > 0)] = np.nan  # sorted to the end
    n_deviating = np.count_nonzero(~np.isnan(deviation), axis=0)
    n_outside = np.maximum(1, (_OUTSIDE_SHARE * n_deviating).astype(np.int64))
    has_limit = (np.count_nonzero(~is_missing, axis=0) >= _MIN_ROWS_TO_LIMIT) & (n_deviating > n_outside)
    farthest = np.full(values.shape[1], np.inf)
    if has_limit.any():
        position = np.maximum(n_deviating - 1 - n_outside, 0)[None]
        others = np.take_along_axis(np.sort(deviation, axis=0), position, axis=0)[0]
        farthest[has_limit] = _LIMIT_FACTOR * others[has_limit]
    return median - farthest, median + farthest


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
    n_missing = sum(len(block) for block in blocks) - n_present
    return ColumnMoments(mean, scale, low == high, n_present, n_missing, np.full(width, MAX_SCALED_VALUE))


def _tiny_deviation(blocks: Sequence[NDArray[Any]], mean: FloatArray) -> FloatArray:
    """Compute standard deviations of numbers whose squares are too small for float64."""
    largest = np.max([np.fmax.reduce(np.abs(block - mean), axis=0, initial=0.0) for block in blocks], axis=0)
    shares = [np.square((block - mean) / largest) for block in blocks]
    n_present = np.sum([np.count_nonzero(~np.isnan(share), axis=0) for share in shares], axis=0)
    ratio = np.sqrt(np.sum([np.nansum(share, axis=0) for share in shares], axis=0) / n_present)
    deviation: FloatArray = np.maximum(largest * ratio, np.finfo(np.float64).smallest_subnormal)
    return deviation


def share_of_constant(values: Array, constant: Array, rounding: Array) -> Array:
    """By how much values deviate from a constant, from -1 to 1, 0 where they are missing; of any array library.

    A column that was constant in the rows seen has no scale, and what it is worth must not depend on its unit: it is
    the root of the deviation's share of the constant, at most 1. Where the constant is 0, any other value is 1 or -1.
    Deviations of at most `rounding` are none.
    """
    xp = array_namespace(values)
    deviation = xp.where(xp.isnan(values), constant, values) - constant
    deviation = xp.where(xp.abs(deviation) <= rounding, xp.zeros_like(deviation), deviation)
    share = xp.minimum(xp.abs(deviation) / xp.abs(constant), xp.ones_like(deviation))
    return xp.sign(deviation) * xp.sqrt(xp.where(deviation == 0, xp.zeros_like(share), share))


def scaled(values: Array, mean: Array, scale: Array) -> Array:
    """(values - mean) / scale within ±MAX_SCALED_VALUE, 0 where missing; of any array library."""
    xp = array_namespace(values)
    found = values - mean
    found /= scale  # in place where arrays can be changed: memory for another one takes longer than the division
    found = xp.clip(found, -MAX_SCALED_VALUE, MAX_SCALED_VALUE)
    return xp.where(xp.isnan(found), xp.zeros_like(found), found)


def deviation_from_constant(
    values: NDArray[Any], constant: Any, out: NDArray[np.float32], rounding: Any = 0.0
) -> NDArray[np.bool_]:
    """Write what `share_of_constant` gives to out, and return where values are missing."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        out[...] = share_of_constant(values, np.asarray(constant), rounding)
    missing: NDArray[np.bool_] = np.isnan(values)
    return missing


def standardise(values: NDArray[Any], mean: Any, scale: Any, out: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Write the scaled values to out, 0 where missing, and return where they are missing.

    values, out and what is returned: [n] or [n, M]; mean and scale: scalars or [M].
    """
    with np.errstate(over="ignore"):  # a tiny scale; clipped
        out[...] = scaled(values, mean, scale)
    missing: NDArray[np.bool_] = np.isnan(values)
    return missing
