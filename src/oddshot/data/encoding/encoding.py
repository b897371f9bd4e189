"""Encode tables with columns of any kind as numbers, in the same way for every task."""

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oddshot.data.encoding.choice import IGNORED, NOT_CHOSEN, ColumnChoice
from oddshot.data.encoding.column_encoder import ALL_MISSING, ColumnEncoder
from oddshot.data.encoding.date_column import NOTHING_RECURS
from oddshot.data.encoding.interval_column import IntervalColumn, pair_with_row_before
from oddshot.data.encoding.kinds import KINDS, encoder_from_dict, encoder_to_dict, fit_column
from oddshot.data.encoding.numeric_arrays import (
    check_magnitudes,
    check_width,
    encode_array,
    fit_arrays,
    is_numeric_array,
)
from oddshot.data.encoding.numeric_column import NumericColumn
from oddshot.data.encoding.plain_numbers import fit_plain_numbers, plain_matrix
from oddshot.data.encoding.running import RUNNING_NUMBER, UNIQUE_KEY
from oddshot.data.encoding.scaling import MAX_SCALED_VALUE
from oddshot.data.tables.column_names import select_columns
from oddshot.data.tables.columns import CellLocation, RowNumbers
from oddshot.data.tables.conversion import as_table, has_column_names
from oddshot.data.tables.skipped_cells import SkippedCells
from oddshot.errors import InputError

_ROWS_PER_THREAD = 1 << 18  # read by one thread at a time, which limits the memory for them
_ROWS_PER_BLOCK = 1 << 14  # written at a time, which stay in the processor's cache
_MAX_REASONS_SHOWN = 5  # in an error message

KEPT_AT_NEED = (RUNNING_NUMBER, UNIQUE_KEY, NOTHING_RECURS)
"""Why columns are left out that are used where nothing else is."""

_NOT_TOLD = (IGNORED, NOT_CHOSEN, ALL_MISSING)


