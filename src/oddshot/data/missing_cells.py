"""Which cells have no value, in objects of any kind; pandas is asked only where a program has imported it."""

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np


def are_missing(cells: Iterable[Any]) -> list[bool]:
    """Whether each is None, NaN, or pandas' NA or NaT."""
    cells = list(cells)
    if pandas := sys.modules.get("pandas"):
        found: list[bool] = pandas.isna(pandas.Series(cells, dtype=object)).tolist()
        return found
    return [cell is None or (isinstance(cell, float | np.floating) and bool(np.isnan(cell))) for cell in cells]


def is_series(value: Any) -> bool:
    """Whether it is a Series of pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.Series)
