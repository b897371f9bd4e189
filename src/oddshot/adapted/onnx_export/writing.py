"""An adapted scorer as an ONNX file, written only where onnxruntime gives torch's scores."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.adapted.onnx_export.encoding import add_encoding, numeric_encoders
from oddshot.adapted.onnx_export.graph import DOUBLE, FLOAT, Graph, import_package
from oddshot.adapted.onnx_export.scores import add_score
from oddshot.adapted.task import AdaptedTask
from oddshot.data.encoding.numeric_arrays import encode_array
from oddshot.data.files import as_path, write_bytes
from oddshot.errors import InputError

MAX_RELATIVE_ERROR = 1e-5
N_CHECKED_ROWS = 1000
MISSING_SHARE = 0.05  # of the values of the rows that are checked
N_ROUNDINGS, ROUNDING, ROUNDING_MARGIN = 24, 2.0**-20, 3.0  # of rows in float32, and of the changes that these cause


def write_onnx(path: str | Path, task: AdaptedTask) -> None:
    """Write the scorer of a task, whole or not at all."""
    path = as_path(path)
    content = to_onnx(task)
    rows, encoded = random_rows(task)
    error = largest_error(task, encoded, run_onnx(content, rows))
    if not error <= MAX_RELATIVE_ERROR:
        raise InputError(
            f"{path}: not written, onnxruntime's scores differ from torch's by {error:.1e} of their size, "
            f"more than {MAX_RELATIVE_ERROR:g}"
        )
    write_bytes(path, content)


def to_onnx(task: AdaptedTask) -> bytes:
    """The file's content: rows -> scores [n] in float64.

    Rows are [n, columns] in float64, NaN where a value is missing, if all columns of use are numbers, else encoded,
    [n, attributes] in float32.
    """
    graph, rows, encoders = Graph(), "rows", numeric_encoders(task.encoding)
    if encoders is not None:
        rows = add_encoding(graph, rows, encoders)
    try:
        scores = add_score(graph, task.compiled, rows)
    except InputError as error:
        raise InputError(f"method {task.model.method.name!r} cannot be exported: {error}") from None
    graph.add("Identity", scores, output="scores")
    columns = [encoder.name for encoder in task.encoding.encoders]
    facts = {
        "threshold": repr(task.threshold),
        "rows": "attributes" if encoders is None else "columns",
        "columns": json.dumps(columns),
        "attributes": json.dumps(task.encoding.attribute_names),
    }
    if encoders is None:
        return graph.to_bytes(task.encoding.n_attributes, FLOAT, facts)
    return graph.to_bytes(len(columns), DOUBLE, facts)


def largest_error(task: AdaptedTask, encoded: NDArray[np.float32], found: NDArray[np.float64]) -> float:
    """By how much scores differ from torch's, relative to their size, beyond what rounding does to torch's own.

    A row that nearly equals one of the task's has a small distance to it, the difference of large numbers: torch's own
    score then changes with the last digits of the row, which random ones in their place show.
    """
    scores, rng = task.score_as_new(encoded), np.random.default_rng(1)
    change = np.zeros(len(scores))
    for _ in range(N_ROUNDINGS):
        factors = 1 + ROUNDING * rng.uniform(-1, 1, encoded.shape)
        change = np.maximum(change, np.abs(task.score_as_new((encoded * factors).astype(np.float32)) - scores))
    # A score near 0 is a difference of nearly equal numbers: as for all others, what counts is its error in those.
    size = np.abs(scores) + np.abs(scores).mean()
    return float((np.maximum(np.abs(found - scores) - ROUNDING_MARGIN * change, 0) / size).max())


def random_rows(task: AdaptedTask) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Random rows as the file takes them, and encoded."""
    rng, encoders = np.random.default_rng(0), numeric_encoders(task.encoding)
    if encoders is None:
        encoded = rng.normal(size=(N_CHECKED_ROWS, task.encoding.n_attributes)).astype(np.float32)
        return encoded, encoded
    deviation = rng.normal(size=(N_CHECKED_ROWS, len(encoders)))
    deviation[rng.random(deviation.shape) < MISSING_SHARE] = np.nan
    deviation[::2, [encoder.constant for encoder in encoders]] = 0.0
    rows = [encoder.mean for encoder in encoders] + deviation * [encoder.scale for encoder in encoders]
    return rows, encode_array(encoders, rows)


def run_onnx(content: bytes, rows: NDArray[Any]) -> NDArray[np.float64]:
    """What onnxruntime makes of the rows: [n, columns or attributes] -> [n]."""
    session = import_package("onnxruntime").InferenceSession(content, providers=["CPUExecutionProvider"])
    scores: NDArray[np.float64] = session.run(["scores"], {"rows": rows})[0]
    return scores
