"""Checks of hyperparameters, each with one line that names the setting, its value and what it must be."""

import math
from numbers import Real
from typing import Any

from oddshot.errors import InputError, one_line, require_whole_number


def require_at_least(config: Any, **least: int) -> None:
    """Each named setting must be a whole number, not below its least value."""
    for name, smallest in least.items():
        require_whole_number(name, getattr(config, name), smallest)


def require_positive(config: Any, *names: str) -> None:
    """Each named setting must be a finite number above 0."""
    for name in names:
        if not 0.0 < _number(config, name) < math.inf:
            raise InputError(f"{name} is {getattr(config, name)}; it must be above 0 and finite")


def require_not_negative(config: Any, *names: str) -> None:
    """Each named setting must be a finite number, at least 0."""
    for name in names:
        if not 0.0 <= _number(config, name) < math.inf:
            raise InputError(f"{name} is {getattr(config, name)}; it must be at least 0 and finite")


def require_dropout(config: Any) -> None:
    """The dropout rate is a share below 1."""
    if not 0.0 <= _number(config, "dropout") < 1.0:
        raise InputError(f"dropout is {config.dropout}; it must be at least 0 and below 1")


def _number(config: Any, name: str) -> Any:
    value = getattr(config, name)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} is {one_line(value)}; it must be a number")
    return value


def require_one_of(config: Any, name: str, choices: tuple[str, ...]) -> None:
    """The named setting must be one of these."""
    if getattr(config, name) not in choices:
        raise InputError(f"{name} is {getattr(config, name)!r}; it must be one of {', '.join(choices)}")
