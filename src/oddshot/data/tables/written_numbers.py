"""Read numbers as people write them: $1,234.50, 1.234,50 €, 12 %, 3 mm, −5, (1,200), 12.50-, <0.5.

How a column is written is decided over all of its cells: a comma before three digits is a decimal sign in one column
and separates thousands in another, and a unit is stripped only where it is the same throughout.
"""

import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.data.tables import parsing

_CURRENCY_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|AUD|CAD|NZD|BRL|ZAR|TRY|KRW"
_CURRENCY_SIGN = r"(?:US|AU|CA|NZ|HK|R|A|C|S)?[$€£¥₹₩₽₺]"
_WRITTEN_NUMBER = (
    r"^(?P<sign>[+-]?) ?"
    rf"(?P<before>(?:{_CURRENCY_SIGN}|{_CURRENCY_CODES}|Rs\.?|kr\.?|Fr\.?)?) ?"
    r"(?P<inner_sign>[+-]?)"
    r"(?P<digits>\d[\d., ']{0,30}\d|\d|[.,]\d+)\.?"
    r"(?P<exponent>(?:[eE][+-]?\d{1,3})?) ?"
    r"(?P<after>(?:[^\d\s.,+'-][^\d,+]{0,11}[23²³]?)?)$"
)
_ZERO = r"^0*[.,]?0*$"
_DIGITS_BY_SEPARATORS = {  # (decimal sign, separator of thousands): the digits that are written so
    (".", ","): r"^(?:[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d?(?:,\d{2})+,\d{3}|\d*)(?:\.\d+)?$",  # 1,23,456 in India
    (",", "."): r"^(?:[1-9]\d{0,2}(?:\.\d{3})+|\d*)(?:,\d+)?$",
    (".", " "): r"^(?:[1-9]\d{0,2}(?: \d{3})+|\d*)(?:\.\d+)?$",
    (",", " "): r"^(?:[1-9]\d{0,2}(?: \d{3})+|\d*)(?:,\d+)?$",
    (".", "'"): r"^(?:[1-9]\d{0,2}(?:'\d{3})+|\d*)(?:\.\d+)?$",
    (",", "'"): r"^(?:[1-9]\d{0,2}(?:'\d{3})+|\d*)(?:,\d+)?$",
}
_BOUND = r"^(?:[<>≤≥]=?|[~≈]) ?"  # a number that is known to be smaller or larger, or about so
_REPLACED = (
    (_BOUND, ""),
    ("[−‒–]", "-"),
    ("[\u00a0\u2007\u2009\u202f]", " "),
    ("’", "'"),
    (r"^([^()\d-]*)\(([^()-]*)\)$", r"-\1\2"),
    (r"^([^-]*\d[.,]\d+) ?-$", r"-\1"),
)
_N_PROBED_CELLS = 100
_EXPONENT = r"[eE][+-]?\d"


class Notation(NamedTuple):
    """How the numbers of a column are written.

    decimal: "." or ",". thousands: what separates groups of three digits. before, after: the unit.
    """

    decimal: str = "."
    thousands: str = ","
    before: str = ""
    after: str = ""


PLAIN = Notation()
"""Numbers as programs write them, and those with commas between thousands."""


def detect_notation(text: Any) -> Notation | None:
    """Return how all cells of an Arrow array of text are written, or None if some of them are no numbers."""
    if _try_plain(text) is not None:
        return PLAIN
    if len(text) <= _N_PROBED_CELLS:
        return _find_notation(text)
    probe = text[:_N_PROBED_CELLS]  # mostly settles that it is none
    if _split(probe) is None:
        return None
    notation = _find_notation(probe)
    if notation is None:
        return _find_notation(text)
    others = text.filter(pc.invert(_find_simple(text, notation)))
    found = _find_notation(pa.concat_arrays([probe, others]))
    return found if found in (notation, None) else _find_notation(text)


