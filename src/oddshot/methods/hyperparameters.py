"""Checks of hyperparameters, each with one line that names the setting, its value and what it must be."""

from typing import Any

from oddshot.errors import InputError


def require_at_least(config: Any, **least: int) -> None:
    """Each named setting must not be below its least value."""
    for name, smallest in least.items():
        if not getattr(config, name) >= smallest:
            raise InputError(f"{name} is {getattr(config, name)}; it must be at least {smallest}")


def require_positive(config: Any, *names: str) -> None:
    """Each named setting must be above 0."""
    for name in names:
        if not getattr(config, name) > 0.0:
            raise InputError(f"{name} is {getattr(config, name)}; it must be above 0")


def require_dropout(config: Any) -> None:
    """The dropout rate is a share below 1."""
    if not 0.0 <= config.dropout < 1.0:
        raise InputError(f"dropout is {config.dropout}; it must be at least 0 and below 1")


def require_one_of(config: Any, name: str, choices: tuple[str, ...]) -> None:
    """The named setting must be one of these."""
    if getattr(config, name) not in choices:
        raise InputError(f"{name} is {getattr(config, name)!r}; it must be one of {', '.join(choices)}")
