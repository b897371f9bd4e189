"""The file of a fitted detector: the model and the rows that it was fitted on, from which it is fitted again."""

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as parse

from oddshot.data.encoding import Encoding
from oddshot.data.tables.conversion import as_table
from oddshot.data.tables.ipc import from_ipc, to_ipc
from oddshot.decisions.calibration import check_rate
from oddshot.errors import ModelFileError, OddshotError
from oddshot.storage.container import read_header, to_sealed_bytes
from oddshot.storage.model_file import Model
from oddshot.storage.model_file import from_bytes as model_from_bytes
from oddshot.storage.model_file import to_bytes as model_to_bytes

FORMAT = 3  # format 1 had no encoding, format 2 no threshold
KEY = "oddshot-detector"


@dataclass(frozen=True)
class DetectorRecord:
    """A detector's model, settings and the rows that it was fitted on.

    labelled, unlabelled: Arrow tables with the same columns, or arrays [n, M] and [u, M]. labels: [n] in {0, 1}.
    row_numbers: [n], positions of the labelled rows among the rows given to `fit`. classes: [2], the labels given to
    `fit` that mean normal and anomalous. encoding: of the rows; None if it is the model's own, or to be fitted again.
    threshold: the score above which rows are anomalies; None for that of the false-positive rate.
    """

    model: Model
    false_positive_rate: float | None
    labelled: Any
    unlabelled: Any
    labels: NDArray[np.int8]
    row_numbers: NDArray[np.int64]
    classes: NDArray[Any]
    encoding: Encoding | None = None
    threshold: float | None = None


def to_bytes(record: DetectorRecord) -> bytes:
    """The content of the file."""
    header = {
        "format": FORMAT,
        "false_positive_rate": record.false_positive_rate,
        "threshold": record.threshold,
        "named": isinstance(record.labelled, pa.Table),
        "classes": record.classes.tolist(),
        "class_type": record.classes.dtype.str,
        "encoding": None if record.encoding is None else record.encoding.to_dict(),
    }
    arrays: dict[str, NDArray[Any]] = {
        "labelled": _as_array(to_ipc(as_table(record.labelled))),
        "unlabelled": _as_array(to_ipc(as_table(record.unlabelled))),
        "labels": record.labels,
        "numbers": record.row_numbers,
        "model": _as_array(model_to_bytes(record.model)),
    }
    return to_sealed_bytes(arrays, header, KEY)


def from_bytes(data: bytes) -> DetectorRecord:
    """The record in the content of a file, which may be damaged or forged: everything in it is checked."""
    header = read_header(data, KEY, "detector", FORMAT)
    try:
        arrays = parse(data)
        model = model_from_bytes(_as_bytes(arrays["model"]))
        parts = [from_ipc(_as_bytes(arrays[name]), name) for name in ("labelled", "unlabelled")]
        if not header["named"]:
            parts = [_to_array(part) for part in parts]
        classes = np.array(header["classes"], _class_type(header["class_type"]))
        labels, row_numbers = arrays["labels"], arrays["numbers"]
        stored = header.get("encoding")  # format 1 has none
        encoding = None if stored is None else Encoding.from_dict(stored)
        rate, threshold = check_rate(header["false_positive_rate"]), _check_threshold(header.get("threshold"))
        _check_shapes(labels, row_numbers, classes, len(parts[0]))
    except (SafetensorError, OddshotError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else " ".join(str(error).split())[:240]
        raise ModelFileError(f"the detector file does not fit together: {reason}") from None
    return DetectorRecord(model, rate, parts[0], parts[1], labels, row_numbers, classes, encoding, threshold)


def _class_type(name: object) -> np.dtype[Any]:
    """Raise ValueError if it is no type of numbers or of short text."""
    if not isinstance(name, str) or not re.fullmatch(r"[<>|=][biufU]\d{1,6}", name):
        raise ValueError(f"the type of the classes is {str(name)[:40]!r}")
    return np.dtype(name)


def _check_threshold(threshold: object) -> float | None:
    """Raise ValueError if it is no finite number; None where there is none."""
    if threshold is None:
        return None
    if not isinstance(threshold, float) or not math.isfinite(threshold):
        raise ValueError(f"the threshold is {str(threshold)[:40]!r}")
    return threshold


def _check_shapes(labels: NDArray[Any], row_numbers: NDArray[Any], classes: NDArray[Any], n_rows: int) -> None:
    """Raise ValueError if an array has the wrong type, shape or values for this number of labelled rows."""
    if labels.dtype != np.int8 or labels.shape != (n_rows,) or not np.isin(labels, (0, 1)).all():
        raise ValueError("labels are not 0 and 1, one for each labelled row")
    if row_numbers.dtype != np.int64 or row_numbers.shape != (n_rows,):
        raise ValueError("there is not a number for each labelled row")
    if classes.dtype.kind not in "biufU" or classes.shape != (2,):
        raise ValueError("there are not two classes")


def _to_array(table: Any) -> NDArray[Any]:
    """The columns of a table, all of one type, as an array [n, M]."""
    return np.column_stack([column.to_numpy() for column in table.columns])


def _as_array(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


def _as_bytes(array: NDArray[Any]) -> bytes:
    return array.astype(np.uint8, casting="no").tobytes()
