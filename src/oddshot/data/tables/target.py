"""The target y of a scikit-learn estimator as labels: 1 (anomaly), 0 (normal) and -1 (unlabelled)."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from oddshot.data.label_values import ANOMALY, NORMAL, UNLABELLED, without_gaps
from oddshot.data.tables.column_names import format_names
from oddshot.data.tables.label_meaning import CONVENTION, LabelMeaning, label_text
from oddshot.data.tables.labels import check_named_values, parse_labels
from oddshot.errors import InputError

_CONVENTION = "1 = anomaly, 0 = normal, -1 = unlabelled"


class Target(NamedTuple):
    """Labels of n rows, [n], and the values of the target that mean normal and anomalous, in this order: [2]."""

    labels: NDArray[np.int8]
    values: NDArray[Any]


def parse_target(y: Any, meaning: LabelMeaning) -> Target:
    """Labels of a target as people give it."""
    cells = _as_cells(y)
    if meaning.named:
        return _parse_by_meaning(cells, meaning)
    cells = without_gaps(cells)
    if cells.dtype.kind not in "biuf":
        return _parse_text(cells)
    return _parse_numbers(cells)


def _as_cells(y: Any) -> NDArray[Any]:
    """The target as an array: [n]. A single column is taken with scikit-learn's warning."""
    if y is None:
        raise InputError("FewShotDetector requires y to be passed, but the target y is None")
    if isinstance(y, np.ma.MaskedArray):
        y = np.where(np.ma.getmaskarray(y), np.array(None), y.data)
    elif hasattr(y, "dtype") and not isinstance(y.dtype, np.dtype):
        y = np.asarray(y, object)  # of pandas or polars, whose missing values scikit-learn would refuse
    try:
        cells: NDArray[Any] = column_or_1d(y, warn=True)
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0].split(". The")[0].removesuffix(".")
        reason = reason if reason.startswith("y ") else f"y: {reason}"
        raise InputError(f"{reason}; expected one label for each row: {_CONVENTION}") from None
    if cells.dtype.kind == "f" and np.isinf(cells).any():
        raise InputError("y contains infinity; an unlabelled row is -1")
    return cells


def _parse_by_meaning(cells: NDArray[Any], meaning: LabelMeaning) -> Target:
    """Every value but the named ones is of the other side. The classes are the two values, or 0 and 1 if it has more.

    Values of the target other than numbers, booleans and text, such as dates, become 0 and 1 as well.
    """
    labels = parse_labels(list(cells), meaning, "y", "y")
    for notice in check_named_values(cells.tolist(), meaning, "y"):
        warnings.warn(notice, stacklevel=4)
    normals, anomalies = (
        {label_text(value): value for value in cells[labels == label].tolist()} for label in (NORMAL, ANOMALY)
    )
    if not anomalies and meaning.label == ANOMALY and isinstance(next(iter(normals.values()), None), str):
        anomalies = {text: text for text in meaning.named}  # y has normal rows alone
    if len(normals) == len(anomalies) == 1:
        values = np.array([*normals.values(), *anomalies.values()])
        if values.dtype.kind in "biufU":
            return Target(labels, values)
    return Target(labels, np.array([NORMAL, ANOMALY]))


def _parse_text(cells: NDArray[Any]) -> Target:
    """Text is taken where it says 1, 0 or -1, as in files; which of other two texts is the anomaly is not guessed."""
    values = list(dict.fromkeys(label_text(cell) for cell in cells.tolist()))
    if not set(values) <= {"0", "1", "-1"}:
        raise InputError(
            f"labels are text; {CONVENTION.advice}, or give {_CONVENTION} (y has {format_names(values, 5)})"
        )
    labels = parse_labels(cells.tolist(), CONVENTION, "y", "y")
    _check_convention(labels)
    return Target(labels, np.array(["0", "1"]))


def _parse_numbers(cells: NDArray[Any]) -> Target:
    """Labels in the convention, or any other two numbers, of which the larger one is the anomaly."""
    values = np.unique(cells)
    if np.isin(values, (NORMAL, ANOMALY, UNLABELLED)).all():
        labels = cells.astype(np.int8)
        _check_convention(labels)
        return Target(labels, np.array([NORMAL, ANOMALY], dtype=cells.dtype))
    kind, shown = type_of_target(cells, input_name="y"), ", ".join(str(value) for value in values[:5])
    if kind.startswith("continuous"):
        raise InputError(f"Unknown label type: {kind}; labels are {_CONVENTION}")
    if UNLABELLED in values:
        others = ", ".join(str(value) for value in values if value != UNLABELLED)
        raise InputError(f"y has -1, which is unlabelled, beside {others}; labels are {_CONVENTION}")
    if len(values) > 2:
        raise InputError(
            f"Only binary classification is supported. The type of the target is {kind}. y has {shown}"
            f"{', …' * (len(values) > 5)}; labels are {_CONVENTION}; or {CONVENTION.advice}"
        )
    if len(values) < 2:
        raise InputError(f"the support has only one class, label {shown}; labels are {_CONVENTION}")
    low, high = values.tolist()
    warnings.warn(
        f"y has {low} and {high}: {high} is taken for anomalies and {low} for normal rows; "
        f"to be sure, {CONVENTION.advice}, or give {_CONVENTION}",
        stacklevel=4,
    )
    return Target((cells == high).astype(np.int8), values)


def _check_convention(labels: NDArray[np.int8]) -> None:
    """Refuse 1 and -1 without 0, where -1 may mean anomaly, as in scikit-learn's outlier detectors, or normal."""
    if set(np.unique(labels).tolist()) == {ANOMALY, UNLABELLED}:
        raise InputError(
            f"y has 1 and -1 but no 0, and at least one row labelled normal is needed: {_CONVENTION}; where -1 means "
            "anomaly, as in scikit-learn's IsolationForest, give anomaly_value=-1, and anomaly_value=1 where it means "
            "normal"
        )
