"""The labels that a person has given to rows: set, undo, save, load."""

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import InputError

LABEL_NAMES = {NORMAL: "normal", ANOMALY: "anomaly"}
_BY_NAME = {"normal": NORMAL, "anomaly": ANOMALY, "0": NORMAL, "1": ANOMALY}
_UNLABELLED_NAMES = ("unlabelled", "-1", "")
_EXPECTED_FORMAT = 'a file that the app saved: JSON {"labels": {"12": "anomaly"}} or CSV with the columns row and label'


class Labels:
    """Labels of some of the rows of a table with n_rows rows, numbered from 0, with a history for undo."""

    def __init__(self, n_rows: int, labels: Mapping[int, int] | None = None) -> None:
        self.n_rows = n_rows
        self._labels = dict(labels or {})
        self._history: list[dict[int, int | None]] = []  # for each change, the labels that it replaced

    def __len__(self) -> int:
        return len(self._labels)

    def get(self, row: int) -> int | None:
        """The label of a row, 0 or 1; None if it has none."""
        return self._labels.get(row)

    def set(self, row: int, label: int | None) -> None:
        """Set the label of a row; None removes it."""
        if not 0 <= row < self.n_rows:
            raise InputError(f"row {row + 1} is not in the table, which has {self.n_rows:,} rows")
        self._change({row: label})

    def replace(self, labels: Mapping[int, int]) -> None:
        """Replace all labels."""
        self._change({**dict.fromkeys(self._labels), **labels})

    def undo(self) -> list[int]:
        """Undo the last change; return the rows that it concerned."""
        if not self._history:
            raise InputError("there is nothing to undo")
        previous = self._history.pop()
        self._apply(previous)
        return list(previous)

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to undo."""
        return bool(self._history)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The labelled rows in ascending order, [m]."""
        return np.array(sorted(self._labels), np.int64)

    @property
    def values(self) -> NDArray[np.int8]:
        """The labels of these rows, [m]."""
        return np.array([self._labels[row] for row in sorted(self._labels)], np.int8)

    def count(self, label: int) -> int:
        """The number of rows with this label."""
        return sum(value == label for value in self._labels.values())

    def to_json(self) -> dict[str, str]:
        """Names of labels by row number, counted from 1."""
        return {str(row + 1): LABEL_NAMES[label] for row, label in sorted(self._labels.items())}

    def to_csv(self) -> str:
        """CSV with the columns row (counted from 1) and label."""
        return "row,label\n" + "".join(f"{row},{label}\n" for row, label in self.to_json().items())

    def _change(self, changes: Mapping[int, int | None]) -> None:
        self._history.append({row: self._labels.get(row) for row in changes})
        self._apply(changes)

    def _apply(self, changes: Mapping[int, int | None]) -> None:
        for row, label in changes.items():
            if label is None:
                self._labels.pop(row, None)
            else:
                self._labels[row] = label


def parse_labels_file(data: bytes, n_rows: int) -> dict[int, int]:
    """Parse a labels file of the app, JSON or CSV, for a table with n_rows rows: labels by row, counted from 0."""
    try:
        text = data.decode("utf-8-sig")
        pairs = _json_pairs(text) if text.lstrip().startswith("{") else _csv_pairs(text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"these are no labels; expected {_EXPECTED_FORMAT}") from None
    labels = {}
    for number, name in pairs:
        if not number.isdecimal() or not 1 <= int(number[:18]) <= n_rows:
            raise InputError(f"labels: row {number[:20]!r} is not in the table, which has {n_rows:,} rows")
        if name not in _UNLABELLED_NAMES:
            if name not in _BY_NAME:
                raise InputError(f"labels: {name[:20]!r} in row {number}; a label is normal or anomaly")
            labels[int(number) - 1] = _BY_NAME[name]
    return labels


def _json_pairs(text: str) -> list[tuple[str, str]]:
    labels: Any = json.loads(text)["labels"]
    return [(str(row), str(label)) for row, label in labels.items()]


def _csv_pairs(text: str) -> list[tuple[str, str]]:
    reader = csv.DictReader(io.StringIO(text))
    if not {"row", "label"} <= set(reader.fieldnames or ()):
        raise InputError(f"these are no labels; expected {_EXPECTED_FORMAT}")
    return [(str(line["row"] or "").strip(), str(line["label"] or "").strip()) for line in reader]
