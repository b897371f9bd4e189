"""Labels taken from a column of the table itself: which value means what."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from oddshot.app.edits import Edits, Patch
from oddshot.app.labels import LABEL_NAMES
from oddshot.app.open_table import OpenTable
from oddshot.data.label_values import ANOMALY, NORMAL
from oddshot.data.tables.columns import distinct_values
from oddshot.data.tables.labels import label_text
from oddshot.errors import InputError

MAX_VALUES = 50  # different ones in a column of labels
_ANOMALIES = ("1", "true", "yes", "y", "anomaly", "anomalous", "abnormal", "outlier", "fault", "faulty", "fraud", "bad")
_NORMAL = ("0", "false", "no", "n", "normal", "inlier", "ok", "good", "benign")
_NAMES: dict[int | None, str | None] = {NORMAL: LABEL_NAMES[NORMAL], ANOMALY: LABEL_NAMES[ANOMALY], None: None}
_USUAL_MEANINGS = dict.fromkeys(_ANOMALIES, ANOMALY) | dict.fromkeys(_NORMAL, NORMAL)


def describe_label_column(open_table: OpenTable, column: str) -> dict[str, Any]:
    """The values of a column, the most frequent first, with what they usually mean, as JSON."""
    codes, texts = _values(open_table, column)
    counts = np.bincount(codes, minlength=len(texts))
    values = [
        {"value": texts[k], "rows": int(counts[k]), "label": _NAMES[_usual_meaning(texts[k])]}
        for k in np.argsort(-counts, kind="stable").tolist()
    ]
    return {"name": column, "values": values}


def labels_from_column(open_table: OpenTable, column: str, meanings: Mapping[str, int | None] | None = None) -> Patch:
    """The change that labels rows by the values of a column, which the detector does not use from then on.

    meanings: the labels by value; rows with other values keep their labels. None for what the values usually mean.
    """
    codes, texts = _values(open_table, column)
    if meanings is None:
        meanings = {text: _usual_meaning(text) for text in texts}
    by_code = [meanings.get(text) for text in texts]
    labels = {row: by_code[code] for row, code in enumerate(codes.tolist()) if by_code[code] is not None}
    if not labels:
        listed = ", ".join(texts[:10])
        raise InputError(f"column {column!r}: no value means normal or anomaly; its values are {listed}")
    return {"labels": labels, "left_out": {column: True}}


def takes_labels_from(edits: Edits, column: str) -> bool:
    """Whether the labels were taken from this column before: it is left out, and there are labels."""
    return column in edits.left_out and bool(edits.labels)


def _values(open_table: OpenTable, column: str) -> tuple[Any, list[str]]:
    """The number of the value of each row, [n], and the values as text; the last one stands for missing cells."""
    if column not in open_table.sheet.table.column_names:
        raise InputError(f"the table has no column {column[:100]!r}")
    codes, values = distinct_values(open_table.sheet.table[column])
    if len(values) > MAX_VALUES:
        raise InputError(f"column {column!r} has {len(values):,} different values; labels have at most {MAX_VALUES}")
    texts = [label_text(value) for value in values.to_pylist()]
    return np.where(codes < 0, len(texts), codes), [*texts, ""]


def _usual_meaning(text: str) -> int | None:
    return _USUAL_MEANINGS.get(text.lower())
