"""What a person has said of rows: set, undo, save, load."""

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import InputError

NAMES = {NORMAL: "normal", ANOMALY: "anomaly"}
_BY_NAME = {"normal": NORMAL, "anomaly": ANOMALY, "0": NORMAL, "1": ANOMALY}
_UNLABELLED = ("unlabelled", "-1", "")
_HINT = 'a file that the app saved: JSON {"labels": {"12": "anomaly"}} or CSV with the columns row and label'


class Labels:
    """Labels of the rows of a table with n rows, numbered from 0."""

    def __init__(self, n_rows: int, known: Mapping[int, int] | None = None) -> None:
        self.n_rows = n_rows
        self._known = dict(known or {})
        self._before: list[dict[int, int | None]] = []

    def __len__(self) -> int:
        return len(self._known)

    def get(self, row: int) -> int | None:
        """0, 1, or None where the row has no label."""
        return self._known.get(row)

    def set(self, row: int, label: int | None) -> None:
        """Label a row, or take its label away with None."""
        if not 0 <= row < self.n_rows:
            raise InputError(f"row {row + 1} is not in the table, which has {self.n_rows:,} rows")
        self._change({row: label})

    def replace(self, known: Mapping[int, int]) -> None:
        """Other labels in the place of all."""
        self._change({**dict.fromkeys(self._known), **known})

    def undo(self) -> list[int]:
        """Take the last change back; the rows that it touched."""
        if not self._before:
            raise InputError("there is nothing to undo")
        before = self._before.pop()
        self._apply(before)
        return list(before)

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to take back."""
        return bool(self._before)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The labelled rows in the order of the table, [m]."""
        return np.array(sorted(self._known), np.int64)

    @property
    def values(self) -> NDArray[np.int8]:
        """Their labels, [m]."""
        return np.array([self._known[row] for row in sorted(self._known)], np.int8)

    def count(self, label: int) -> int:
        """How many rows have this label."""
        return sum(value == label for value in self._known.values())

    def to_json(self) -> dict[str, str]:
        """Row numbers from 1, as people count, and names of labels."""
        return {str(row + 1): NAMES[label] for row, label in sorted(self._known.items())}

    def to_csv(self) -> str:
        """The same as CSV."""
        return "row,label\n" + "".join(f"{row},{label}\n" for row, label in self.to_json().items())

    def _change(self, after: Mapping[int, int | None]) -> None:
        self._before.append({row: self._known.get(row) for row in after})
        self._apply(after)

    def _apply(self, after: Mapping[int, int | None]) -> None:
        for row, label in after.items():
            if label is None:
                self._known.pop(row, None)
            else:
                self._known[row] = label


def parse_labels_file(data: bytes, n_rows: int) -> dict[int, int]:
    """The labels in a file that the app saved, JSON or CSV, for a table with n rows."""
    try:
        text = data.decode("utf-8-sig")
        pairs = _json_pairs(text) if text.lstrip().startswith("{") else _csv_pairs(text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"these are no labels; expected {_HINT}") from None
    found = {}
    for number, name in pairs:
        if not number.isdecimal() or not 1 <= int(number[:18]) <= n_rows:
            raise InputError(f"labels: row {number[:20]!r} is not in the table, which has {n_rows:,} rows")
        if name not in _UNLABELLED:
            if name not in _BY_NAME:
                raise InputError(f"labels: {name[:20]!r} in row {number}; a label is normal or anomaly")
            found[int(number) - 1] = _BY_NAME[name]
    return found


def _json_pairs(text: str) -> list[tuple[str, str]]:
    labels: Any = json.loads(text)["labels"]
    return [(str(row), str(label)) for row, label in labels.items()]


def _csv_pairs(text: str) -> list[tuple[str, str]]:
    reader = csv.DictReader(io.StringIO(text))
    if not {"row", "label"} <= set(reader.fieldnames or ()):
        raise InputError(f"these are no labels; expected {_HINT}")
    return [(str(line["row"] or "").strip(), str(line["label"] or "").strip()) for line in reader]
