"""Parse a column of labels as 1 (anomaly), 0 (normal) and -1 (unlabelled)."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oddshot.data.tables.columns import CellLocation, distinct_values
from oddshot.data.tables.conversion import as_table
from oddshot.data.tables.parsing import MISSING_VALUES
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED

_LABELS_BY_TEXT = {"1": ANOMALY, "0": NORMAL, "-1": UNLABELLED, "true": ANOMALY, "false": NORMAL}
_PROBLEM = "is not a label; expected 1, 0, -1 or empty, or name the value of anomalies with --anomaly-value"
_INVALID = 2


def parse_labels(
    column: Any, anomaly_value: object = None, where: str = "table", name: str = "label"
) -> NDArray[np.int8]:
    """Return the labels of n rows: [n]. column: n cells, an Arrow column or anything array-like.

    The cells are 1, 0, -1, true or false, also as text; an empty cell is unlabelled. With anomaly_value, cells equal to
    it are anomalies, empty ones unlabelled and all others normal. where, name: the table and the column in messages.
    """
    codes, values = distinct_values(_as_column(column, where))
    label_of_value = [_parse_label(value, anomaly_value) for value in values.to_pylist()]
    labels = np.array([*label_of_value, UNLABELLED], np.int8)[codes]
    if _INVALID in label_of_value:
        index = int((labels == _INVALID).argmax())
        raise CellLocation(where, name).error(index, values[int(codes[index])].as_py(), _PROBLEM)
    return labels


def distinct_label_texts(column: Any) -> list[str]:
    """Return the distinct labels of a column as text, without missing values."""
    texts = dict.fromkeys(label_text(value) for value in distinct_values(_as_column(column, "table"))[1].to_pylist())
    return [text for text in texts if text not in MISSING_VALUES]


def label_text(value: object) -> str:
    """Return the same text for 1, 1.0 and " 1", and for True and "true"; an empty one for None."""
    text = "" if value is None else str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else str(number)


def _as_column(column: Any, where: str) -> Any:
    if isinstance(column, pa.ChunkedArray):
        return column
    return as_table({"label": column}, where)["label"]


def _parse_label(value: object, anomaly_value: object) -> int:
    text = label_text(value)
    if text in MISSING_VALUES:
        return UNLABELLED
    if anomaly_value is not None:
        return ANOMALY if text == label_text(anomaly_value) else NORMAL
    return _LABELS_BY_TEXT.get(text, _INVALID)
