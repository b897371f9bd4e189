"""A table as the app holds it: cells to show, and the numbers that the detector sees, encoded once."""

import copy
import dataclasses
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding import Encoding
from oddshot.data.tables import read_table
from oddshot.data.tables.categories import category_codes
from oddshot.data.tables.columns import CellLocation, read_booleans, read_numbers, read_timestamps
from oddshot.errors import InputError, OddshotError
from oddshot.storage.model_file import Model

LONGEST_CELL = 200  # characters of a cell that are shown
MOST_COLUMNS = 2000
_EXACT = 2**53  # larger whole numbers are not exact in JavaScript

Cell = str | int | float | bool | None
Rows = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Column:
    """What the page says of a column. kind: number, boolean, category, date, or "not used"."""

    name: str
    kind: str
    missing: int
    note: str


@dataclass(frozen=True)
class Sheet:
    """A table of n rows. rows: [n, attributes], encoded. model: with this table's encoding, which no label changes.

    digest: SHA-256 of the file. truth: [n], 1 for anomalies, of the built-in example only; nothing but the figure on
    the page looks at it. left_out: columns that the person took away. notices: what reading it warned of.
    """

    name: str
    digest: str
    table: Any
    model: Model
    rows: Rows
    truth: NDArray[np.int8] | None = None
    left_out: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def encoding(self) -> Encoding:
        """How its columns become numbers."""
        assert self.model.encoding is not None
        return self.model.encoding

    def __len__(self) -> int:
        return len(self.rows)

    def used(self, numbers: Ints) -> Any:
        """These rows as an Arrow table, without the columns left out."""
        return self.table.drop_columns(list(self.left_out)).take(numbers)


def read_sheet(path: Path, name: str, digest: str, model: Model, left_out: Sequence[str] = ()) -> Sheet:
    """A file as a sheet; messages call it by `name`, never by its path."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            table = read_table(path)
        except OddshotError as error:
            raise InputError(str(error).replace(str(path), name)) from None
        kept = tuple(column for column in left_out if column in table.column_names)
        sheet = make_sheet(table.combine_chunks(), name, digest, model, left_out=kept)
    found = dict.fromkeys(_shown(w).replace(str(path), name) for w in caught if issubclass(w.category, UserWarning))
    return dataclasses.replace(sheet, notices=tuple(found))


def make_sheet(
    table: Any,
    name: str,
    digest: str,
    model: Model,
    truth: NDArray[np.int8] | None = None,
    left_out: Sequence[str] = (),
) -> Sheet:
    """An Arrow table as a sheet: its encoding learned from all rows, unless the model has one of its own."""
    if table.num_columns > MOST_COLUMNS:
        raise InputError(f"{name}: {table.num_columns:,} columns; the app shows at most {MOST_COLUMNS:,}")
    used = table.drop_columns(list(left_out))
    if used.num_columns == 0:
        raise InputError(f"{name}: every column is left out; at least one is needed")
    bound = model if model.encoding is not None else with_encoding(model, Encoding.fit([used], [name]))
    assert bound.encoding is not None
    rows = bound.encoding.transform(used, name)
    return Sheet(name, digest, table, bound, rows, truth, tuple(left_out))


def with_encoding(model: Model, encoding: Encoding) -> Model:
    """A model for tables of any width, bound to one table: its encoding then stays the same from label to label."""
    method = copy.copy(model.method)  # shares the weights
    method.n_attributes = encoding.n_attributes
    return dataclasses.replace(model, method=method, encoding=encoding)


def describe_columns(sheet: Sheet) -> list[Column]:
    """Every column of the table: its kind, how many of its cells miss a value, and what is in it."""
    kinds, dropped = sheet.encoding.kinds, sheet.encoding.dropped
    out = []
    for name in sheet.table.column_names:
        column = sheet.table[name]
        if name in sheet.left_out or name not in kinds:
            reason = "left out by you" if name in sheet.left_out else dropped.get(name, "unknown to the model")
            out.append(Column(name, "not used", column.null_count, reason))
        else:
            missing, note = _missing_and_note(column, kinds[name], CellLocation(sheet.name, name))
            out.append(Column(name, kinds[name], missing, note))
    return out


def cells(table: Any) -> list[list[Cell]]:
    """The cells of each row, in types that JSON has and JavaScript shows."""
    columns = [[_cell(value) for value in column.to_pylist()] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _missing_and_note(column: Any, kind: str, location: CellLocation) -> tuple[int, str]:
    if kind == "category":
        codes, values = category_codes(column)
        return int((codes < 0).sum()), f"{len(values):,} different value{'s' * (len(values) != 1)}"
    read = {"number": read_numbers, "boolean": read_booleans, "date": read_timestamps}[kind]
    found = read(column, location)
    present = found[~np.isnan(found)]
    missing = len(found) - len(present)
    if len(present) == 0:
        return missing, "no values"
    low, high = present.min(), present.max()
    if kind == "boolean":
        return missing, f"true in {present.mean():.0%}"
    if kind == "date":
        first, last = (str(np.datetime64(int(end), "s")).replace("T", " ") for end in (low, high))
        return missing, f"{first} to {last}"
    return missing, f"{low:.4g} to {high:.4g}, median {np.median(present):.4g}"


def _cell(value: object) -> Cell:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return _text(value)


def _text(value: object) -> str:
    text = str(value).encode("utf-8", "replace").decode()
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"


def _shown(warning: warnings.WarningMessage) -> str:
    return " ".join(str(warning.message).split())
