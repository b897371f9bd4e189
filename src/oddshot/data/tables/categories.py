"""Read cells of any type as categories, with one canonical text for each value.

A column of text in one file may be inferred as numbers, booleans or dates in another file, and a file read in chunks as
text must give the same categories as the file read at once. So 1, 1.0 and "1" are the same category, as are True and
"true".
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.data.tables import parsing
from oddshot.data.tables.columns import arrow_kind, distinct_values, timestamps_to_seconds

_NUMBER_PATTERN = r"^[+-]?(\d{1,15}(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"  # longer integers are taken as identifiers
_BOOLEAN_PATTERN = r"(?i)^(true|false)$"
_DATE_PATTERN = r"^\d{4}-[01]\d-[0-3]\d([T ][0-2]\d[\d:.Z+-]*)?$|^[0-2]\d:[0-5]\d(:[0-5]\d(\.\d+)?)?$"
_MAX_EXACT_INTEGER = 1e15  # float64 integers below are exact, and are written without a decimal point
_MICROSECONDS_PER_SECOND = 1_000_000
_MAX_SECONDS = 9e12  # microseconds beyond would overflow 64 bits


def category_codes(column: Any) -> tuple[NDArray[np.int32], Any]:
    """Return the code of each cell, [n], -1 for missing, and the categories, an Arrow array, in order of appearance."""
    codes, values = distinct_values(column)
    texts = canonical_text(values)
    if texts.equals(values):
        return codes, texts
    categories = texts.dictionary_encode()
    category_of_value = categories.indices.fill_null(-1).to_numpy().astype(np.int32)
    return np.append(category_of_value, np.int32(-1))[codes], categories.dictionary


def find_number_texts(categories: Any) -> NDArray[np.bool_]:
    """Return which of an Arrow array of categories are written as numbers: [n]."""
    return np.asarray(pc.match_substring_regex(categories, _NUMBER_PATTERN.replace(r"\d", r"\p{Nd}")), bool)


def canonical_text(values: Any) -> Any:
    """Convert an Arrow array of any type to canonical text, null for missing values."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = arrow_kind(values)
    if kind == "text":
        return _canonical_from_text(values.cast(pa.string()))
    if kind == "number":
        return _canonical_numbers(values)
    if kind == "date":
        return _canonical_timestamps(values)
    return values.cast(pa.string())


def _canonical_from_text(text: Any) -> Any:
    """Rewrite the cells that look like numbers, booleans or dates; leave the others."""
    text = parsing.clean_text(text)
    rewriters = (
        (_NUMBER_PATTERN, _canonical_numbers),
        (_BOOLEAN_PATTERN, pc.utf8_lower),
        (_DATE_PATTERN, _canonical_timestamps),
    )
    for pattern, rewrite in rewriters:
        matches = pc.match_substring_regex(text, pattern)
        if pc.any(matches).as_py():
            matching = pc.if_else(matches, text, pa.scalar(None, pa.string()))
            text = pc.coalesce(rewrite(matching), text)
    return text


def _canonical_numbers(values: Any) -> Any:
    """Write integers without a decimal point, 1 and not 1.0."""
    if pa.types.is_duration(values.type):
        values = values.cast(pa.int64())
    if pa.types.is_integer(values.type):
        return values.cast(pa.string())
    numbers = np.asarray(values.cast(pa.float64(), safe=False))
    is_integer = (np.trunc(numbers) == numbers) & (np.abs(numbers) < _MAX_EXACT_INTEGER)
    integers = pa.array(np.where(is_integer, numbers, 0.0).astype(np.int64)).cast(pa.string())
    return pc.if_else(pa.array(is_integer), integers, pa.array(numbers, from_pandas=True).cast(pa.string()))


def _canonical_timestamps(values: Any) -> Any:
    """Write timestamps in microseconds of UTC."""
    if arrow_kind(values) == "text":
        values = _parse_valid_timestamps(values)
    seconds = np.clip(timestamps_to_seconds(values), -_MAX_SECONDS, _MAX_SECONDS)
    microseconds = np.round(np.nan_to_num(seconds) * _MICROSECONDS_PER_SECOND).astype(np.int64)
    return pa.array(microseconds, pa.timestamp("us"), mask=np.isnan(seconds)).cast(pa.string())


def _parse_valid_timestamps(text: Any) -> Any:
    """Parse the cells that are dates; null for those that only look like one, such as 2024-02-30."""
    parsed = parsing.try_parse(text, parsing.parse_timestamps)
    if parsed is not None:
        return parsed
    cells = [parsing.try_parse(text[i : i + 1], parsing.parse_timestamps) for i in range(len(text))]
    null = pa.array([None], pa.timestamp("us", "UTC"))
    return pa.concat_arrays([null if cell is None else cell for cell in cells])