def _find_notation(text: Any) -> Notation | None:
    """Return how all cells are written, each of which is taken apart."""
    parts = _split(text)
    if parts is None or 2 * pc.sum(find_bounds(text), min_count=0).as_py() > len(text):  # such as <18 and >65
        return None
    has_unit = pc.invert(pc.match_substring_regex(parts["digits"], _ZERO))
    before, after = (pc.unique(pc.filter(parts[name], has_unit)).to_pylist() for name in ("before", "after"))
    if len(before) > 1 or len(after) > 1:
        return None
    unit = (before or [""])[0], (after or [""])[0]
    if any(unit) and len(pc.unique(parts["digits"].drop_null())) < 2:  # one value is a name as well
        return None
    for separators, pattern in _DIGITS_BY_SEPARATORS.items():
        if pc.all(pc.match_substring_regex(parts["digits"], pattern), min_count=0).as_py():
            return Notation(*separators, *unit)
    return None


def find_bounds(text: Any) -> Any:
    """Return which cells of an Arrow array have a sign such as < before the number, by which they are read."""
    return pc.match_substring_regex(text, _BOUND)


def is_ambiguous(text: Any, notation: Notation) -> bool:
    """Return whether the decimal sign could also separate thousands: 1,234 in every cell with a comma."""
    if notation.thousands not in ".,":
        return False
    other = _DIGITS_BY_SEPARATORS[notation.thousands, notation.decimal]
    for cells in (text[:_N_PROBED_CELLS], text):  # the first few cells mostly settle that it could not
        parts = _split(cells)
        if parts is None or not pc.all(pc.match_substring_regex(parts["digits"], other), min_count=0).as_py():
            return False
    assert parts is not None
    return bool(pc.any(pc.match_substring(parts["digits"], notation.thousands)).as_py())


def parse_written_numbers(text: Any, notation: Notation) -> Any:
    """Parse cells as float64; a cell without the unit is one too. Raises pyarrow.ArrowInvalid for other cells."""
    if notation == PLAIN:
        parsed = _try_plain(text)
        if parsed is not None:
            return parsed
    is_simple = _find_simple(text, notation)
    if pc.all(is_simple, min_count=0).as_py():
        return _parse_simple(text, notation)
    is_other = pc.invert(pc.fill_null(is_simple, True))
    others = _parse_parts(text.filter(is_other), notation)
    values = np.array(_parse_simple(pc.if_else(is_other, pa.scalar(None, text.type), text), notation), np.float64)
    values[np.asarray(is_other, bool)] = others
    return pa.array(values, from_pandas=True)


def _try_plain(text: Any) -> Any | None:
    """Parse numbers as programs write them; None if some cell is anything else, which the first few mostly show."""
    if parsing.try_parse(text[:_N_PROBED_CELLS], parsing.parse_numbers) is None:
        return None
    return parsing.try_parse(text, parsing.parse_numbers)


def _find_simple(text: Any, notation: Notation) -> Any:
    """Return which cells are digits in this notation with its unit and nothing to be normalised: most mostly are."""
    decimal, thousands, before, after = map(re.escape, notation)
    if re.match(_EXPONENT, notation.after):  # a unit that may also be one
        return pc.if_else(pc.is_valid(text), False, pa.scalar(None, pa.bool_()))
    digits = rf"(?:[1-9]\d{{0,2}}(?:{thousands}\d{{3}}){{1,4}}|\d{{1,12}})(?:{decimal}\d{{1,12}})?"
    return pc.match_substring_regex(text, f"^-?{before + ' ?' * bool(before)}{digits}{' ?' * bool(after) + after}$")


def _parse_simple(text: Any, notation: Notation) -> Any:
    """Parse cells of which _find_simple is true."""
    for written in filter(None, dict.fromkeys((notation.before, notation.after, notation.thousands, " "))):
        text = pc.replace_substring(text, written, "")
    if notation.decimal != ".":
        text = pc.replace_substring(text, notation.decimal, ".")
    return text.cast(pa.float64())


