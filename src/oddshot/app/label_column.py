"""Labels taken from a column of the table itself: which value means what."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.app.edits import Edits, Patch
from oddshot.app.labels import LABEL_NAMES
from oddshot.app.open_table import OpenTable
from oddshot.data.label_values import ANOMALY, NORMAL, UNLABELLED
from oddshot.data.tables.column_names import format_names
from oddshot.data.tables.columns import distinct_values
from oddshot.data.tables.label_meaning import LabelMeaning, label_text
from oddshot.data.tables.labels import check_named_values
from oddshot.data.tables.parsing import MISSING_VALUES
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


def labels_by_choice(open_table: OpenTable, column: str, meanings: Mapping[str, int | None]) -> Patch:
    """The change that labels rows by the values of a column, which the detector does not use from then on.

    meanings: the labels by value, as chosen on the page; rows with other values keep their labels.
    """
    codes, texts = _values(open_table, column)
    patch = _patch(column, codes, [meanings.get(text) for text in texts])
    if not patch["labels"]:
        raise InputError(f"column {column!r}: no row has a value that means normal or anomaly; choose what one means")
    return patch


def labels_by_meaning(open_table: OpenTable, column: str, meaning: LabelMeaning) -> tuple[Patch, list[str]]:
    """The same for a table of the command line, by what its values usually mean, unless a person has named some.

    Also returns what is to be said of the values.
    """
    where = open_table.sheet.name
    codes, texts = _values(open_table, column, None if meaning.named else MAX_VALUES)
    present = [text for text in texts if text not in MISSING_VALUES]
    if not present:
        raise InputError(f"{where}: column {column!r} is empty; expected labels")
    if meaning.named:
        labels = [meaning.label_of(text) for text in texts]
        notices = check_named_values(present, meaning, where, column)
        return _patch(column, codes, [None if label == UNLABELLED else label for label in labels]), notices
    usual = [_usual_meaning(text) for text in texts]
    unknown = [text for text in present if _usual_meaning(text) is None and text != str(UNLABELLED)]
    if all(label is None for label in usual):
        listed = format_names(present)
        raise InputError(f"{where}: column {column!r} has {listed}, none of which is known; {meaning.advice}")
    notices = [f"{where}: rows with {format_names(unknown)} in column {column!r} stay unlabelled; {meaning.advice}"]
    return _patch(column, codes, usual), notices if unknown else []


def takes_labels_from(edits: Edits, column: str) -> bool:
    """Whether the labels were taken from this column before: it is left out, and there are labels."""
    return column in edits.left_out and bool(edits.labels)


def _patch(column: str, codes: NDArray[np.int64], labels: Sequence[int | None]) -> Patch:
    """The change for rows with values of these numbers, [n], that mean these labels."""
    by_row = {row: labels[code] for row, code in enumerate(codes.tolist()) if labels[code] is not None}
    return {"labels": by_row, "left_out": {column: True}}


def _values(
    open_table: OpenTable, column: str, max_values: int | None = MAX_VALUES
) -> tuple[NDArray[np.int64], list[str]]:
    """The number of the value of each row, [n], and the values as text; the last one stands for missing cells."""
    where, names = open_table.sheet.name, open_table.sheet.table.column_names
    if column not in names:
        raise InputError(f"{where}: no column {column[:100]!r}; its columns are {format_names(names)}")
    codes, values = distinct_values(open_table.sheet.table[column])
    if max_values is not None and len(values) > max_values:
        raise InputError(f"column {column!r} has {len(values):,} different values; labels have at most {max_values}")
    texts = [label_text(value) for value in values.to_pylist()]
    return np.where(codes < 0, len(texts), codes), [*texts, ""]


def _usual_meaning(text: str) -> int | None:
    return _USUAL_MEANINGS.get(text.lower())
