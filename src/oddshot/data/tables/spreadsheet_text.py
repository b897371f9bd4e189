"""Text in CSV files that a spreadsheet would evaluate as a formula gets an apostrophe in front."""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# The beginnings of formulas, also in full width; a sign alone, as for a missing value, is none.
_FORMULA = "(?s)^[=+\\-@\t\r\n＝＋－＠]."


def escape_formula(text: str) -> str:
    """The text of one cell."""
    return f"'{text}" if re.match(_FORMULA, text) else text


def escape_formulas(column: Any) -> Any:
    """The cells of a column of text: a pyarrow.ChunkedArray."""
    escaped = pc.binary_join_element_wise(pa.scalar("'", column.type), column, pa.scalar("", column.type))
    return pc.if_else(pc.match_substring_regex(column, _FORMULA), escaped, column)
