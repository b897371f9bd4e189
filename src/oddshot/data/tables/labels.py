"""Parse a column of labels as 1 (anomaly), 0 (normal) and -1 (unlabelled)."""

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oddshot.data.label_values import ANOMALY, NORMAL, UNLABELLED
from oddshot.data.tables.column_names import format_names
from oddshot.data.tables.columns import CellLocation, distinct_values
from oddshot.data.tables.conversion import as_table
from oddshot.data.tables.parsing import MISSING_VALUES
from oddshot.errors import InputError

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


def check_anomaly_value(column: Any, anomaly_value: object, labels: NDArray[np.int8], where: str, name: str) -> None:
    """Refuse an anomaly value that no cell has, unless all cells with a label have the same: then all are normal.

    labels: [n], as parse_labels gave them. where, name: the table and the column in messages.
    """
    if anomaly_value is None or (labels == ANOMALY).any():
        return
    values = distinct_label_texts(column)
    message = f"{where}: no row has {name!r} = {str(anomaly_value)!r}; values seen: {format_names(values)}"
    given = label_text(anomaly_value)
    similar = [value for value in values if value.strip().lower() == given.lower()]
    if similar:
        raise InputError(f"{message} (did you mean {similar[0]!r}?)")
    if len(values) > 1:
        raise InputError(message)
    warnings.warn(message, stacklevel=3)


def labels_of_target(y: NDArray[Any], anomaly_value: object) -> tuple[NDArray[np.int8], NDArray[Any]]:
    """Return the labels of a target with values of any type, [n], and its classes, normal and anomalous: [2].

    The classes are the two values that the target has, or 0 and 1 if it has more.
    """
    labels = parse_labels(list(y), anomaly_value, "y", "y")
    check_anomaly_value(list(y), anomaly_value, labels, "y", "y")
    others = {label_text(value): value for value in y[labels == NORMAL].tolist()}
    found = y[labels == ANOMALY].tolist()
    if len(others) != 1 or not found:
        return labels, np.array([NORMAL, ANOMALY])
    return labels, np.array([next(iter(others.values())), found[0]])


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
