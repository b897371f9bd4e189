"""A sheet: a table with its cells for the page and its rows encoded once for the detector."""

import copy
import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.column_cache import ColumnCache
from oddshot.app.edits import Edits
from oddshot.app.readable_dates import check_dates
from oddshot.data.encoding import Encoding
from oddshot.data.encoding.choice import ColumnChoice
from oddshot.data.encoding.description import NOT_USED, ColumnDescription, describe_table
from oddshot.data.encoding.interval_column import pair_with_row_before
from oddshot.data.tables import read_table
from oddshot.data.tables.skipped_cells import SkippedCells
from oddshot.errors import InputError, OddshotError
from oddshot.storage.container import read_digest
from oddshot.storage.model_file import Model, to_bytes

MAX_CELL_CHARACTERS = 200  # shown on the page
MAX_COLUMNS = 2000
_MAX_EXACT_INTEGER = 2**53  # in JavaScript

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Column:
    """Description of a column for the page. kind: number, boolean, category, date, or "not used"."""

    name: str
    kind: str
    missing: int  # cells without a value
    note: str


@dataclass(frozen=True)
class Sheet:
    """A table of n rows and their encoding, which is fixed when the table is read and independent of labels."""

    name: str
    digest: str  # SHA-256 of the file
    table: Any  # Arrow table of all columns
    model: Model  # bound to the encoding of this table
    encoded: NDArray[np.float32]  # [n, attributes]
    truth: NDArray[np.int8] | None = None  # [n], 1 for anomalies, of the built-in example; used for its AUC only
    left_out: tuple[str, ...] = ()  # columns that the detector does not use
    notices: tuple[str, ...] = ()  # warnings from reading the file

    @property
    def encoding(self) -> Encoding:
        """The encoding of the columns as attributes."""
        assert self.model.encoding is not None
        return self.model.encoding

    @cached_property
    def columns(self) -> ColumnCache:
        """The columns for sorting, filtering and counting."""
        return ColumnCache(self.table, self.encoding)

    def __len__(self) -> int:
        return len(self.encoded)

    @cached_property
    def model_digest(self) -> str:
        """Tells models and encodings apart, the same in every run."""
        return read_digest(to_bytes(self.model))

    @property
    def n_bytes(self) -> int:
        """The memory that the table and its encoded rows take."""
        return int(self.table.nbytes + self.encoded.nbytes)

    def take(self, rows: NDArray[np.int64]) -> Any:
        """An Arrow table of these rows, without the columns left out."""
        used = pair_with_row_before(self.table.drop_columns(list(self.left_out)), self.encoding.intervals)
        return used.take(rows)


def read_sheet(path: Path, name: str, digest: str, model: Model, edits: Edits) -> Sheet:
    """Read a file. Its errors and warnings mention `name` instead of the path, which is a temporary one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            table = read_table(path)
            check_dates(table, name)
        except OddshotError as error:  # whatever its kind: the uploaded file is what the person has given
            raise InputError(str(error).replace(str(path), name)) from None
        present = tuple(column for column in edits.left_out if column in table.column_names)
        sheet = make_sheet(table.combine_chunks(), name, digest, model, left_out=present, kinds=edits.kinds)
    messages = [" ".join(str(w.message).split()) for w in caught if issubclass(w.category, UserWarning)]
    notices = dict.fromkeys(message.replace(str(path), name) for message in messages)
    return dataclasses.replace(sheet, notices=tuple(notices))


def make_sheet(
    table: Any,
    name: str,
    digest: str,
    model: Model,
    truth: NDArray[np.int8] | None = None,
    left_out: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
) -> Sheet:
    """Encode an Arrow table. The encoding is fitted to all its rows, unless the model has an encoding of its own.

    kinds: what a person takes columns for, by name; the others are recognised.
    """
    if table.num_columns > MAX_COLUMNS:
        raise InputError(f"{name}: {table.num_columns:,} columns; the app shows at most {MAX_COLUMNS:,}")
    used = table.drop_columns(list(left_out))
    if used.num_columns == 0:
        raise InputError(f"{name}: every column is left out; at least one is needed")
    if model.encoding is None:
        choice = ColumnChoice(kinds={column: kind for column, kind in (kinds or {}).items() if column not in left_out})
        bound = with_encoding(model, Encoding.fit([used], [name], choice))
    elif kinds:
        raise InputError("the kinds of columns are those that the model was trained with; they cannot be chosen")
    else:
        bound = model
    assert bound.encoding is not None
    skipped = SkippedCells()
    encoded = bound.encoding.transform(used, name, skipped=skipped)
    skipped.check_bad_shares(name, len(encoded))
    for notice in skipped.notices():
        warnings.warn(f"{name}: {notice}", stacklevel=2)
    return Sheet(name, digest, table, bound, encoded, truth, tuple(left_out))


def encode_again(sheet: Sheet, model: Model, edits: Edits) -> Sheet:
    """The same table with the columns, of the kinds, that the edits ask for."""
    left_out = tuple(edits.left_out)
    again = make_sheet(sheet.table, sheet.name, sheet.digest, model, sheet.truth, left_out, edits.kinds)
    return dataclasses.replace(again, notices=sheet.notices)


def with_encoding(model: Model, encoding: Encoding) -> Model:
    """Bind a model for tables of any width to the encoding of one table."""
    method = copy.copy(model.method)  # shares the weights
    method.n_attributes = encoding.n_attributes
    return dataclasses.replace(model, method=method, encoding=encoding)


def describe_columns(sheet: Sheet) -> list[Column]:
    """Describe every column: its kind, its number of missing values, and its range or reason not to be used."""
    out = []
    for column in describe_table(sheet.table, sheet.encoding, sheet.name):
        if column.name in sheet.left_out:
            column = ColumnDescription(column.name, NOT_USED, sheet.table[column.name].null_count, "left out by you")
        out.append(Column(column.name, column.kind, column.n_missing, column.note))
    return out


def json_cells(table: Any) -> list[list[Cell]]:
    """The cells of each row of an Arrow table, in types that JSON has and JavaScript represents exactly."""
    columns = [[_json_cell(value) for value in column.to_pylist()] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _json_cell(value: object) -> Cell:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _MAX_EXACT_INTEGER else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return _shortened_text(value)


def _shortened_text(value: object) -> str:
    text = str(value).encode("utf-8", "replace").decode()
    return text if len(text) <= MAX_CELL_CHARACTERS else text[: MAX_CELL_CHARACTERS - 1] + "…"
