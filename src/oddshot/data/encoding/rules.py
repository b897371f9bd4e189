"""What the fields of an encoder may hold. They are read from model files, which may come from anywhere."""

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from oddshot.data.tables.cells import LIMIT
from oddshot.errors import InputError

MOST_CATEGORIES = 32


def check_fields(encoder: Any) -> None:
    """Refuse an encoder with a field that no fit can have given."""
    for field in fields(encoder):
        value = getattr(encoder, field.name)
        if not _RULES[field.name](value):
            raise InputError(f"encoding of column {encoder.name!r}: wrong {field.name}: {str(value)[:60]!r}")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_mean(value: object) -> bool:
    return isinstance(value, float) and abs(value) <= LIMIT  # false for NaN


def _is_scale(value: object) -> bool:
    return isinstance(value, float) and 0 < value < math.inf


def _are_categories(value: object) -> bool:
    if not isinstance(value, tuple) or not all(isinstance(one, str) for one in value):
        return False
    return 0 < len(value) <= MOST_CATEGORIES and len(set(value)) == len(value)


def _are_shares(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, float) and 0 < one <= 1 for one in value)


_RULES: dict[str, Callable[[object], bool]] = {
    "name": _is_text,
    "kind": _is_text,
    "mean": _is_mean,
    "scale": _is_scale,
    "hour": _is_flag,
    "weekday": _is_flag,
    "missing": _is_flag,
    "categories": _are_categories,
    "other": _is_flag,
    "shares": _are_shares,
}
