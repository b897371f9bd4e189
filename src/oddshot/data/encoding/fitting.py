"""What kind of values a column holds in all training tasks, and the encoder for it.

`columns` are the same column of each task's table, as Arrow chunked arrays.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from oddshot.data.encoding.encoders import (
    CategoryColumn,
    ColumnEncoder,
    DateColumn,
    NumericColumn,
    day_fraction,
    weekday,
)
from oddshot.data.encoding.rules import MOST_CATEGORIES
from oddshot.data.encoding.scaling import Moments, measure
from oddshot.data.tables import parsing
from oddshot.data.tables.categories import is_number, texts
from oddshot.data.tables.cells import Floats, Place, content, distinct, has_values, numbers, seconds, truths

Kind = Literal["number", "boolean", "category", "date"]

ALL_MISSING = "all values missing"
_PROBE = 100
_MOSTLY = 0.9
_PARSERS: dict[Kind, parsing.Parser] = {
    "number": parsing.doubles,
    "boolean": parsing.booleans,
    "date": parsing.timestamps,
}


def fit_column(columns: Sequence[Any], places: Sequence[Place]) -> ColumnEncoder | str:
    """The encoder of a column, or the reason why the column is of no use."""
    filled = [column for column in columns if has_values(column)]
    if not filled:
        return ALL_MISSING
    for column in filled:
        if content(column) == "other":
            return f"{column.type} values"
    name, kind = places[0].column, decide_kind(filled)
    if kind == "category":
        return _fit_categories(columns, places)
    read = {"number": numbers, "boolean": truths, "date": seconds}[kind]
    values = [read(column, place) for column, place in zip(columns, places, strict=True)]
    return _fit_dates(values, name) if kind == "date" else numeric_column(name, kind, _measure(values), 0)


def decide_kind(columns: Sequence[Any]) -> Kind:
    """The one kind that fits the column in every task; each of them has values."""
    contents = {content(column) for column in columns} - {"text"}
    if contents == {"number", "boolean"}:  # 0 and 1 in one task, true and false in another
        return "boolean" if all(_holds(column, "boolean") for column in columns) else "category"
    if len(contents) > 1:
        return "category"
    candidates: dict[str, Kind] = {"number": "number", "boolean": "boolean", "date": "date"}
    kinds: list[Kind] = [candidates[one] for one in contents] or ["number", "date"]
    text = [column for column in columns if content(column) == "text"]
    return next((kind for kind in kinds if all(_holds(column, kind) for column in text)), "category")


def numeric_column(name: str, kind: Literal["number", "boolean"], moments: Moments, j: int) -> NumericColumn:
    """The encoder of a column of numbers, from the j-th of its moments."""
    return NumericColumn(name, kind, float(moments.mean[j]), float(moments.scale[j]), bool(moments.n_missing[j] > 0))


def _holds(column: Any, kind: Kind) -> bool:
    """Whether all cells can be read as this kind."""
    values = distinct(column)[1]
    if content(values) == "number":  # as truths
        found = numbers(pa.chunked_array([values]), Place("", ""))
        return bool(np.isin(found[~np.isnan(found)], (0, 1)).all())
    if content(values) == "boolean":
        return True
    parser = _PARSERS[kind]
    return all(parsing.attempt(part, parser) is not None for part in (values[:_PROBE], values))


def _fit_dates(when: Sequence[Floats], name: str) -> DateColumn:
    moments = _measure(when)
    present = np.concatenate(when)
    present = present[~np.isnan(present)]
    hour, day = np.ptp(day_fraction(present)) > 0, np.ptp(weekday(present)) > 0
    scaled = numeric_column(name, "number", moments, 0)
    return DateColumn(name, "date", scaled.mean, scaled.scale, bool(hour), bool(day), scaled.missing)


def _fit_categories(columns: Sequence[Any], places: Sequence[Place]) -> CategoryColumn | str:
    counts: Counter[str] = Counter()
    n_missing = 0
    for column in columns:
        codes, values = texts(column)
        found = np.bincount(codes + 1, minlength=len(values) + 1)
        n_missing += int(found[0])
        counts.update(dict(zip(values, found[1:].tolist(), strict=True)))
    n_rows = counts.total()
    if sum(counts[value] for value in counts if is_number(value)) > _MOSTLY * n_rows:
        _warn_of_text(columns, places)
    if len(counts) > MOST_CATEGORIES and 2 * len(counts) > n_rows:
        return f"text with {len(counts):,} different values in {n_rows:,} rows (an identifier?)"
    ranked = sorted(counts, key=lambda value: (-counts[value], value))
    kept, rest = ranked[:MOST_CATEGORIES], ranked[MOST_CATEGORIES:]
    sizes = [counts[value] for value in kept] + [sum(counts[value] for value in rest)] * bool(rest)
    shares = tuple(size / n_rows for size in sizes)
    return CategoryColumn(places[0].column, "category", tuple(kept), bool(rest), shares, n_missing > 0)


def _warn_of_text(columns: Sequence[Any], places: Sequence[Place]) -> None:
    """Tell where the first cell is that makes a column of numbers one of categories."""
    for column, place in zip(columns, places, strict=True):
        if content(column) == "text" and not _holds(column, "number"):
            text = column.cast(pa.large_string())
            index = parsing.first_failure(text, parsing.doubles)
            problem = "is not a number, so the column is taken as text"
            warnings.warn(str(place.error(index, text[index].as_py(), problem)), stacklevel=2)
            return


def _measure(values: Sequence[Floats]) -> Moments:
    return measure([one[:, None] for one in values])
