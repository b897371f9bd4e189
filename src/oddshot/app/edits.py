"""Everything that a person has said about a table, as one document with undo and redo."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from oddshot.errors import InputError

MAX_STEPS = 500  # that can be undone
MAX_STEP_ENTRIES = 200_000  # values changed by all steps that can be undone together

FIELDS = ("labels", "notes", "kinds", "left_out", "hidden", "pinned", "settings")
BY_ROW = ("labels", "notes")  # the other fields are by the name of a column, settings by its own name

Values = Mapping[Any, Any]
Patch = Mapping[str, Values]  # new values by field and key; None removes one


@dataclass(frozen=True)
class Step:
    """A change that was made, and the change that takes it back."""

    patch: Patch
    inverse: Patch

    @property
    def n_entries(self) -> int:
        """The number of values that it changes."""
        return sum(map(len, self.patch.values()))


@dataclass(frozen=True)
class Edits:
    """The document. Changes make a new one, with a higher version.

    labels: 0 or 1 by row, counted from 0. notes: text by row. kinds: of columns, as in ColumnChoice. left_out: columns
    that the detector does not use. hidden, pinned: columns in the ranking. settings: "id_column", whose values name the
    rows, and "threshold", as UserThreshold saves it. steps, undone: what can be undone and redone,
    the latest last.
    """

    version: int = 0
    labels: Mapping[int, int] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, bool] = field(default_factory=dict)
    hidden: Mapping[str, bool] = field(default_factory=dict)
    pinned: Mapping[str, bool] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    undone: tuple[Step, ...] = ()

    def changed(self, patch: Patch, *, continues: bool = False) -> "Edits":
        """Apply a change, which can be undone. continues: it is undone together with the one before, as in a drag."""
        step = Step(patch, self._inverse(patch))
        steps = self.steps
        if continues and steps and steps[-1].patch.keys() == patch.keys():
            step = Step({**steps[-1].patch, **patch}, steps[-1].inverse)
            steps = steps[:-1]
        return replace(self._applied(patch), steps=_bounded((*steps, step)), undone=())

    def undo(self) -> tuple["Edits", Patch]:
        """Take the last change back; return also what that has changed."""
        if not self.steps:
            raise InputError("there is nothing to undo")
        *steps, last = self.steps
        edits = replace(self._applied(last.inverse), steps=tuple(steps), undone=(*self.undone, last))
        return edits, last.inverse

    def redo(self) -> tuple["Edits", Patch]:
        """Make the change that was undone last again; return also what that has changed."""
        if not self.undone:
            raise InputError("there is nothing to redo")
        *undone, last = self.undone
        edits = replace(self._applied(last.patch), steps=(*self.steps, last), undone=tuple(undone))
        return edits, last.patch

    def differs(self, other: "Edits", *fields: str) -> bool:
        """Whether one of these fields has other values."""
        mine, theirs = self._fields(), other._fields()
        return any(mine[name] != theirs[name] for name in fields)

    def to_json(self) -> str:
        """The document without its version; `from_json` reads it."""
        histories = {
            name: [[step.patch, step.inverse] for step in steps]
            for name, steps in (("steps", self.steps), ("undone", self.undone))
        }
        return json.dumps(self._fields() | histories)

    @classmethod
    def from_json(cls, text: str, version: int) -> "Edits":
        """Read what `to_json` wrote."""
        content = json.loads(text)
        fields = _with_row_keys({name: content.get(name, {}) for name in FIELDS})
        return cls(version, **fields, steps=_steps(content.get("steps", ())), undone=_steps(content.get("undone", ())))

    def _fields(self) -> dict[str, Values]:
        return {
            "labels": self.labels,
            "notes": self.notes,
            "kinds": self.kinds,
            "left_out": self.left_out,
            "hidden": self.hidden,
            "pinned": self.pinned,
            "settings": self.settings,
        }

    def _applied(self, patch: Patch) -> "Edits":
        fields = self._fields()
        merged = {
            name: {key: value for key, value in {**fields[name], **values}.items() if value is not None}
            for name, values in patch.items()
        }
        return replace(self, version=self.version + 1, **merged)  # type: ignore[arg-type]

    def _inverse(self, patch: Patch) -> Patch:
        fields = self._fields()
        return {name: {key: fields[name].get(key) for key in values} for name, values in patch.items()}


def _bounded(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The latest steps, as many as are kept; the last one is kept however large it is."""
    n_kept = n_entries = 0
    for step in reversed(steps[-MAX_STEPS:]):
        n_entries += step.n_entries
        if n_kept and n_entries > MAX_STEP_ENTRIES:
            break
        n_kept += 1
    return steps[len(steps) - n_kept :]


def _steps(pairs: Iterable[Sequence[Patch]]) -> tuple[Step, ...]:
    return tuple(Step(_with_row_keys(patch), _with_row_keys(inverse)) for patch, inverse in pairs)


def _with_row_keys(patch: Patch) -> dict[str, Any]:
    """JSON has text as keys only."""
    return {
        name: {int(row): value for row, value in values.items()} if name in BY_ROW else values
        for name, values in patch.items()
    }
