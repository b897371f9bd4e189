"""Checks on the fields of column encoders, which are read from model files of any origin."""

import math
from collections.abc import Callable
from typing import Any

from oddshot.data.tables.columns import MAX_MAGNITUDE
from oddshot.errors import InputError


def check_fields(encoder: Any, **checks: Callable[[object], bool]) -> None:
    """Refuse an encoder with a field that fitting cannot produce.

    checks: a predicate for each field other than name and kind, which must be text.
    """
    for field, value in vars(encoder).items():
        if not checks.get(field, is_text)(value):
            raise InputError(f"encoding of column {encoder.name!r}: wrong {field}: {str(value)[:60]!r}")


def is_text(value: object) -> bool:
    """Return whether the value is a string."""
    return isinstance(value, str)


def is_bool(value: object) -> bool:
    """Return whether the value is true or false."""
    return isinstance(value, bool)


def is_mean(value: object) -> bool:
    """Return whether the value can be the mean of a column."""
    return isinstance(value, float) and abs(value) <= MAX_MAGNITUDE  # false for NaN


def is_scale(value: object) -> bool:
    """Return whether the value is positive and finite."""
    return isinstance(value, float) and 0 < value < math.inf


def is_size(value: object) -> bool:
    """Return whether the value is finite and not below 0."""
    return isinstance(value, float) and 0 <= value < math.inf


def are_distinct_texts(value: object) -> bool:
    """Return whether the value is a tuple of one or more different strings."""
    if not isinstance(value, tuple) or not all(isinstance(one, str) for one in value):
        return False
    return 0 < len(value) == len(set(value))


def are_shares(value: object) -> bool:
    """Return whether the value is a tuple of fractions above 0."""
    return isinstance(value, tuple) and all(isinstance(one, float) and 0 < one <= 1 for one in value)