@dataclass(frozen=True)
class Encoding:
    """How a table of M columns is encoded as numbers; fitted on the training tasks and stored in the model file.

    columns: the names of the M columns in the order of training. encoders: one for each column of use, in that order.
    dropped: the other columns, each with the reason.
    """

    columns: tuple[str, ...]
    encoders: tuple[ColumnEncoder, ...]
    dropped: Mapping[str, str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dropped", dict(self.dropped))  # a plain dict can be copied and pickled
        kept = [encoder.name for encoder in self.encoders]
        if not kept or kept != [name for name in self.columns if name not in self.dropped]:
            raise InputError("encoding: its columns and encoders do not agree")
        if len(set(self.columns)) != len(self.columns) or len(self.columns) != len(kept) + len(self.dropped):
            raise InputError("encoding: its columns and dropped columns do not agree")

    @classmethod
    def fit(
        cls,
        tables: Sequence[Any],
        where: Sequence[str] | None = None,
        choice: ColumnChoice | None = None,
        context: Sequence[Any] = (),
        row_numbers: Sequence[RowNumbers] | None = None,
    ) -> "Encoding":
        """Learn the columns' kinds, means, standard deviations and categories from all rows of all tables together.

        tables: frames, Arrow tables, dicts of columns, or arrays [n, M], with the same columns. where: the name of each
        table in error messages. choice: which columns to use, and as what; without it, columns with names that number
        the rows or are a clock are left out with a warning. context: more tables, which show what is a key.
        row_numbers: how messages number the rows of each table.
        """
        where = where or [f"table {i + 1}" for i in range(len(tables))]
        row_numbers = row_numbers or [1] * len(tables)
        if not tables:
            raise InputError("no table to fit the encoding on")
        found: Sequence[ColumnEncoder | str]
        if all(is_numeric_array(X) for X in tables) and not choice:
            columns, found = fit_arrays(tables, where, row_numbers)
        else:
            columns, found = _fit_tables(tables, where, choice or ColumnChoice(), context, row_numbers)
        encoders = tuple(one for one in found if not isinstance(one, str))
        dropped = {name: one for name, one in zip(columns, found, strict=True) if isinstance(one, str)}
        if not encoders:
            reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(dropped.items())[:_MAX_REASONS_SHOWN])
            raise InputError(f"{where[0]}: no column is of use ({reasons or 'there is none'})")
        _warn_of_left_out(dropped, where[0])
        return cls(tuple(columns), encoders, dropped)

    def transform(
        self, X: Any, where: str = "table", row_numbers: RowNumbers = 1, skipped: SkippedCells | None = None
    ) -> NDArray[np.float32]:
        """Encode a table of n rows: [n, n_attributes], without NaN and infinities.

        Columns are matched by name, those of an array by position. where, row_numbers: how messages call the table and
        its rows. skipped: of rows to score, gathers cells that are taken as missing, and gaps in columns that had none
        when it was fitted; without it, bad cells are errors, and there is a warning of infinite ones. Arrays with
        infinite numbers are refused.
        """
        if not has_column_names(X):
            check_width(X, len(self.columns), where)
        numeric = [one for one in self.encoders if isinstance(one, NumericColumn) and one.kind == "number"]
        if is_numeric_array(X):
            check_magnitudes(X, self.columns, where, row_numbers)
        if is_numeric_array(X) and len(numeric) == len(self.encoders):
            used = [name not in self.dropped for name in self.columns]
            return encode_array(numeric, X if all(used) else X[:, used], skipped)
        table = pair_with_row_before(self._select(X, where), self.intervals)
        if len(numeric) == len(self.encoders) and table.num_rows <= _ROWS_PER_BLOCK:
            matrix = plain_matrix(table)
            if matrix is not None:
                return encode_array(numeric, matrix, skipped)
        return _encode_table(
            table, self.encoders, [CellLocation(where, one.name, row_numbers, skipped) for one in self.encoders]
        )

    def clip(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Encoded rows to learn from, without numbers far outside of the others: [n, n_attributes]."""
        return np.clip(rows, -self._limits, self._limits)

    @cached_property
    def _limits(self) -> NDArray[np.float32]:
        """Of the size of each attribute: [n_attributes]."""
        limits: list[float] = []
        for encoder in self.encoders:
            limits += [encoder.first_limit, *[MAX_SCALED_VALUE] * (len(encoder.attribute_names) - 1)]
        return np.array(limits, np.float32)

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column of use: number, boolean, category, date, text or interval."""
        return {encoder.name: encoder.kind for encoder in self.encoders}

    def recognised(self, choice: ColumnChoice | None) -> dict[str, int]:
        """Return the positions in the table of the columns that are used though nobody asked for them by name."""
        asked = set() if choice is None else {*choice.kinds, *(choice.only or ())}
        return {name: j for j, name in enumerate(self.columns) if name not in asked and name not in self.dropped}

    @property
    def intervals(self) -> tuple[str, ...]:
        """The columns of which the time since the row before is used."""
        return tuple(encoder.name for encoder in self.encoders if isinstance(encoder, IntervalColumn))

    @property
    def stored_kinds(self) -> dict[str, str]:
        """The kinds as which files are to be read: as kinds, or "text" where only the encoder can read the cells."""
        return {encoder.name: encoder.stored_kind for encoder in self.encoders}

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The names of the attributes, in the order of transform."""
        return tuple(name for encoder in self.encoders for name in encoder.attribute_names)

    @property
    def n_attributes(self) -> int:
        """How many numbers a row is encoded as."""
        return len(self.attribute_names)

    def describe(self) -> list[str]:
        """Return lines for people: the columns by kind, then the dropped columns and why."""
        lines = []
        for kind in KINDS.values():
            columns = [encoder.describe() for encoder in self.encoders if encoder.kind == kind.name]
            if columns:
                lines.append(f"{len(columns)} {kind.plural if len(columns) > 1 else kind.name}: {', '.join(columns)}")
        return lines + [f"dropped {name}: {reason}" for name, reason in self.dropped.items()]

    def to_dict(self) -> dict[str, Any]:
        """Return everything in types that JSON has."""
        encoders = [encoder_to_dict(encoder) for encoder in self.encoders]
        return {"columns": list(self.columns), "encoders": encoders, "dropped": dict(self.dropped)}

    @classmethod
    def from_dict(cls, data: object) -> "Encoding":
        """Rebuild an encoding from the untrusted JSON form of to_dict."""
        if not isinstance(data, dict) or set(data) != {"columns", "encoders", "dropped"}:
            raise InputError("encoding: expected columns, encoders and dropped")
        columns, encoders, dropped = data["columns"], data["encoders"], data["dropped"]
        if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
            raise InputError("encoding: columns is not a list of names")
        if not isinstance(dropped, dict) or not all(isinstance(one, str) for pair in dropped.items() for one in pair):
            raise InputError("encoding: dropped is not a map from names to reasons")
        if not isinstance(encoders, list):
            raise InputError("encoding: encoders is not a list")
        return cls(tuple(columns), tuple(encoder_from_dict(one) for one in encoders), dropped)

    def _select(self, X: Any, where: str) -> Any:
        """Return the columns of use, in order; dropped columns may be present or not."""
        table = _with_names(X, self.columns, where)
        present = [name for name in table.column_names if name not in self.dropped]
        return select_columns(table.select(present), [encoder.name for encoder in self.encoders], where)


def _fit_tables(
    tables: Sequence[Any],
    where: Sequence[str],
    choice: ColumnChoice,
    context: Sequence[Any],
    row_numbers: Sequence[RowNumbers],
) -> tuple[list[str], list[ColumnEncoder | str]]:
    """Return the column names, and the encoder of each or why it is of no use."""
    first = as_table(tables[0], where[0])
    columns = first.column_names
    choice.check_names(columns, where[0])
    for X, table_name, numbers in zip(tables, where, row_numbers, strict=True):
        if is_numeric_array(X):
            check_magnitudes(X, columns, table_name, numbers)
    arrow_tables = [first]
    for X, table_name in zip(tables[1:], where[1:], strict=True):
        arrow_tables.append(select_columns(_with_names(X, columns, table_name), columns, table_name))
    arrow_tables = [pair_with_row_before(table, choice.intervals) for table in arrow_tables]

    def fit(name: str, asked: str | None, keep: bool = False) -> ColumnEncoder | str:
        locations = [CellLocation(table_name, name, rows) for table_name, rows in zip(where, row_numbers, strict=True)]
        seen = [table[name] for table, names in zip(others, names_of_others, strict=True) if name in names]
        return fit_column([table[name] for table in arrow_tables], locations, asked, keep, seen)

    is_named, others = has_column_names(tables[0]), [as_table(X) for X in context]
    names_of_others = [set(table.column_names) for table in others]
    unasked = [name for name in columns if choice.reason_to_drop(name) is None and choice.kind(name) is None]
    plain = {} if others else fit_plain_numbers(arrow_tables, unasked)
    found = [
        choice.reason_to_drop(name)
        or plain.get(name)
        or fit(name, choice.kind(name), not is_named or choice.keeps(name))
        for name in columns
    ]
    if all(isinstance(one, str) for one in found):  # a key is better than nothing
        found = [fit(name, "number") if one in KEPT_AT_NEED else one for name, one in zip(columns, found, strict=True)]
    return columns, found


def _warn_of_left_out(dropped: Mapping[str, str], where: str) -> None:
    """Say which columns were left out though they have values and nobody asked for it, and why."""
    told = [(name, reason) for name, reason in dropped.items() if reason not in _NOT_TOLD]
    if told:
        told.sort(key=lambda pair: pair[1] in KEPT_AT_NEED)
        shown = "; ".join(f"{name!r}: {reason}" for name, reason in told[:_MAX_REASONS_SHOWN])
        more = f" and {len(told) - _MAX_REASONS_SHOWN} more" if len(told) > _MAX_REASONS_SHOWN else ""
        remedy = " (the kind number keeps it)" if told[-1][1] in KEPT_AT_NEED else ""
        warnings.warn(f"{where}: left out {shown}{more}{remedy}", stacklevel=3)


def _encode_table(
    table: Any, encoders: Sequence[ColumnEncoder], locations: Sequence[CellLocation]
) -> NDArray[np.float32]:
    """Encode all columns, each with its encoder, side by side: [n, n_attributes]."""
    ends = np.cumsum([len(encoder.attribute_names) for encoder in encoders]).tolist()
    rows = np.empty((table.num_rows, ends[-1]), np.float32)

    def encode_part(top: int) -> None:
        part, out = table.slice(top, _ROWS_PER_THREAD), rows[top : top + _ROWS_PER_THREAD]
        fills = [
            encoder.read(part[encoder.name], location.below(top))
            for encoder, location in zip(encoders, locations, strict=True)
        ]
        for start in range(0, len(out), _ROWS_PER_BLOCK):
            block = slice(start, start + _ROWS_PER_BLOCK)
            for fill, left, right in zip(fills, [0, *ends], ends, strict=False):
                fill(block, out[block, left:right])

    tops = range(0, len(rows), _ROWS_PER_THREAD)
    if len(tops) <= 1:
        list(map(encode_part, tops))
    else:
        with ThreadPoolExecutor(pa.cpu_count()) as pool:
            list(pool.map(encode_part, tops))
    return rows


def _with_names(X: Any, columns: Sequence[str], where: str) -> Any:
    """Convert X to an Arrow table; columns without names get these."""
    if has_column_names(X):
        return as_table(X, where)
    check_width(X, len(columns), where)
    return as_table(X, where).rename_columns(list(columns))
