"""The labels of a request: 1, 0 and -1, or values of which the request says what they mean."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oddshot.data.label_values import UNLABELLED
from oddshot.data.tables.label_meaning import LabelMeaning
from oddshot.data.tables.labels import check_named_values, distinct_cells, parse_labels
from oddshot.errors import InputError
from oddshot.service.rows import CELL_TYPES, ArrowRows, type_name

FIELDS = ("the field anomaly_value", "the field normal_value")
PARAMETERS = ("the query parameter anomaly_value", "the query parameter normal_value")


class RequestLabels(NamedTuple):
    """Labels of n rows, [n]: 1 = anomaly, 0 = normal, -1 = unlabelled, and what is to be said of them."""

    labels: NDArray[np.int8]
    notes: tuple[str, ...] = ()


def meaning_from_json(anomaly_value: Any, normal_value: Any) -> LabelMeaning:
    """What labels mean by the fields of a JSON body, of any type; None for none."""
    for name, values in (("anomaly_value", anomaly_value), ("normal_value", normal_value)):
        for value in values if isinstance(values, list) else [values]:
            if type(value) not in CELL_TYPES:
                raise InputError(f"{name}: {type_name(value)}; expected a label, or a list of labels")
    return LabelMeaning.of(anomaly_value, normal_value, FIELDS)


def labels_from_json(labels: Any, n_rows: int, meaning: LabelMeaning) -> RequestLabels:
    """Parse the labels of a JSON body, one for each of n_rows rows."""
    if not isinstance(labels, list):
        raise InputError("labels is not a list; expected 1, 0, -1 or null for each row")
    if len(labels) != n_rows:
        raise InputError(f"there are {n_rows} rows and {len(labels)} labels")
    if meaning.named:
        return _labels_by_meaning(labels, meaning)
    for number, label in enumerate(labels, 1):
        if label is not None and (type(label) not in (int, float) or label not in (0, 1, -1)):
            raise InputError(
                f"label {number} is not 1 (anomaly), 0 (normal), -1 or null (unlabelled); or {meaning.advice}"
            )
    return RequestLabels(np.array([UNLABELLED if label is None else label for label in labels], np.int8))


def split_labels(rows: ArrowRows, label: str, meaning: LabelMeaning) -> tuple[ArrowRows, RequestLabels]:
    """Split the column of labels off: the other columns, and the labels."""
    if label not in rows.names:
        raise InputError(f"rows: no column {label[:60]!r}, which should hold the labels")
    if len(rows.names) == 1:
        raise InputError("rows: no columns beside the labels")
    column = rows.content[label]
    labels = parse_labels(column, meaning, where="rows", name=label)
    notes = check_named_values(distinct_cells([column]), meaning, "rows", label)
    content = rows.content.drop_columns([label])
    return ArrowRows(content, tuple(content.column_names)), RequestLabels(labels, tuple(notes))


def _labels_by_meaning(labels: list[Any], meaning: LabelMeaning) -> RequestLabels:
    """Labels of any kind that a cell may have."""
    for number, label in enumerate(labels, 1):
        if type(label) not in CELL_TYPES:
            raise InputError(f"label {number} is {type_name(label)}; expected text, a number, true, false or null")
    parsed = np.array([meaning.label_of(label) for label in labels], np.int8)
    return RequestLabels(parsed, tuple(check_named_values(labels, meaning, "labels")))
