"""The encoder of columns of categories."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.data.encoding.column_encoder import AttributeArray, ColumnEncoder, FillRows
from oddshot.data.encoding.running import MIN_ROWS
from oddshot.data.encoding.scaling import MAX_SCALED_VALUE
from oddshot.data.encoding.validation import are_distinct_texts, are_shares, check_fields, is_bool
from oddshot.data.tables.categories import canonical_text, category_codes, find_number_texts
from oddshot.data.tables.columns import CellLocation, all_text_parses, arrow_kind, dictionary_codes, distinct_values
from oddshot.data.tables.mixed_numbers import mixed_numbers_reason
from oddshot.data.tables.parsing import first_unparsable, parse_numbers
from oddshot.errors import InputError

MAX_CATEGORIES = 32
"""Categories with an attribute of their own; all others of the column share one."""

_MIN_ROWS_OF_TEXT = 5  # texts of several words that are all different
_MIN_WORDS_OF_TEXT = 3  # on average
_MIN_UNIQUE_SHARE = 0.95
_N_TEXTS_SAMPLED = 1000
_MIN_NUMBER_SHARE = 0.9  # of the cells; above, a warning names the first cell that is not a number


@dataclass(frozen=True)
class CategoryColumn(ColumnEncoder):
    """One-hot attributes, each standardised: one per frequent category and, if there were more, one for all others.

    shares: the fraction of the training rows with a value in which each attribute is 1; that of `other` is last.
    """

    kind: Literal["category"]
    categories: tuple[str, ...]
    other: bool
    shares: tuple[float, ...]
    missing: bool

    def __post_init__(self) -> None:
        check_fields(self, categories=_are_categories, other=is_bool, shares=are_shares, missing=is_bool)
        if len(self.shares) != len(self.categories) + self.other:
            raise InputError(f"encoding of column {self.name!r}: expected one share for each category")

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """One for each category, one for all others, and whether it is missing."""
        ends = (" other",) * self.other + (" missing",) * self.missing
        return (*(f"{self.name}={category}" for category in self.categories), *(self.name + end for end in ends))

    def read(self, column: Any, location: CellLocation) -> FillRows:
        """Return a function that writes the attributes; the column may be of any type but nested ones."""
        if arrow_kind(column) == "other":
            raise location.type_error(column, "text")
        codes, values = dictionary_codes(column)
        texts = canonical_text(values).to_pylist()
        rows_by_code = self.attributes_of(texts)
        if not self.missing:
            location.note_missing(np.array([*(text is None for text in texts), True])[codes])

        def fill(rows: slice, out: AttributeArray) -> None:
            out[:] = rows_by_code.take(codes[rows], axis=0)

        return fill

    def describe(self) -> str:
        """Return the name and the number of categories."""
        return f"{self.name} ({len(self.categories)}{' and others' * self.other})"

    def attributes_of(self, values: Sequence[str | None]) -> AttributeArray:
        """Return the attributes of each of V values and, last, of a missing value: [V + 1, n_attributes]."""
        position = {category: i for i, category in enumerate(self.categories)}
        other = len(self.categories) if self.other else -1
        hot = np.array([other if value is None else position.get(value, other) for value in values], np.intp)
        known = np.flatnonzero(hot >= 0)
        share = np.array(self.shares)
        one_hot = np.zeros((len(values), len(share)))
        one_hot[known, hot[known]] = 1.0
        deviation = np.sqrt(share * (1 - share))
        scaled = (one_hot - share) / np.where(deviation > 0, deviation, 1.0)
        rows = np.zeros((len(values) + 1, len(self.attribute_names)), np.float32)
        rows[:-1, : len(share)] = np.clip(scaled, -MAX_SCALED_VALUE, MAX_SCALED_VALUE)
        missing = np.array([*(value is None for value in values), True])
        rows[missing] = 0.0
        if self.missing:
            rows[missing, -1] = 1.0
        return rows


def fit_categories(columns: Sequence[Any], locations: Sequence[CellLocation]) -> CategoryColumn:
    """Fit the encoder of a column of categories, given as the same column of each training table."""
    return _fit_counts(count_categories(columns), locations[0].column)


def fit_recognised_categories(columns: Sequence[Any], locations: Sequence[CellLocation]) -> CategoryColumn | str:
    """Fit the encoder of a column that nobody has called categories.

    A column with nearly as many different values as rows is of no use; the reason is returned instead.
    """
    found = count_categories(columns)
    if found.counts[find_number_texts(found.categories)].sum() > _MIN_NUMBER_SHARE * found.n_rows:
        _warn_of_text_among_numbers(columns, locations)
    return why_no_categories(found) or _fit_counts(found, locations[0].column)


@dataclass(frozen=True)
class CategoryCounts:
    """How often each category occurs. categories: Arrow text [c], in order of appearance; counts: [c]."""

    categories: Any
    counts: NDArray[np.int64]
    n_missing: int

    @property
    def n_rows(self) -> int:
        """Rows with a value."""
        return int(self.counts.sum())


def count_categories(columns: Sequence[Any]) -> CategoryCounts:
    """Count the categories in the same column of several tables together."""
    found = [category_codes(column) for column in columns]
    frequencies = [np.bincount(codes + 1, minlength=len(categories) + 1) for codes, categories in found]
    if len(found) == 1:
        return CategoryCounts(found[0][1], frequencies[0][1:], int(frequencies[0][0]))
    encoded = pa.concat_arrays([categories for _, categories in found]).dictionary_encode()
    counts = np.zeros(len(encoded.dictionary), np.int64)
    np.add.at(counts, encoded.indices.to_numpy(), np.concatenate([one[1:] for one in frequencies]))
    return CategoryCounts(encoded.dictionary, counts, sum(int(one[0]) for one in frequencies))


def why_no_categories(found: CategoryCounts) -> str | None:
    """Return why text is of no use as categories: each row has its own, or it is prose. None if it may be of use."""
    n_rows, n_values = found.n_rows, len(found.categories)
    if 2 * n_values <= n_rows or n_rows < _MIN_ROWS_OF_TEXT:
        return None
    is_key = n_values > MAX_CATEGORIES or (n_rows >= MIN_ROWS and n_values >= _MIN_UNIQUE_SHARE * n_rows)
    sample = found.categories[:_N_TEXTS_SAMPLED]
    n_words = sum(len(value.split()) for value in sample.to_pylist()) / len(sample)
    if n_words >= _MIN_WORDS_OF_TEXT and (is_key or n_values == n_rows):
        return f"free text with {n_values:,} different values in {n_rows:,} rows (the kind text counts its words)"
    if not is_key:
        return None
    reason = mixed_numbers_reason(sample)
    return reason or f"text with {n_values:,} different values in {n_rows:,} rows (an identifier?)"


def _fit_counts(found: CategoryCounts, name: str) -> CategoryColumn:
    table = pa.table({"category": found.categories, "count": found.counts})
    ranked = pc.sort_indices(table, [("count", "descending"), ("category", "ascending")])
    kept, has_others = ranked[:MAX_CATEGORIES], len(ranked) > MAX_CATEGORIES
    sizes = found.counts[kept].tolist()
    sizes += [found.n_rows - sum(sizes)] * has_others
    shares = tuple(size / found.n_rows for size in sizes)
    categories = tuple(found.categories.take(kept).to_pylist())
    return CategoryColumn(name, "category", categories, has_others, shares, found.n_missing > 0)


def _warn_of_text_among_numbers(columns: Sequence[Any], locations: Sequence[CellLocation]) -> None:
    """Name the first cell because of which a column is taken as categories and not as numbers."""
    for column, location in zip(columns, locations, strict=True):
        if arrow_kind(column) == "text" and not all_text_parses(distinct_values(column)[1], parse_numbers):
            text = column.cast(pa.large_string())
            index = first_unparsable(text, parse_numbers)
            problem = "is not a number, so the column is taken as text"
            warnings.warn(str(location.error(index, text[index].as_py(), problem)), stacklevel=2)
            return


def _are_categories(value: object) -> bool:
    return are_distinct_texts(value) and isinstance(value, tuple) and len(value) <= MAX_CATEGORIES
