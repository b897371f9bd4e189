"""The cells of one column as numbers that can be sorted, compared and counted."""

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.data.encoding.column_encoder import ColumnEncoder
from oddshot.data.encoding.date_column import DateColumn
from oddshot.data.encoding.encoding import Encoding
from oddshot.data.encoding.kinds import fit_column, recognise_kind
from oddshot.data.encoding.numeric_column import NumericColumn
from oddshot.data.tables import parsing
from oddshot.data.tables.categories import canonical_text
from oddshot.data.tables.columns import (
    CellLocation,
    arrow_kind,
    dictionary_codes,
    has_values,
    read_booleans,
    read_numbers,
    read_timestamps,
)
from oddshot.data.tables.skipped_cells import SkippedCells
from oddshot.errors import InputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
ValueKind = Literal["number", "date", "boolean", "text"]

BOOLEAN_TEXTS = ("false", "true")

_ROWS_PER_THREAD = 1 << 17
_N_PROBED_ROWS = 1000


@dataclass(frozen=True)
class ColumnValues:
    """A column of n cells. kind: how they compare; categories are text.

    numbers: [n], NaN for missing values; dates are seconds since 1970 and texts are indices of `texts`, which has the
    different texts in alphabetical order, whatever their case. texts is None for numbers and dates.
    """

    kind: ValueKind
    numbers: FloatArray
    texts: Any = None

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def n_missing(self) -> int:
        """The number of cells without a value."""
        return int(np.isnan(self.numbers).sum())

    def order(self, descending: bool) -> IntArray:
        """All rows sorted by this column, missing values last, equal ones in the order of the table: [n]."""
        rows: IntArray = np.argsort(-self.numbers if descending else self.numbers, kind="stable")
        return rows


def read_column(table: Any, name: str, encoding: Encoding) -> ColumnValues:
    """Read a column of an Arrow table as the encoding takes it, or a column that it does not use as what it holds."""
    column, location = table[name], CellLocation("table", name, skipped=SkippedCells())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they were shown when the table was opened
        encoder = next((one for one in encoding.encoders if one.name == name), None) or _recognise(column, name)
        if isinstance(encoder, DateColumn):
            return ColumnValues("date", _in_parts(column, lambda part: read_timestamps(part, location, encoder.order)))
        if isinstance(encoder, NumericColumn) and encoder.kind == "boolean":
            numbers = _in_parts(column, lambda part: read_booleans(part, location))
            return ColumnValues("boolean", numbers, pa.array(BOOLEAN_TEXTS))
        if isinstance(encoder, NumericColumn):
            notation, is_tolerant = encoder.notation, encoder.tolerant
            numbers = _in_parts(column, lambda part: read_numbers(part, location, notation, is_tolerant))
            return ColumnValues("number", numbers)
        return _read_texts(column)


def _in_parts(column: Any, read: Callable[[Any], FloatArray]) -> FloatArray:
    """Read a long column on all processors: text that people write as numbers takes seconds otherwise."""
    parts = [column.slice(top, _ROWS_PER_THREAD) for top in range(0, len(column), _ROWS_PER_THREAD)]
    if len(parts) <= 1 or arrow_kind(column) != "text":
        return read(column)
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        return np.concatenate(list(pool.map(read, parts)))


def _recognise(column: Any, name: str) -> ColumnEncoder | None:
    """An encoder that reads the numbers or dates of a column that is not used; None if it holds anything else."""
    for cells in (column.slice(0, _N_PROBED_ROWS), column):  # the first rows mostly settle it
        if arrow_kind(cells) == "other" or not has_values(cells):
            return None
        if recognise_kind([cells]).name not in ("number", "date"):
            return None
    try:
        encoder = fit_column([column], [CellLocation("table", name)], "number")  # which takes dates as absolute time
    except InputError:  # numbers that are too large for the detector
        return None
    return None if isinstance(encoder, str) else encoder


def _read_texts(column: Any) -> ColumnValues:
    """Read categories and texts; numbers as categories are sorted as numbers."""
    if arrow_kind(column) == "other":
        column = pa.chunked_array([pa.array([str(value) for value in column.to_pylist()], pa.string())])
    codes, values = dictionary_codes(column)
    if arrow_kind(values) == "text":
        trimmed = pc.utf8_trim_whitespace(values.cast(pa.string()))
        if not trimmed.equals(values):  # some of them may be equal now
            encoded = trimmed.dictionary_encode()
            codes, trimmed = np.append(encoded.indices.to_numpy(), -1)[codes], encoded.dictionary
        texts = parsing.clean_text(trimmed)
        sorted_by = pc.utf8_lower(texts)
    else:
        texts = canonical_text(values)
        sorted_by = pc.if_else(texts.is_null(), pa.scalar(None, values.type), values)
    alphabetical = np.asarray(pc.sort_indices(sorted_by), dtype=np.int64)[: len(texts) - texts.null_count]
    place = np.full(len(texts) + 1, np.nan)  # the last one is that of the code -1, a missing value
    place[alphabetical] = np.arange(len(alphabetical))
    return ColumnValues("text", place[codes], texts.take(pa.array(alphabetical)))
