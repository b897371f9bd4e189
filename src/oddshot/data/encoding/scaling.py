"""Mean 0 and standard deviation 1, with missing values and constant columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FARTHEST = 1e9
"""Scaled values stop here: a value 10⁹ standard deviations away is as odd as one farther, and float32 can square it."""


@dataclass(frozen=True)
class Moments:
    """Statistics of M columns over the rows of all tasks, each [M]. A constant column has scale 1, an empty one mean 0.

    n_present, n_missing: how many rows have a value and how many have none.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    n_present: NDArray[np.int64]
    n_missing: NDArray[np.int64]


def measure(blocks: Sequence[NDArray[Any]]) -> Moments:
    """Moments of the rows of all blocks together; each block: [n, M], NaN where a value is missing."""
    width = blocks[0].shape[1]
    total, squares = np.zeros(width), np.zeros(width)
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    present = np.zeros(width, np.int64)
    for block in blocks:
        values = np.asarray(block, np.float64)
        present += np.count_nonzero(~np.isnan(values), axis=0)
        total += np.nansum(values, axis=0)
        low = np.fmin(low, np.fmin.reduce(values, axis=0, initial=np.inf))
        high = np.fmax(high, np.fmax.reduce(values, axis=0, initial=-np.inf))
    some = present > 0
    mean = np.clip(total / np.maximum(present, 1), np.where(some, low, 0.0), np.where(some, high, 0.0))
    for block in blocks:
        squares += np.nansum((block - mean) ** 2, axis=0)
    spread = np.sqrt(squares / np.maximum(present, 1))
    scale = np.where((low < high) & (spread > 0), spread, 1.0)
    return Moments(mean, scale, present, sum(len(block) for block in blocks) - present)


def standardise(values: NDArray[Any], mean: Any, scale: Any, out: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Fill out with the scaled values, 0 where missing, and tell where that is.

    values, out and what is returned: [n] or [n, M]; mean and scale: scalars or [M].
    """
    absent: NDArray[np.bool_] = np.isnan(values)
    with np.errstate(over="ignore"):  # a tiny scale; clipped below
        scaled = (values - mean) / scale
    np.clip(scaled, -FARTHEST, FARTHEST, out=scaled)
    if absent.any():
        scaled[absent] = 0.0
    out[...] = scaled
    return absent
