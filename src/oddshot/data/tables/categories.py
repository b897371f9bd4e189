"""Cells as categories: one spelling for each value, however a file stored it.

A column that is text in one file can be a column of numbers, truths or dates in another, where by chance all cells look
like that; and a file read in chunks as text must give the same categories as the file read at once. So 1, 1.0 and "1"
are one category, as are True and "true".
"""

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.data.tables import parsing
from oddshot.data.tables.cells import content, distinct, seconds_of

_NUMBER = r"^[+-]?(\d{1,15}(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"  # longer whole numbers are names
_TRUTH = r"(?i)^(true|false)$"
_DATE = r"^\d{4}-[01]\d-[0-3]\d([T ][0-2]\d[\d:.Z+-]*)?$|^[0-2]\d:[0-5]\d(:[0-5]\d(\.\d+)?)?$"
_WHOLE = 1e15  # below it, whole numbers in float64 are exact and written as such
_MICROSECONDS = 1_000_000
_FAR = 9e12  # seconds; beyond, microseconds overflow 64 bits


def texts(column: Any) -> tuple[NDArray[np.int32], list[str]]:
    """Which category each cell is: [n], -1 where there is no value; and the categories, in order of appearance."""
    codes, values = distinct(column)
    folded = spell(values).dictionary_encode()
    position = folded.indices.fill_null(-1).to_numpy().astype(np.int32)
    return np.append(position, np.int32(-1))[codes], folded.dictionary.to_pylist()


def is_number(spelling: str) -> bool:
    """Whether a category is written as a number."""
    return re.fullmatch(_NUMBER.strip("^$"), spelling) is not None


def spell(values: Any) -> Any:
    """The one spelling of each value, null for none: an Arrow array of any type -> an array of strings."""
    found = content(values)
    if found == "text":
        return _spell_text(values.cast(pa.string()))
    if found == "number":
        return _spell_numbers(values)
    if found == "date":
        return _spell_dates(values)
    return values.cast(pa.string())


def _spell_text(text: Any) -> Any:
    text = parsing.clean(text)
    for looks, spelling in ((_NUMBER, _spell_numbers), (_TRUTH, pc.utf8_lower), (_DATE, _spell_dates)):
        chosen = pc.match_substring_regex(text, looks)
        if pc.any(chosen).as_py():
            alike = pc.if_else(chosen, text, pa.scalar(None, pa.string()))
            text = pc.coalesce(spelling(alike), text)
    return text


def _spell_numbers(values: Any) -> Any:
    if pa.types.is_duration(values.type):
        values = values.cast(pa.int64())
    if pa.types.is_integer(values.type):
        return values.cast(pa.string())
    numbers = np.asarray(values.cast(pa.float64(), safe=False))
    whole = (np.trunc(numbers) == numbers) & (np.abs(numbers) < _WHOLE)
    as_whole = pa.array(np.where(whole, numbers, 0.0).astype(np.int64)).cast(pa.string())
    return pc.if_else(pa.array(whole), as_whole, pa.array(numbers, from_pandas=True).cast(pa.string()))


def _spell_dates(values: Any) -> Any:
    if content(values) == "text":
        values = _parse_dates(values)
    when = np.clip(seconds_of(values), -_FAR, _FAR)
    ticks = np.round(np.nan_to_num(when) * _MICROSECONDS).astype(np.int64)
    return pa.array(ticks, pa.timestamp("us"), mask=np.isnan(when)).cast(pa.string())


def _parse_dates(text: Any) -> Any:
    parsed = parsing.attempt(text, parsing.timestamps)
    if parsed is not None:
        return parsed
    each = [parsing.attempt(text[i : i + 1], parsing.timestamps) for i in range(len(text))]
    none = pa.array([None], pa.timestamp("us", "UTC"))  # 2024-02-30 looks like a date and is none
    return pa.concat_arrays([none if one is None else one for one in each])
