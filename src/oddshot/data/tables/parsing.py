"""Text cells become numbers, truths and points in time, all cells of a column at once.

`text` is always an Arrow array or chunked array of strings. A cell that is empty or one of MISSING has no value.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Parser = Callable[[Any], Any]

MISSING = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NULL", "null", "None"),
    *("nan", "NaN", "-nan", "-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""The cells that mean "no value": those of pandas.read_csv, and the ? of ARFF and UCI files."""

_ONLY_TIME = r"^(\d{2}:\d{2}(:\d{2}(\.\d+)?)?)$"
_ZONE = r"[T ]\d{2}(:?\d{2}){0,2}(\.\d+)?(Z|[+-]\d{2}(:?\d{2})?)$"
_NANOSECONDS = r"(\.\d{6})\d+"


def clean(text: Any) -> Any:
    """Cells without the spaces around them; null where there is no value."""
    text = pc.utf8_trim_whitespace(text)
    missing = pc.is_in(text, value_set=pa.array(MISSING, text.type))
    return pc.if_else(missing, pa.scalar(None, text.type), text)


def doubles(text: Any) -> Any:
    """Numbers as float64: 1, -1.5, 1e5."""
    return text.cast(pa.float64())


def booleans(text: Any) -> Any:
    """true and false in any case, and the numbers 1 and 0."""
    lower = pc.utf8_lower(text)
    digits = pc.if_else(pc.equal(lower, "true"), "1", pc.if_else(pc.equal(lower, "false"), "0", lower))
    numbers = digits.cast(pa.float64())
    if not pc.all(pc.or_(pc.equal(numbers, 0.0), pc.equal(numbers, 1.0)), min_count=0).as_py():
        raise pa.ArrowInvalid("neither true nor false")
    return numbers.cast(pa.bool_())


def timestamps(text: Any) -> Any:
    """ISO dates and times in microseconds of UTC; 2024-01-31, 2024-01-31 12:00, 2024-01-31T12:00:00.5+01:00, 12:00:30.

    Without an offset it is taken as UTC, a time without a date as of 1970-01-01.
    """
    utc = pa.timestamp("us", "UTC")
    try:
        return text.cast(pa.timestamp("us")).cast(utc)
    except pa.ArrowInvalid:
        text = pc.replace_substring_regex(text, _ONLY_TIME, r"1970-01-01 \1")
        text = pc.replace_substring_regex(text, _NANOSECONDS, r"\1")
        zoned = pc.match_substring_regex(text, _ZONE)
        nothing = pa.scalar(None, text.type)
        local = pc.if_else(zoned, nothing, text).cast(pa.timestamp("us")).cast(utc)
        return pc.coalesce(local, pc.if_else(zoned, text, nothing).cast(utc))


def attempt(text: Any, parser: Parser) -> Any | None:
    """The parsed cells, or None if one of them cannot be parsed."""
    try:
        return parser(text)
    except pa.ArrowInvalid:
        pass
    try:
        return parser(clean(text))  # most columns need no cleaning, and it is slow
    except pa.ArrowInvalid:
        return None


def first_failure(text: Any, parser: Parser) -> int:
    """Index of the first cell that cannot be parsed. Call it only if there is one."""
    # A prefix fails if and only if it holds a bad cell: bisection over prefixes keeps the work vectorised.
    cells = clean(text)
    return bisect_left(range(len(cells) + 1), True, key=lambda n: attempt(cells[:n], parser) is None) - 1
