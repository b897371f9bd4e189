"""The registry of column kinds: how a kind is recognised, and which encoder its columns get.

`columns` are always the same column of each training table, as pyarrow.ChunkedArrays.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oddshot.data.encoding.category_column import (
    CategoryColumn,
    count_categories,
    fit_categories,
    fit_recognised_categories,
    why_no_categories,
)
from oddshot.data.encoding.column_encoder import ALL_MISSING, ColumnEncoder
from oddshot.data.encoding.date_column import DateColumn, fit_clock, fit_dates
from oddshot.data.encoding.interval_column import IntervalColumn, fit_intervals
from oddshot.data.encoding.numeric_column import (
    NumericColumn,
    fit_booleans,
    fit_mostly_numbers,
    fit_number_values,
    fit_numbers,
    read_written_numbers,
)
from oddshot.data.encoding.running import LONG_NUMBER, are_long_numbers, date_order, why_left_out
from oddshot.data.encoding.text_column import TextColumn, fit_text
from oddshot.data.tables import parsing
from oddshot.data.tables.columns import (
    MAX_MAGNITUDE,
    ArrowKind,
    CellLocation,
    all_text_parses,
    arrow_kind,
    distinct_texts,
    distinct_values,
    first_distinct_texts,
    has_values,
    read_any_numbers,
)
from oddshot.data.tables.skipped_cells import SkippedCells
from oddshot.data.tables.written_dates import detect_dates
from oddshot.data.tables.written_numbers import PLAIN, detect_notation
from oddshot.errors import InputError

_MIN_ROWS_OF_WORDS = 20  # fewer may not show the third word beside yes and no


@dataclass(frozen=True)
class ColumnKind:
    """A kind of column.

    encoder: the class of its encoders. fit: learns the encoder from `columns`, or returns the reason why they are of no
    use. arrow_kinds: a column that a table stores as one of these kinds is recognised. parser: text is recognised if it
    parses all cells. recognised_from_text: whether a column that all tables store as text is recognised. fit_asked: as
    fit, where a person has named the kind.
    """

    name: str
    plural: str
    encoder: type[ColumnEncoder]
    fit: Callable[[Sequence[Any], Sequence[CellLocation]], ColumnEncoder | str]
    arrow_kinds: tuple[ArrowKind, ...]
    parser: parsing.Parser
    recognised_from_text: bool
    fit_asked: Callable[[Sequence[Any], Sequence[CellLocation]], ColumnEncoder | str] | None = None


def _parse_numbers(text: Any) -> Any:
    """Accept text in which every cell is a number, written as people do."""
    if detect_notation(text) is None:
        raise pa.ArrowInvalid("not numbers")
    return text


def _parse_words(text: Any) -> Any:
    """Accept two words, one of them for true and one for false."""
    words = pc.unique(pc.utf8_lower(text).drop_null())
    if len(words) != 2 or pc.sum(parsing.parse_booleans(words).cast(pa.int8())).as_py() != 1:
        raise pa.ArrowInvalid("not true and false")
    return text


def _parse_dates(text: Any) -> Any:
    """Accept text in which every cell is a date, all written in the same way."""
    if detect_dates(text) is None:
        raise pa.ArrowInvalid("not dates")
    return text


NUMBER = ColumnKind("number", "numbers", NumericColumn, fit_numbers, ("number",), _parse_numbers, True)
BOOLEAN = ColumnKind("boolean", "booleans", NumericColumn, fit_booleans, ("boolean",), _parse_words, True)
CATEGORY = ColumnKind(
    "category",
    "categories",
    CategoryColumn,
    fit_recognised_categories,
    (),
    parsing.clean_text,
    False,
    fit_categories,
)
DATE = ColumnKind("date", "dates", DateColumn, fit_dates, ("date",), _parse_dates, True)
TEXT = ColumnKind("text", "texts", TextColumn, fit_text, (), parsing.clean_text, False)

INTERVAL = ColumnKind("interval", "intervals", IntervalColumn, fit_intervals, (), parsing.clean_text, False)

KINDS: dict[str, ColumnKind] = {kind.name: kind for kind in (NUMBER, BOOLEAN, CATEGORY, DATE, TEXT, INTERVAL)}
"""Column kinds by the name that model files and Encoding.kinds have for them.