def _parse_parts(text: Any, notation: Notation) -> Any:
    """Parse cells, each of which is taken apart."""
    parts = _split(text)
    if parts is None:
        raise pa.ArrowInvalid("not a number")
    for name, unit in (("before", notation.before), ("after", notation.after)):
        units = pa.array(["", unit], parts[name].type)
        if not pc.all(pc.is_in(pc.fill_null(parts[name], ""), units), min_count=0).as_py():
            raise pa.ArrowInvalid("another unit")
    digits, pattern = parts["digits"], _DIGITS_BY_SEPARATORS[notation.decimal, notation.thousands]
    if not pc.all(pc.match_substring_regex(digits, pattern), min_count=0).as_py():
        raise pa.ArrowInvalid("digits in another notation")
    digits = pc.replace_substring(digits, notation.thousands, "")
    digits = pc.replace_substring(digits, notation.decimal, ".")
    return pc.binary_join_element_wise(parts["sign"], digits, parts["exponent"], "").cast(pa.float64())


def detect_main_notation(text: Any) -> Notation | None:
    """Return how those cells of an Arrow array are written that are numbers with the most frequent unit."""
    text = text.filter(pc.is_valid(pc.extract_regex(_normalise(text), _WRITTEN_NUMBER)))
    parts = _split(text)
    if parts is None or len(text) == 0:
        return None
    for name in ("before", "after"):
        units = parts[name].dictionary_encode().indices
        has_main_unit = pc.fill_null(pc.equal(units, pc.mode(units)[0]["mode"]), False)
        text, parts = text.filter(has_main_unit), {key: part.filter(has_main_unit) for key, part in parts.items()}
    return detect_notation(text)


def find_numbers(text: Any, notation: Notation) -> NDArray[np.bool_]:
    """Return which cells are missing, or numbers in this notation: [n]."""
    is_found = np.array(pc.fill_null(_find_simple(text, notation), True), bool)
    is_found[~is_found] = _find_parts(text.filter(pa.array(~is_found)), notation)
    return is_found


def _find_parts(text: Any, notation: Notation) -> NDArray[np.bool_]:
    """Return which cells are missing, or numbers in this notation, each of which is taken apart: [n]."""
    text = _normalise(text)
    found = pc.extract_regex(text, _WRITTEN_NUMBER)
    is_number = pc.is_valid(found)
    for name, unit in (("before", notation.before), ("after", notation.after)):
        cells = pc.utf8_trim_whitespace(pc.struct_field(found, name))
        is_number = pc.and_(is_number, pc.is_in(cells, pa.array(["", unit], cells.type)))
    pattern = _DIGITS_BY_SEPARATORS[notation.decimal, notation.thousands]
    is_number = pc.and_(is_number, pc.match_substring_regex(pc.struct_field(found, "digits"), pattern))
    return np.asarray(pc.or_kleene(pc.is_null(text), pc.fill_null(is_number, False)), bool)


def is_notation(value: object) -> bool:
    """Return whether a field of a model file, which may be forged, is a notation."""
    if not isinstance(value, tuple) or len(value) != 4 or not all(isinstance(one, str) for one in value):
        return False
    return (value[0], value[1]) in _DIGITS_BY_SEPARATORS


def _split(text: Any) -> dict[str, Any] | None:
    """Split cells into sign, unit before, digits, exponent and unit after; None if some cell is no number."""
    text = _normalise(text)
    found = pc.extract_regex(text, _WRITTEN_NUMBER)
    if found.null_count > text.null_count:
        return None
    names = ("sign", "inner_sign", "before", "digits", "exponent", "after")
    parts = {name: pc.struct_field(found, name) for name in names}
    parts = {name: pc.if_else(pc.is_valid(text), part, pa.scalar(None, part.type)) for name, part in parts.items()}
    parts["after"] = pc.utf8_trim_whitespace(parts["after"])
    parts["sign"] = pc.binary_join_element_wise(parts["sign"], parts.pop("inner_sign"), "")
    if pc.any(pc.equal(pc.binary_length(parts["sign"]), 2)).as_py():
        return None
    return parts


def _normalise(text: Any) -> Any:
    """Null for missing values, and one way to write spaces, minus signs and negative numbers."""
    text = parsing.clean_text(text, parsing.MISSING_AMONG_NUMBERS)
    for pattern, replacement in _REPLACED:
        text = pc.replace_substring_regex(text, pattern, replacement)
    return text
