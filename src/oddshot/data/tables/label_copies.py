"""Columns that say what the labels say: mostly the column of labels itself, left among the others by mistake."""

import re
import warnings
from collections.abc import Mapping, Sequence
from math import lgamma, log
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oddshot.data.label_values import ANOMALY, NORMAL, UNLABELLED
from oddshot.data.tables.column_names import format_names
from oddshot.data.tables.conversion import as_table
from oddshot.data.tables.labels import label_text
from oddshot.data.tables.parsing import MISSING_VALUES

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
            columns = {
                name: j
                for name, j in columns.items()
                if _repeats_labels(_cells(X, name, j, normal), _cells(X, name, j, anomaly), name == label_name)
            }
        for name, j in columns.items():
            values_of_unlabelled[name] |= _texts(_cells(X, name, j, np.flatnonzero(labels == UNLABELLED)))
    are_many = sum(map(_log_choices, tables)) >= _LOG_OF_CHANCE
    found = [
        name
        for name in columns
        if are_many
        or name == label_name
        or _is_called_like_a_label(name)
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


def _repeats_labels(normal: list[Any], anomaly: list[Any], is_label_name: bool) -> bool:
    """Whether the cells of the rows labelled normal have one value, and those of the anomalies another.

    is_label_name: whether the column is called as the labels are. Then there may be several kinds of normal or of
    anomalous rows, but not as many as a measurement has.
    """
    most = max(1, (len(normal) + len(anomaly)) // 2) if is_label_name else 1
    if len(set(normal)) > most or len(set(anomaly)) > most:
        return False
    of_normal, of_anomaly = _texts(normal), _texts(anomaly)
    return "" not in of_normal | of_anomaly and not of_normal & of_anomaly


def _cells(X: Any, name: str, position: int, rows: NDArray[np.int64]) -> list[Any]:
    """The cells of these rows in a column of an array or an Arrow table."""
    cells: list[Any] = X[rows, position].tolist() if isinstance(X, np.ndarray) else X[name].take(rows).to_pylist()
    return cells


def _texts(cells: list[Any]) -> set[str]:
    """The different values of cells as text, an empty one for those that are missing."""
    texts = {label_text(cell) for cell in set(cells)}
    return {"" if text in MISSING_VALUES else text for text in texts}


def _log_choices(table: LabelledTable) -> float:
    """The logarithm of the number of ways to choose as many anomalies among the labelled rows."""
    n_normal, n_anomaly = (int((table[1] == label).sum()) for label in (NORMAL, ANOMALY))
    return lgamma(n_normal + n_anomaly + 1) - lgamma(n_normal + 1) - lgamma(n_anomaly + 1)


def _is_called_like_a_label(name: str) -> bool:
    """Whether all words of a name, such as is_fault or GroundTruth, are those of labels."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", name)]
    return bool(words) and _WORDS_OF_LABELS.issuperset(words)