Kinds are tried in this order, and a column that is none of the others is a category. To add a kind, write a module like
date_column.py with an encoder and a fit function, and add a ColumnKind here. The encoder then gets such columns of
streamed CSV files as text, unless tables/csv_streaming.py names a type for them. The app shows them by app/sheet.py.
"""


def fit_column(
    columns: Sequence[Any],
    locations: Sequence[CellLocation],
    asked: str | None = None,
    keep: bool = False,
    context: Sequence[Any] = (),
) -> ColumnEncoder | str:
    """Recognise the kind of a column and fit its encoder; return the reason if the column is of no use.

    asked: the kind that a person wants, if any. keep: whether a key is kept. context: the same column of tables that
    show what is a key, but are not fitted on.
    """
    if asked == INTERVAL.name:
        return fit_intervals(columns, locations)
    with_values = [column for column in columns if has_values(column)]
    if not with_values:
        return ALL_MISSING
    for column in with_values:
        if arrow_kind(column) == "other":
            return f"{column.type} values"
    if asked is not None:
        return _fit_asked(KINDS[asked], with_values, columns, locations)
    context = [column for column in context if has_values(column)]
    kind, known = recognise_kind(with_values), [*columns, *context]
    if kind is CATEGORY and recognise_kind([*with_values, *context]) is BOOLEAN:  # too few rows alone for two words
        kind = BOOLEAN
    if kind is NUMBER and not keep:
        return _fit_numbers_or_reason(columns, locations, context)
    if kind is CATEGORY and (encoder := fit_mostly_numbers(columns, locations)) is not None:
        return encoder
    if kind is CATEGORY and len(known) > len(columns) and all(arrow_kind(column) != "other" for column in known):
        return why_no_categories(count_categories(known)) or kind.fit(columns, locations)
    return kind.fit(columns, locations)


def _fit_asked(
    kind: ColumnKind, with_values: Sequence[Any], columns: Sequence[Any], locations: Sequence[CellLocation]
) -> ColumnEncoder | str:
    """Fit the encoder of the kind that a person has named; a date as a number is absolute time."""
    if kind is NUMBER and recognise_kind(with_values) is DATE:
        return fit_clock(columns, locations)
    return (kind.fit_asked or kind.fit)(columns, locations)


def _fit_numbers_or_reason(
    columns: Sequence[Any], locations: Sequence[CellLocation], context: Sequence[Any]
) -> ColumnEncoder | str:
    """Fit the encoder of a column of numbers, unless it counts rows or seconds, or identifies them."""
    values, notation = read_written_numbers(columns, locations)
    known, name = list(values), locations[0].column
    for column in context:
        with suppress(InputError):  # a file to score may hold anything
            known.append(read_any_numbers(column, CellLocation("", name, skipped=SkippedCells()), notation))
    known = [np.where(np.isinf(one), np.nan, one) for one in known]
    order = date_order(name, known)
    if order is not None:
        return fit_dates(columns, locations, order)
    if are_long_numbers(values, MAX_MAGNITUDE):
        return LONG_NUMBER
    return why_left_out(name, known) or fit_number_values(values, notation, locations)


def recognise_kind(columns: Sequence[Any]) -> ColumnKind:
    """Return the kind that fits the column in every table; each of `columns` has values."""
    stored_kinds = {arrow_kind(column) for column in columns} - {"text"}
    if stored_kinds == {"number", "boolean"}:  # 0 and 1 in one table, true and false in another
        return BOOLEAN if all(_can_be_boolean(column) for column in columns) else CATEGORY
    if len(stored_kinds) > 1:
        return CATEGORY
    if not stored_kinds:
        return _recognise_text(columns)
    texts = distinct_texts(columns)
    if stored_kinds == {"boolean"}:
        return BOOLEAN if all_text_parses(texts, parsing.parse_booleans) else CATEGORY
    if len(texts) and not _is_written_as_stored(texts, stored_kinds):
        return CATEGORY
    candidates = [kind for kind in KINDS.values() if stored_kinds <= set(kind.arrow_kinds)]
    return next((kind for kind in candidates if all_text_parses(texts, kind.parser)), CATEGORY)


def _recognise_text(columns: Sequence[Any]) -> ColumnKind:
    """Return the kind of a column that all tables store as text."""
    n_rows = sum(len(column) - column.null_count for column in columns)
    first = first_distinct_texts(columns)  # mostly settles it
    for kind in KINDS.values():
        if not kind.recognised_from_text or (kind is BOOLEAN and n_rows < _MIN_ROWS_OF_WORDS):
            continue
        if all_text_parses(first, kind.parser) and all_text_parses(distinct_texts(columns), kind.parser):
            return kind
    return CATEGORY


def encoder_to_dict(encoder: ColumnEncoder) -> dict[str, Any]:
    """Return the fields of an encoder in types that JSON has, without those that have their default."""
    defaults = {field.name: field.default for field in fields(encoder) if field.default is not MISSING}
    return {name: value for name, value in asdict(encoder).items() if name not in defaults or value != defaults[name]}


def encoder_from_dict(data: object) -> ColumnEncoder:
    """Rebuild an encoder from the untrusted JSON form of encoder_to_dict."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"encoding: {str(data)[:60]!r} is not an encoder")
    encoder = KINDS[kind].encoder
    names = {field.name for field in fields(encoder)}
    required = {field.name for field in fields(encoder) if field.default is MISSING}  # later versions added others
    if not required <= set(data) <= names:
        raise InputError(f"encoding of column {str(data.get('name'))[:60]!r}: wrong fields for a {kind}")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    return encoder(**values)


def _is_written_as_stored(texts: Any, stored_kinds: set[ArrowKind]) -> bool:
    """Return whether text is written as programs write the numbers or dates that other tables store.

    Those tables may be read again as text, where 1.5 and 1,5 or 2024-12-31 and 31.12.2024 would not go together.
    """
    if stored_kinds == {"number"}:
        notation = detect_notation(texts)
        return notation is not None and notation[:2] == PLAIN[:2]
    return stored_kinds != {"date"} or all_text_parses(texts, parsing.parse_timestamps)


def _can_be_boolean(column: Any) -> bool:
    """Return whether all cells are true, false, 0 or 1."""
    values = distinct_values(column)[1]
    if arrow_kind(values) == "number":
        numbers = read_any_numbers(pa.chunked_array([values]), CellLocation("", ""))
        return bool(np.isin(numbers[~np.isnan(numbers)], (0, 1)).all())
    return arrow_kind(values) == "boolean" or all_text_parses(values, parsing.parse_booleans)
