"""Recognise columns that tell rows apart instead of kinds of rows: running numbers, keys and clocks.

They ruin a ranking silently: rows to score have numbers and times that no labelled row had. A column is judged by all
rows that are known, and only if there are enough of them, because an informative column left out is worse than a key
that is kept.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oddshot.data.tables.written_dates import UNITS_PER_SECOND, DateOrder, seconds_of_numbers

FloatArray = NDArray[np.float64]

RUNNING_NUMBER = "a number that runs with the rows"
UNIQUE_KEY = "a different number in each row (a key)"
LONG_NUMBER = "numbers of 19 digits and more (an identifier)"

MIN_ROWS = 20
"""Rows from which order and uniqueness are no chance."""

_MIN_ROWS_OF_COUNTER = 5  # 1, 2, 3, 4, 5 is a counter
_MIN_ROWS_OF_PERMUTATION = 50
_MIN_SORTED_SHARE = 0.9  # of the steps from row to row
_STEP_TOLERANCE = 1e-6
_KEY_NAME = re.compile(
    r"(^|[\W_])(?i:id|ids|idx|index|nr|no|num|number|key|row|rownum|seq|sequence|serial|uuid|guid|record|counter)$"
    r"|[a-z]I[dD]$"
)
_TIME_NAME = re.compile(
    r"(?i)(^|[\W_])(time|timestamp|ts|date|datetime|epoch|clock|elapsed|unix|created|updated|at|t|when)($|[\W_])"
    r"|time$|date$|stamp"
)
_EPOCH_SECONDS = 946_684_800, 2_208_988_800  # 2000 to 2040
_YEARS = 1900, 2100
_MIN_DIFFERENT_DATES = 3  # numbers that are days by chance are rare


def is_named_like_time(name: str) -> bool:
    """Return whether a column has a name such as created_at."""
    return _TIME_NAME.search(name) is not None


def why_left_out(name: str, tables: Sequence[FloatArray]) -> str | None:
    """Return why a column of numbers is of no use, or None if it may be.

    tables: its values in each table, [n], NaN where missing, in the order of the rows.
    """
    values = [table[~np.isnan(table)] for table in tables]
    n_rows = sum(map(len, values))
    if n_rows < _MIN_ROWS_OF_COUNTER or n_rows < 0.95 * sum(map(len, tables)):
        return None
    is_whole = all(bool((np.trunc(one) == one).all()) for one in values)
    has_key_name = _KEY_NAME.search(name) is not None
    if _is_strictly_sorted(values) and _is_running(name, values, n_rows, is_whole, has_key_name):
        return RUNNING_NUMBER
    if not is_whole or n_rows < MIN_ROWS:
        return None
    if is_named_like_time(name) and _is_sorted(values):
        return RUNNING_NUMBER
    if not all(len(np.unique(one)) == len(one) for one in values):
        return None
    return UNIQUE_KEY if has_key_name or _is_permutation(np.concatenate(values)) else None


def are_long_numbers(tables: Sequence[FloatArray], max_magnitude: float) -> bool:
    """Return whether whole numbers mostly lie beyond a magnitude. tables: [n] each, NaN where missing."""
    values = np.concatenate(tables)
    values = values[np.isfinite(values)]
    is_long = np.abs(values) > max_magnitude
    return bool(2 * is_long.sum() > len(values) and (np.trunc(values) == values).all())


def date_order(name: str, tables: Sequence[FloatArray]) -> DateOrder | None:
    """Return how a column of numbers writes dates: as 20240131 or, if named like a time, counted since 1970; else None.

    tables: [n] each, NaN where missing.
    """
    values = np.concatenate(tables)
    values = values[~np.isnan(values)]
    if len(values) == 0 or values.min() == values.max():
        return None
    if len(np.unique(values)) >= _MIN_DIFFERENT_DATES and not np.isnan(seconds_of_numbers(values, "number ymd")).any():
        return "number ymd" if _YEARS[0] <= values.min() // 10_000 <= values.max() // 10_000 <= _YEARS[1] else None
    if not is_named_like_time(name):
        return None
    first, last = _EPOCH_SECONDS
    is_whole = bool((np.trunc(values) == values).all())
    for order in UNITS_PER_SECOND:
        seconds = seconds_of_numbers(values, order)
        if first <= seconds.min() and seconds.max() <= last and (is_whole or order == "seconds"):
            return order
    return None


def runs_with_rows(tables: Sequence[FloatArray]) -> bool:
    """Return whether values rise, or fall, with the rows of nearly all tables. tables: [n] each, NaN where missing."""
    steps = [np.diff(table[~np.isnan(table)]) for table in tables]
    n_steps = sum(map(len, steps))
    n_up, n_down = (sum(int((sign * step >= 0).sum()) for step in steps) for sign in (1, -1))
    return n_steps == 0 or max(n_up, n_down) >= _MIN_SORTED_SHARE * n_steps


def _is_running(name: str, values: Sequence[FloatArray], n_rows: int, is_whole: bool, has_key_name: bool) -> bool:
    """Return whether values that are strictly sorted count the rows, and are not sorted by chance or on purpose."""
    steps = np.concatenate([np.diff(one) for one in _long_ones(values)])
    has_same_steps = len(steps) > 0 and bool(np.ptp(steps) <= _STEP_TOLERANCE * np.abs(steps).max())
    if n_rows < MIN_ROWS:
        is_counter = is_whole and has_same_steps and abs(float(steps[0])) == 1
        return is_counter or (has_key_name and is_whole)
    return is_whole or has_same_steps or is_named_like_time(name)


def _is_strictly_sorted(values: Sequence[FloatArray]) -> bool:
    """Return whether values strictly rise, or fall, in each table; if some table is long, in the long ones."""
    steps = [np.diff(one) for one in _long_ones(values)]
    if not any(map(len, steps)):
        return False
    return all((step > 0).all() for step in steps) or all((step < 0).all() for step in steps)


def _long_ones(values: Sequence[FloatArray]) -> Sequence[FloatArray]:
    """Return the values of long tables; of all if none is long."""
    return [one for one in values if len(one) >= MIN_ROWS] or values


def _is_permutation(values: FloatArray) -> bool:
    """Return whether values are all numbers from one to another, each once."""
    n_rows = len(values)
    return n_rows >= _MIN_ROWS_OF_PERMUTATION and np.ptp(values) == n_rows - 1 and len(np.unique(values)) == n_rows


def _is_sorted(values: Sequence[FloatArray]) -> bool:
    steps = [np.diff(one) for one in values if len(one) >= MIN_ROWS]
    return bool(steps) and all((step >= 0).all() for step in steps) and any((step > 0).any() for step in steps)
