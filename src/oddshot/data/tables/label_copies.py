"""Columns that say what the labels say: mostly the column of labels itself, left among the others by mistake."""

import re
import warnings
from collections.abc import Mapping, Sequence
from math import lgamma, log
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oddshot.data.label_values import ANOMALY, NORMAL, UNLABELLED
from oddshot.data.tables.categories import canonical_text
from oddshot.data.tables.column_names import format_names
from oddshot.data.tables.conversion import as_table
from oddshot.data.tables.label_meaning import label_text

_WORDS_OF_LABELS = frozenset(
    (
        *("abnormal", "anomalies", "anomalous", "anomaly", "attack", "broken", "class", "damaged", "defect"),
        *("defective", "failure", "fault", "faulty", "fraud", "fraudulent", "ground", "is", "label", "labels"),
        *("malignant", "outlier", "outliers", "target", "true", "truth", "y"),
    )
)
_LOG_OF_CHANCE = log(1e6)  # one column of a million with as many ones agrees with that many labels by chance
_N_PROBED_ROWS = 50  # of each class; they mostly settle that a column says something else

LabelledTable = tuple[Any, NDArray[np.int8]]
"""n rows, an array or a table of any library, and their labels: [n]."""


def warn_of_label_copies(
    tables: Sequence[LabelledTable], columns: Mapping[str, int], where: str, label_name: object = None
) -> None:
    """Warn of columns that repeat the labels in all tables.

    A column with two values may agree with a handful of labels by chance. So there is a warning only if the column is
    called like a label, if it has gaps (or -1) in all unlabelled rows, or if the labelled rows are many.
    columns: the positions of the columns in question, by name. label_name: the name of the labels, if it is known.
    """
    values_of_unlabelled = {name: set[str]() for name in columns}
    for X, labels in tables:
        X = X if isinstance(X, np.ndarray | pa.Table) or not columns else as_table(X)
        for most in (_N_PROBED_ROWS, len(labels)):
            normal, anomaly = (np.flatnonzero(labels == label)[:most] for label in (NORMAL, ANOMALY))
            if isinstance(X, np.ndarray):
                is_same = (X[normal] == X[normal[:1]]).all(axis=0).tolist()  # at a glance, as columns may be many
                columns = {name: j for name, j in columns.items() if is_same[j] or name == label_name}
            columns = {
                name: j
                for name, j in columns.items()
                if _repeats_labels(X, name, j, normal, anomaly, name == label_name)
            }
        if not columns:
            return
        for name, j in columns.items():
            others = _values(X, name, j, np.flatnonzero(labels == UNLABELLED), len(labels))
            values_of_unlabelled[name] |= others or set()
    has_anomalies = any((labels == ANOMALY).any() for _, labels in tables)
    are_many = sum(map(_log_choices, tables)) >= _LOG_OF_CHANCE
    found = [
        name
        for name in columns
        if are_many
        or name == label_name
        or (has_anomalies and _is_called_like_a_label(name))
        or values_of_unlabelled[name] in ({""}, {"-1"})
    ]
    if found:
        n_labelled = sum(int((labels != UNLABELLED).sum()) for _, labels in tables)
        column, repeat = ("column", "repeats") if len(found) == 1 else ("columns", "repeat")
        warnings.warn(
            f"{where}: {column} {format_names(found)} {repeat} the labels of all {n_labelled:,} labelled rows; if this "
            "is the label itself, leave it out: drop the column, or give it the kind ignore",
            stacklevel=5,
        )


def _repeats_labels(
    X: Any,
    name: str,
    position: int,
    normal_rows: NDArray[np.int64],
    anomaly_rows: NDArray[np.int64],
    is_label_name: bool,
) -> bool:
    """Whether the normal rows of an array or Arrow table have one value in a column, and the anomalies another.

    is_label_name: whether the column is called as the labels are. Then there may be several kinds of normal or of
    anomalous rows, but not as many as a measurement has.
    """
    most = max(1, (len(normal_rows) + len(anomaly_rows)) // 2) if is_label_name else 1
    normal = _values(X, name, position, normal_rows, most)
    anomaly = None if normal is None else _values(X, name, position, anomaly_rows, most)
    return normal is not None and anomaly is not None and "" not in normal | anomaly and not normal & anomaly


def _values(X: Any, name: str, position: int, rows: NDArray[np.int64], most: int) -> set[str] | None:
    """The different values of these rows in a column as text, an empty one for missing cells; None for too many."""
    if isinstance(X, np.ndarray):
        cells = set(X[rows, position].tolist())
        return None if len(cells) > most else {"" if cell != cell else label_text(cell) for cell in cells}
    values = pc.unique(X[name].take(rows))
    return None if len(values) > most else {text or "" for text in canonical_text(values).to_pylist()}


def _log_choices(table: LabelledTable) -> float:
    """The logarithm of the number of ways to choose as many anomalies among the labelled rows."""
    n_normal, n_anomaly = (int((table[1] == label).sum()) for label in (NORMAL, ANOMALY))
    return lgamma(n_normal + n_anomaly + 1) - lgamma(n_normal + 1) - lgamma(n_anomaly + 1)


def _is_called_like_a_label(name: str) -> bool:
    """Whether all words of a name, such as is_fault or GroundTruth, are those of labels."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)]
    return bool(words) and _WORDS_OF_LABELS.issuperset(words)
