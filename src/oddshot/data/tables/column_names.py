"""Check and select columns by name."""

import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from oddshot.errors import InputError


def check_unique_names(names: Iterable[str], where: str) -> None:
    """Refuse a column name that occurs twice; where: names the table in the message."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{where}: two columns are called {name!r}")
        seen.add(name)


def select_columns(table: Any, names: Sequence[str], where: str) -> Any:
    """Select the named columns in this order; a missing one is an error, other columns are dropped with a warning."""
    present, wanted = set(table.column_names), set(names)
    extra = [name for name in table.column_names if name not in wanted]
    for name in names:
        if name not in present:
            hint = f" (renamed to {extra[0]!r}?)" if len(extra) == 1 else ""
            raise InputError(f"{where}: column {name!r} is missing{hint}")
    if extra:
        warnings.warn(f"{where}: ignored unknown columns: {format_names(extra)}", stacklevel=2)
    return table.select(list(names))


def format_names(names: Sequence[object], max_names: int = 10) -> str:
    """Join names for a message, at most max_names of them."""
    return join_names([repr(name) for name in names], max_names)


def join_names(names: Sequence[str], max_names: int) -> str:
    """Join names that are written as the message shows them, at most max_names of them."""
    shown = ", ".join(names[:max_names])
    return shown if len(names) <= max_names else f"{shown} and {len(names) - max_names} more"


def without_row_index(names: Iterable[str], where: object) -> tuple[str, ...]:
    """Return the names without those of the row index that pandas writes by default, with a warning if there is one."""
    kept = []
    for name in names:
        if re.fullmatch(r"|Unnamed: \d+|__index_level_\d+__", name):
            warnings.warn(f"{where}: ignored column {name!r} (a row index?)", stacklevel=2)
        else:
            kept.append(name)
    return tuple(kept)
