"""Parse text as numbers, booleans and timestamps, all cells of a column at once.

`text` is always an Arrow array or chunked array of strings. A cell that is empty or one of MISSING_VALUES is missing.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Parser = Callable[[Any], Any]
"""Converts text to an Arrow array of another type; raises pyarrow.ArrowInvalid if any cell cannot be converted."""

MISSING_VALUES = (
    *("", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NULL", "null", "None"),
    *("nan", "NaN", "-nan", "-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""Text that stands for a missing value: what pandas.read_csv recognises, and the ? of ARFF and UCI files."""

MISSING_AMONG_NUMBERS = (
    *MISSING_VALUES,
    *(
        "-",
        "--",
        "---",
        "–",
        "—",
        ".",
        "..",
        "...",
        "NaT",
        "nat",
        "none",
        "NONE",
        "nil",
        "na",
        "Na",
        "N.A.",
        "n.a.",
        "k.A.",
    ),
    *(
        "#VALUE!",
        "#DIV/0!",
        "#REF!",
        "#NUM!",
        "#NAME?",
        "missing",
        "Missing",
        "unknown",
        "Unknown",
        "(null)",
        "(blank)",
    ),
)
"""Text that stands for a missing value in columns of numbers, dates and booleans; elsewhere it may be a category."""

TRUE_WORDS = ("true", "yes", "y", "t", "on", "ja", "j", "wahr", "oui", "vrai", "si", "sí", "sim", "verdadero")
FALSE_WORDS = ("false", "no", "n", "f", "off", "nein", "falsch", "non", "faux", "não", "nao", "falso")
"""Words that stand for true and false, in any case."""

_TIME_WITHOUT_DATE = r"^(\d{2}:\d{2}(:\d{2}(\.\d+)?)?)$"
_TIME_WITH_UTC_OFFSET = r"[T ]\d{2}(:?\d{2}){0,2}(\.\d+)?(Z|[+-]\d{2}(:?\d{2})?)$"
_DIGITS_BELOW_MICROSECONDS = r"(\.\d{6})\d+"
_RARE_ISO_FORMS = (  # and how they are mostly written
    (r"^(\d:\d{2}(:\d{2}(\.\d+)?)?)$", r"0\1"),
    (r"^(\d{4}-\d{2})$", r"\1-01"),
    (r"^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})", r"\1-\2-\3T\4:\5:\6"),
    (r"(:\d{2}),(\d{1,9})", r"\1.\2"),
    (r"(:\d{2}(\.\d+)?) ?(?:UTC|GMT)$", r"\1Z"),
    (r"(:\d{2}(\.\d+)?) ([+-]\d{2}:?\d{2})$", r"\1\3"),
)


def clean_text(text: Any, missing_values: tuple[str, ...] = MISSING_VALUES) -> Any:
    """Strip surrounding whitespace, and replace missing values by null."""
    text = pc.utf8_trim_whitespace(text)
    missing = pc.is_in(text, value_set=pa.array(missing_values, text.type))
    return pc.if_else(missing, pa.scalar(None, text.type), text)


def parse_numbers(text: Any) -> Any:
    """Parse numbers such as 1, -1.5 and 1e5 as float64."""
    return text.cast(pa.float64())


def parse_booleans(text: Any) -> Any:
    """Parse true and false, yes and no and the like in any case, and the numbers 1 and 0."""
    lower = pc.utf8_lower(text)
    is_true, is_false = (pc.is_in(lower, pa.array(words, lower.type)) for words in (TRUE_WORDS, FALSE_WORDS))
    digits = pc.if_else(is_true, "1", pc.if_else(is_false, "0", lower))
    numbers = digits.cast(pa.float64())
    if not pc.all(pc.or_(pc.equal(numbers, 0.0), pc.equal(numbers, 1.0)), min_count=0).as_py():
        raise pa.ArrowInvalid("neither true nor false")
    return numbers.cast(pa.bool_())


def parse_timestamps(text: Any) -> Any:
    """Parse ISO 8601 dates and times as UTC timestamps in microseconds.

    Accepted are 2024-01-31, 2024-01-31 12:00, 2024-01-31T12:00:00.5+01:00, 12:00:30, 9:30, 2024-01, 20240131T120000Z,
    and what programs make of them in logs: 2024-01-31 12:00:00,123, ... 12:00:00 UTC and ... 12:00:00 +0100. A time
    without an offset is taken as UTC, a time without a date as one of 1970-01-01.
    """
    try:
        return _parse_common_timestamps(text)
    except pa.ArrowInvalid:
        for pattern, replacement in _RARE_ISO_FORMS:
            text = pc.replace_substring_regex(text, pattern, replacement)
        return _parse_common_timestamps(text)


def _parse_common_timestamps(text: Any) -> Any:
    utc = pa.timestamp("us", "UTC")
    try:
        return text.cast(pa.timestamp("us")).cast(utc)
    except pa.ArrowInvalid:
        text = pc.replace_substring_regex(text, _TIME_WITHOUT_DATE, r"1970-01-01 \1")
        text = pc.replace_substring_regex(text, _DIGITS_BELOW_MICROSECONDS, r"\1")
        has_offset = pc.match_substring_regex(text, _TIME_WITH_UTC_OFFSET)
        null = pa.scalar(None, text.type)
        without_offset = pc.if_else(has_offset, null, text).cast(pa.timestamp("us")).cast(utc)
        return pc.coalesce(without_offset, pc.if_else(has_offset, text, null).cast(utc))


def try_parse(text: Any, parser: Parser) -> Any | None:
    """Return the parsed cells, or None if any of them cannot be parsed."""
    try:
        return parser(text)
    except pa.ArrowInvalid:
        pass
    cleaned = clean_text(text, MISSING_AMONG_NUMBERS)  # most columns need no cleaning, and it is slow
    if cleaned.equals(text):
        return None
    try:
        return parser(cleaned)
    except pa.ArrowInvalid:
        return None


def first_unparsable(text: Any, parser: Parser) -> int:
    """Return the index of the first cell that cannot be parsed; there must be one."""
    # A prefix fails if and only if it holds an unparsable cell: bisection over prefixes keeps the work vectorised.
    cells = clean_text(text, MISSING_AMONG_NUMBERS)
    return bisect_left(range(len(cells) + 1), True, key=lambda n: try_parse(cells[:n], parser) is None) - 1
