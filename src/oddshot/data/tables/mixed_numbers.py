"""Text that is mostly numbers, but not all written in one way."""

from typing import Any

import pyarrow as pa

from oddshot.data.tables.written_numbers import detect_main_notation, find_numbers
from oddshot.errors import one_line

_MIN_SHARE = 0.5  # of the texts
_MAX_UNITS = 5  # more are rather codes of digits and letters


def mixed_numbers_reason(text: Any) -> str | None:
    """Return what a person should change about text, an Arrow array, of which most are numbers; else None."""
    others, kinds = text, list[tuple[int, str]]()
    while len(others) and len(kinds) < _MAX_UNITS and (notation := detect_main_notation(others)) is not None:
        is_number = find_numbers(others, notation)
        kinds.append((int(is_number.sum()), others.filter(pa.array(is_number))[0].as_py()))
        others = others.filter(pa.array(~is_number))
    if sum(n for n, _ in kinds) < _MIN_SHARE * len(text):
        return None
    if len(others):
        return f"numbers beside other text, such as {one_line(others[0].as_py())} (leave such cells empty)"
    return f"numbers written in several ways, such as {kinds[0][1]!r} and {kinds[1][1]!r} (write them in one)"
