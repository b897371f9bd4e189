"""Tables with columns of any kind become numbers, in the same way for every task."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from oddshot.data.encoding.encoders import CategoryColumn, ColumnEncoder, NumericColumn, Rows, encoder_from_dict
from oddshot.data.encoding.fitting import fit_column
from oddshot.data.encoding.matrices import check_matrix, check_width, encode_matrix, fit_matrices, is_numeric
from oddshot.data.tables.cells import Place
from oddshot.data.tables.frames import as_table, has_names, select_columns
from oddshot.errors import InputError

_PART = 1 << 18  # rows that one thread reads, which needs memory for them
_BLOCK = 1 << 14  # rows that it writes at once, which stay in the cache
_PLURALS = {"number": "numbers", "boolean": "booleans", "category": "categories", "date": "dates"}


@dataclass(frozen=True)
class Encoding:
    """How a table of M columns becomes rows of numbers; fitted on the training tasks, stored in the model file.

    columns: the names of the M columns in the order of training. encoders: one for each column of use, in that order.
    dropped: the other columns, each with the reason.
    """

    columns: tuple[str, ...]
    encoders: tuple[ColumnEncoder, ...]
    dropped: Mapping[str, str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dropped", dict(self.dropped))  # plain, so that it can be copied and pickled
        kept = [encoder.name for encoder in self.encoders]
        if not kept or kept != [name for name in self.columns if name not in self.dropped]:
            raise InputError("encoding: its columns and encoders do not agree")
        if len(set(self.columns)) != len(self.columns) or len(self.columns) != len(kept) + len(self.dropped):
            raise InputError("encoding: its columns and dropped columns do not agree")

    @classmethod
    def fit(cls, tables: Sequence[Any], where: Sequence[str] | None = None) -> "Encoding":
        """Learn kinds, means, deviations and categories from all rows of all tables together.

        tables: frames, Arrow tables, dicts of columns, or arrays [n, M], with the same columns. where: what messages
        call each table.
        """
        where = where or [f"table {i + 1}" for i in range(len(tables))]
        if not tables:
            raise InputError("no table to fit the encoding on")
        fit = fit_matrices if all(is_numeric(X) for X in tables) else _fit_tables
        columns, found = fit(tables, where)
        encoders = tuple(one for one in found if not isinstance(one, str))
        dropped = {name: one for name, one in zip(columns, found, strict=True) if isinstance(one, str)}
        if not encoders:
            reasons = "; ".join(f"{name!r}: {reason}" for name, reason in list(dropped.items())[:5])
            raise InputError(f"{where[0]}: no column is of use ({reasons or 'there is none'})")
        return cls(tuple(columns), encoders, dropped)

    def transform(self, X: Any, where: str = "table", first_row: int = 1) -> Rows:
        """A table of n rows as numbers: [n, n_attributes]; no NaN, no infinity.

        Columns are found by name, those of an array by position. where and first_row: what messages call the table and
        its first row.
        """
        if not has_names(X):
            check_width(X, len(self.columns), where)
        numeric = [one for one in self.encoders if isinstance(one, NumericColumn) and one.kind == "number"]
        if is_numeric(X) and len(numeric) == len(self.encoders):
            check_matrix(X, self.columns, where, first_row)
            used = [name not in self.dropped for name in self.columns]
            return encode_matrix(numeric, X if all(used) else X[:, used])
        return _encode_table(self.encoders, self._select(X, where), where, first_row)

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column of use: number, boolean, category or date."""
        return {encoder.name: encoder.kind for encoder in self.encoders}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes, in the order of transform."""
        return tuple(name for encoder in self.encoders for name in encoder.names)

    @property
    def n_attributes(self) -> int:
        """How many numbers a row becomes."""
        return len(self.names)

    def describe(self) -> list[str]:
        """Lines for people: the columns by kind, then what was dropped and why."""
        lines = []
        for kind, plural in _PLURALS.items():
            columns = [_describe(encoder) for encoder in self.encoders if encoder.kind == kind]
            if columns:
                lines.append(f"{len(columns)} {plural if len(columns) > 1 else kind}: {', '.join(columns)}")
        return lines + [f"dropped {name}: {reason}" for name, reason in self.dropped.items()]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON has."""
        encoders = [asdict(encoder) for encoder in self.encoders]
        return {"columns": list(self.columns), "encoders": encoders, "dropped": dict(self.dropped)}

    @classmethod
    def from_dict(cls, data: object) -> "Encoding":
        """Back from to_dict by way of JSON, trusting nothing."""
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
        """The columns of use, in order. A dropped column may be there or not."""
        table = _named(X, self.columns, where)
        present = [name for name in table.column_names if name not in self.dropped]
        return select_columns(table.select(present), [encoder.name for encoder in self.encoders], where)


def _fit_tables(tables: Sequence[Any], where: Sequence[str]) -> tuple[list[str], list[ColumnEncoder | str]]:
    """Column names, and the encoder of each or why it is of no use."""
    first = as_table(tables[0], where[0])
    columns = first.column_names
    arrow = [first]
    for X, place in zip(tables[1:], where[1:], strict=True):
        arrow.append(select_columns(_named(X, columns, place), columns, place))
    found = []
    for name in columns:
        places = [Place(place, name) for place in where]
        found.append(fit_column([table[name] for table in arrow], places))
    return columns, found


def _encode_table(encoders: Sequence[ColumnEncoder], table: Any, where: str, first_row: int) -> Rows:
    """All columns, each with its encoder, side by side: [n, attributes]."""
    ends = np.cumsum([len(encoder.names) for encoder in encoders]).tolist()
    rows = np.empty((table.num_rows, ends[-1]), np.float32)

    def encode_part(top: int) -> None:
        part, out = table.slice(top, _PART), rows[top : top + _PART]
        places = [Place(where, encoder.name, first_row + top) for encoder in encoders]
        fills = [encoder.read(part[encoder.name], place) for encoder, place in zip(encoders, places, strict=True)]
        for start in range(0, len(out), _BLOCK):
            block = slice(start, start + _BLOCK)
            for fill, left, right in zip(fills, [0, *ends], ends, strict=False):
                fill(block, out[block, left:right])

    tops = range(0, len(rows), _PART)
    if len(tops) <= 1:
        list(map(encode_part, tops))
    else:
        with ThreadPoolExecutor(pa.cpu_count()) as pool:
            list(pool.map(encode_part, tops))
    return rows


def _named(X: Any, columns: Sequence[str], where: str) -> Any:
    """X as an Arrow table; if its columns have no names, with these."""
    if has_names(X):
        return as_table(X, where)
    check_width(X, len(columns), where)
    return as_table(X, where).rename_columns(list(columns))


def _describe(encoder: ColumnEncoder) -> str:
    if isinstance(encoder, CategoryColumn):
        return f"{encoder.name} ({len(encoder.categories)}{' and others' * encoder.other})"
    return encoder.name
