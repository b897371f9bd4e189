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
_EXPECTED = "expected 1, 0, -1 or empty, or name the value of anomalies with --anomaly-value"
_PROBLEM = f"is not a label; {_EXPECTED}"
_INVALID = 2
MIN_ANOMALIES_OF_SWAP = 10  # with fewer, labels are not suspected to be the wrong way round


def parse_labels(
    column: Any, anomaly_value: object = None, where: str = "table", name: str = "label"
) -> NDArray[np.int8]:
    """Return the labels of n rows: [n]. column: n cells, an Arrow column or anything array-like.

    The cells are 1, 0, -1, true or false, also as text; an empty cell is unlabelled. With anomaly_value, cells equal to
    it are anomalies, empty ones unlabelled and all others normal. where, name: the table and the column in messages.
    """
    codes, values = distinct_values(_as_column(column, where))
    try:
        cells = values.to_pylist()
    except (ValueError, OverflowError):  # dates and durations that Python does not have, or in no known time zone
        raise InputError(f"{where}: column {name!r} holds {values.type} values; {_EXPECTED}") from None
    label_of_value = [_parse_label(value, anomaly_value) for value in cells]
    labels = np.array([*label_of_value, UNLABELLED], np.int8)[codes]
    if _INVALID in label_of_value:
        index = int((labels == _INVALID).argmax())
        raise CellLocation(where, name).error(index, values[int(codes[index])].as_py(), _PROBLEM)
    return labels


def check_anomaly_value(
    column: Any, anomaly_value: object, labels: NDArray[np.int8], where: str, name: str | None = None
) -> None:
    """Refuse an anomaly value that no cell has, unless all cells with a label have the same: then all are normal.

    Where some cells have it and others are written almost like it, there is a warning.
    labels: [n], as parse_labels gave them. where, name: the table and the column in messages, if it has a name.
    """
    if anomaly_value is None:
        return
    values, given = distinct_label_texts(column), label_text(anomaly_value)
    similar = [value for value in values if value != given and value.strip().lower() == given.lower()]
    if (labels == ANOMALY).any():
        if similar:
            written = f"{where}: labels {format_names(similar)} are taken as normal, and only {given!r} as anomalous"
            warnings.warn(f"{written}; write them alike if they mean the same", stacklevel=3)
        return
    absent = "no label is" if name is None else f"no row has {name!r} ="
    message = f"{where}: {absent} {str(anomaly_value)!r}; values seen: {format_names(values)}"
    if similar:
        raise InputError(f"{message} (did you mean {similar[0]!r}?)")
    if len(values) > 1:
        raise InputError(message)
    warnings.warn(message, stacklevel=3)


def swapped_labels_notice(labels: NDArray[np.int8]) -> str:
    """What to say where anomalies outnumber normal rows, or nothing; a handful of rows may well be chosen so."""
    n_normal, n_anomaly = (int((labels == label).sum()) for label in (NORMAL, ANOMALY))
    if n_anomaly <= n_normal or n_anomaly < MIN_ANOMALIES_OF_SWAP:
        return ""
    return (
        f"{n_anomaly:,} rows are labelled anomalous and only {n_normal:,} normal: "
        "are the labels the wrong way round? 1 = anomaly, 0 = normal"
    )


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
