"""A column of labels becomes 1 (anomaly), 0 (normal) and -1 (unlabelled)."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oddshot.data.tables.cells import Place, distinct
from oddshot.data.tables.frames import as_table
from oddshot.data.tables.parsing import MISSING
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED

Labels = NDArray[np.int8]

_KNOWN = {"1": ANOMALY, "0": NORMAL, "-1": UNLABELLED, "true": ANOMALY, "false": NORMAL}
_EXPECTED = "is not a label; expected 1, 0, -1 or empty, or name the value of anomalies with --anomaly-value"
_WRONG = 2


def parse_labels(column: Any, anomaly_value: object = None, where: str = "table", name: str = "label") -> Labels:
    """Labels of n rows: [n]. column: n cells, an Arrow column or anything array-like.

    1, 0, -1 and true, false, also as text, mean what they say; an empty cell is unlabelled. With anomaly_value, cells
    equal to it are anomalies, empty ones unlabelled, all others normal. where and name: table and column in messages.
    """
    codes, values = distinct(_column(column, where))
    meanings = [_meaning(value, anomaly_value) for value in values.to_pylist()]
    labels = np.array([*meanings, UNLABELLED], np.int8)[codes]
    if _WRONG in meanings:
        index = int((labels == _WRONG).argmax())
        raise Place(where, name).error(index, values[int(codes[index])].as_py(), _EXPECTED)
    return labels


def values_seen(column: Any) -> list[str]:
    """The different labels of a column as text, without empty ones."""
    shown = dict.fromkeys(spelling(value) for value in distinct(_column(column, "table"))[1].to_pylist())
    return [value for value in shown if value not in MISSING]


def _column(column: Any, where: str) -> Any:
    if isinstance(column, pa.ChunkedArray):
        return column
    return as_table({"label": column}, where)["label"]


def _meaning(value: object, anomaly_value: object) -> int:
    text = spelling(value)
    if text in MISSING:
        return UNLABELLED
    if anomaly_value is not None:
        return ANOMALY if text == spelling(anomaly_value) else NORMAL
    return _KNOWN.get(text, _WRONG)


def spelling(value: object) -> str:
    """One spelling for 1, 1.0 and " 1", and for True and "true"; "" for None."""
    text = "" if value is None else str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else str(number)
