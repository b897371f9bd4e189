"""The registry of column kinds: how a kind is recognised, and which encoder its columns get.

`columns` are always the same column of each training table, as pyarrow.ChunkedArrays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from oddshot.data.encoding.category_column import CategoryColumn, fit_categories
from oddshot.data.encoding.column_encoder import ColumnEncoder
from oddshot.data.encoding.date_column import DateColumn, fit_dates
from oddshot.data.encoding.numeric_column import NumericColumn, fit_booleans, fit_numbers
from oddshot.data.tables import parsing
from oddshot.data.tables.columns import (
    ArrowKind,
    CellLocation,
    all_text_parses,
    arrow_kind,
    distinct_values,
    has_values,
    read_numbers,
)
from oddshot.errors import InputError

ALL_MISSING = "all values missing"


@dataclass(frozen=True)
class ColumnKind:
    """A kind of column.

    encoder: the class of its encoders. fit: learns the encoder from `columns`, or returns the reason why they are of no
    use. arrow_kinds: a column that a table stores as one of these kinds is recognised. parser: text is recognised if it
    parses all cells. recognised_from_text: whether a column that all tables store as text is recognised.
    """

    name: str
    plural: str
    encoder: type[ColumnEncoder]
    fit: Callable[[Sequence[Any], Sequence[CellLocation]], ColumnEncoder | str]
    arrow_kinds: tuple[ArrowKind, ...]
    parser: parsing.Parser
    recognised_from_text: bool


NUMBER = ColumnKind("number", "numbers", NumericColumn, fit_numbers, ("number",), parsing.parse_numbers, True)
BOOLEAN = ColumnKind("boolean", "booleans", NumericColumn, fit_booleans, ("boolean",), parsing.parse_booleans, False)
CATEGORY = ColumnKind("category", "categories", CategoryColumn, fit_categories, (), parsing.clean_text, False)
DATE = ColumnKind("date", "dates", DateColumn, fit_dates, ("date",), parsing.parse_timestamps, True)

KINDS: dict[str, ColumnKind] = {kind.name: kind for kind in (NUMBER, BOOLEAN, CATEGORY, DATE)}
"""Column kinds by the name that model files and Encoding.kinds have for them.

Kinds are tried in this order, and a column that is none of the others is a category. To add a kind, write a module like
date_column.py with an encoder and a fit function, and add a ColumnKind here. The encoder then gets such columns of
streamed CSV files as text, unless tables/csv_streaming.py names a type for them. The app shows them by app/sheet.py.
"""


def fit_column(columns: Sequence[Any], locations: Sequence[CellLocation]) -> ColumnEncoder | str:
    """Recognise the kind of a column and fit its encoder; return the reason if the column is of no use."""
    with_values = [column for column in columns if has_values(column)]
    if not with_values:
        return ALL_MISSING
    for column in with_values:
        if arrow_kind(column) == "other":
            return f"{column.type} values"
    return recognise_kind(with_values).fit(columns, locations)


def recognise_kind(columns: Sequence[Any]) -> ColumnKind:
    """Return the kind that fits the column in every table; each of `columns` has values."""
    stored_kinds = {arrow_kind(column) for column in columns} - {"text"}
    if stored_kinds == {"number", "boolean"}:  # 0 and 1 in one table, true and false in another
        return BOOLEAN if all(_can_be_boolean(column) for column in columns) else CATEGORY
    if len(stored_kinds) > 1:
        return CATEGORY
    if stored_kinds:
        candidates = [kind for kind in KINDS.values() if stored_kinds <= set(kind.arrow_kinds)]
    else:
        candidates = [kind for kind in KINDS.values() if kind.recognised_from_text]
    texts = [distinct_values(column)[1] for column in columns if arrow_kind(column) == "text"]
    for kind in candidates:
        if all(all_text_parses(text, kind.parser) for text in texts):
            return kind
    return CATEGORY


def encoder_from_dict(data: object) -> ColumnEncoder:
    """Rebuild an encoder from the untrusted JSON form of dataclasses.asdict."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"encoding: {str(data)[:60]!r} is not an encoder")
    encoder = KINDS[kind].encoder
    if set(data) != {field.name for field in fields(encoder)}:
        raise InputError(f"encoding of column {str(data.get('name'))[:60]!r}: wrong fields for a {kind}")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    return encoder(**values)


def _can_be_boolean(column: Any) -> bool:
    """Return whether all cells are true, false, 0 or 1."""
    values = distinct_values(column)[1]
    if arrow_kind(values) == "number":
        numbers = read_numbers(pa.chunked_array([values]), CellLocation("", ""))
        return bool(np.isin(numbers[~np.isnan(numbers)], (0, 1)).all())
    return arrow_kind(values) == "boolean" or all_text_parses(values, parsing.parse_booleans)
