"""Which columns a person wants to use, and as what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from oddshot.data.tables.column_names import format_names
from oddshot.errors import InputError

IGNORE = "ignore"
INTERVAL = "interval"
CHOSEN_KINDS = ("number", "boolean", "category", "date", INTERVAL, "text", IGNORE)

IGNORED = "ignored as asked"
NOT_CHOSEN = "not among the columns asked for"


@dataclass(frozen=True)
class ColumnChoice:
    """The choice of a person; whatever it does not mention is recognised.

    only: the names of the columns to use, None for all. kinds: one of CHOSEN_KINDS by the name of the column.
    """

    only: tuple[str, ...] | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", dict(self.kinds))
        for name, kind in self.kinds.items():
            if not isinstance(name, str) or kind not in CHOSEN_KINDS:
                raise InputError(
                    f"column {str(name)[:60]!r}: kind {str(kind)[:60]!r}; kinds are {', '.join(CHOSEN_KINDS)}"
                )
            if self.only is not None and kind == IGNORE and name in self.only:
                raise InputError(f"column {name!r} is both among the columns to use and ignored")
            if self.only is not None and kind != IGNORE and name not in self.only:
                raise InputError(f"column {name!r} has the kind {kind}, but is not among the columns to use")

    @classmethod
    def of(cls, columns: Any) -> "ColumnChoice":
        """Make a choice of what a person gives: nothing, a list of names, kinds by name, or a choice."""
        if columns is None:
            return cls()
        if isinstance(columns, cls):
            return columns
        if isinstance(columns, Mapping):
            return cls(None, columns)
        if isinstance(columns, str) or not isinstance(columns, Sequence):
            raise InputError("columns: expected a list of names, or a dict from names to kinds")
        if not all(isinstance(name, str) for name in columns):
            raise InputError("columns: expected a list of names, each of them text")
        return cls(tuple(columns))

    def __bool__(self) -> bool:
        return self.only is not None or bool(self.kinds)

    def check_names(self, columns: Sequence[str], where: str) -> None:
        """Refuse names that the table does not have."""
        for name in (*(self.only or ()), *self.kinds):
            if name not in columns:
                raise InputError(f"{where}: no column {name!r}; its columns are {format_names(columns, 20)}")

    def reason_to_drop(self, name: str) -> str | None:
        """Return why a column is not used, or None if it is."""
        if self.kinds.get(name) == IGNORE:
            return IGNORED
        return None if self.only is None or name in self.only else NOT_CHOSEN

    @property
    def intervals(self) -> tuple[str, ...]:
        """The columns of which the time since the row before is used."""
        return tuple(name for name, kind in self.kinds.items() if kind == INTERVAL)

    def kind(self, name: str) -> str | None:
        """Return the kind that was asked for, if one was."""
        return self.kinds.get(name)

    def keeps(self, name: str) -> bool:
        """Return whether a column was asked for by name, and so is used even if it looks like a key."""
        return self.only is not None and name in self.only

    def to_dict(self) -> dict[str, Any]:
        """Return the choice in types that JSON has."""
        return {"only": None if self.only is None else list(self.only), "kinds": dict(self.kinds)}

    @classmethod
    def from_dict(cls, data: object) -> "ColumnChoice":
        """Rebuild a choice from the untrusted JSON form of to_dict."""
        if not isinstance(data, dict) or set(data) != {"only", "kinds"} or not isinstance(data["kinds"], dict):
            raise InputError("columns: expected only and kinds")
        only = data["only"]
        if only is not None and not (isinstance(only, list) and all(isinstance(name, str) for name in only)):
            raise InputError("columns: only is not a list of names")
        return cls(None if only is None else tuple(only), data["kinds"])
