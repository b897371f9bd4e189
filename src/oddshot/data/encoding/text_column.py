"""The encoder of columns of free text."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oddshot.data.encoding.column_encoder import AttributeArray, ColumnEncoder, FillRows
from oddshot.data.encoding.scaling import FloatArray, compute_moments, standardise
from oddshot.data.encoding.validation import check_fields, is_bool, is_mean, is_scale
from oddshot.data.tables import parsing
from oddshot.data.tables.categories import canonical_text
from oddshot.data.tables.columns import CellLocation, arrow_kind

N_BUCKETS = 16
"""Attributes for words: each word counts in one of them, which its hash chooses."""

_NAMES = ("length", "digits", *(f"words {bucket}" for bucket in range(N_BUCKETS)))


@dataclass(frozen=True)
class TextColumn(ColumnEncoder):
    """The length of a text, how many of its characters are digits, and how many words fall into each bucket."""

    kind: Literal["text"]
    means: tuple[float, ...]
    scales: tuple[float, ...]
    missing: bool

    def __post_init__(self) -> None:
        check_fields(self, means=_are(is_mean), scales=_are(is_scale), missing=is_bool)

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Length, digits, the buckets, and whether it is missing."""
        return tuple(f"{self.name} {part}" for part in _NAMES + ("missing",) * self.missing)

    def read(self, column: Any, location: CellLocation) -> FillRows:
        """Return a function that writes the attributes."""
        if arrow_kind(column) == "other":
            raise location.type_error(column, "text")
        counts = _count(column)
        means, scales = np.array(self.means), np.array(self.scales)

        def fill(rows: slice, out: AttributeArray) -> None:
            missing = standardise(counts[rows], means, scales, out[:, : len(_NAMES)])
            if self.missing:
                out[:, -1] = missing[:, 0]
            else:
                location.note_missing(missing[:, 0])

        return fill


def fit_text(columns: Sequence[Any], locations: Sequence[CellLocation]) -> TextColumn:
    """Fit the encoder of a column of free text, given as the same column of each training table."""
    moments = compute_moments([_count(column) for column in columns])
    means, scales = tuple(moments.mean.tolist()), tuple(moments.scale.tolist())
    return TextColumn(locations[0].column, "text", means, scales, bool(moments.n_missing[0] > 0))


def _count(column: Any) -> FloatArray:
    """Length, digits and words of each cell: [n, 2 + N_BUCKETS], NaN where missing."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    text = column.cast(pa.string()) if arrow_kind(column) == "text" else canonical_text(column.combine_chunks())
    text = parsing.clean_text(text)
    text = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
    missing = np.asarray(pc.is_null(text))
    filled = pc.fill_null(text, "")
    counts = np.empty((len(filled), len(_NAMES)))
    counts[:, 0] = np.asarray(pc.utf8_length(filled))
    counts[:, 1] = np.asarray(pc.count_substring_regex(filled, r"\d"))
    words = pc.split_pattern_regex(pc.utf8_lower(filled), r"[^\pL\pN]+")
    encoded = words.flatten().dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    bucket = np.array([zlib.crc32(word.encode()) % N_BUCKETS if word else -1 for word in distinct], np.int64)
    row = np.asarray(pc.list_parent_indices(words)).astype(np.int64)
    bucket_of_word = bucket[np.asarray(encoded.indices)] if len(row) else np.empty(0, np.int64)
    is_word = bucket_of_word >= 0
    cell = row[is_word] * N_BUCKETS + bucket_of_word[is_word]
    counts[:, 2:] = np.bincount(cell, minlength=len(filled) * N_BUCKETS).reshape(-1, N_BUCKETS)
    counts[missing] = np.nan
    return counts


def _are(check: Any) -> Any:
    return lambda value: isinstance(value, tuple) and len(value) == len(_NAMES) and all(map(check, value))
