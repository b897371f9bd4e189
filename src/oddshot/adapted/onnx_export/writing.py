"""An adapted scorer as an ONNX file: the graph that its score makes of ndonnx's arrays.

The file is written only where onnxruntime gives the score's own numbers.
"""

import dataclasses
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.adapted.onnx_export.columns import SCORES, column_inputs, draw_rows, kind_of_rows
from oddshot.adapted.task import AdaptedTask
from oddshot.data.files import as_path, write_bytes
from oddshot.errors import InputError, missing_package, require_type

MAX_RELATIVE_ERROR = 1e-5
N_CHECKED_ROWS = 1000
N_ROUNDINGS, ROUNDING, ROUNDING_MARGIN = 24, 2.0**-20, 3.0  # of rows in float32, and of the changes that these cause
NUMBER_TYPES = ("float64", "float32")


def write_onnx(path: str | Path, task: AdaptedTask, number_type: str = "float64") -> None:
    """Write the scorer of a task, whole or not at all."""
    path = as_path(path)
    require_type("number_type", number_type, str, " or ".join(map(repr, NUMBER_TYPES)))
    if number_type not in NUMBER_TYPES:
        raise InputError(f"number_type is {number_type!r}; there are {' and '.join(NUMBER_TYPES)}")
    content = to_onnx(task, number_type)
    rows, encoded = draw_rows(task.encoding, N_CHECKED_ROWS, number_type)
    error = largest_error(task, encoded, run_onnx(content, rows))
    if not error <= MAX_RELATIVE_ERROR:
        raise InputError(
            f"{path}: not written, onnxruntime's scores differ from the detector's by {error:.1e} of their size, "
            f"more than {MAX_RELATIVE_ERROR:g}"
        )
    write_bytes(path, content)


def to_onnx(task: AdaptedTask, number_type: str = "float64") -> bytes:
    """The file's content: the columns, or encoded rows -> scores [n] in float64; see `kind_of_rows`."""
    if not task.prepared.runs_in_threads:  # it calls another library
        raise InputError(
            f"method {task.model.method.name!r} cannot be exported: its scores are neither a network's nor those of "
            "the model that ships"
        )
    ndx = import_package("ndonnx")
    import_package("onnxruntime")  # by which ndonnx computes what is constant
    inputs, rows = column_inputs(task.encoding, number_type)
    scores = in_graph(task.prepared)(rows)
    model = ndx.build(inputs, {SCORES: scores})
    facts = {
        "threshold": repr(task.threshold),
        "rows": kind_of_rows(task.encoding),
        "columns": json.dumps([encoder.name for encoder in task.encoding.encoders]),
        "attributes": json.dumps(task.encoding.attribute_names),
    }
    model.graph.name = model.producer_name = "oddshot"
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "n"
    import_package("onnx").helper.set_model_props(model, facts)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def in_graph(value: Any) -> Any:
    """A prepared score, or a part of it, with its NumPy arrays as constants of a graph."""
    if isinstance(value, np.ndarray | np.floating):
        import ndonnx as ndx

        return ndx.asarray(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else float(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {name: in_graph(part) for name, part in vars(value).items()}
        return dataclasses.replace(value, **changed)
    if isinstance(value, tuple):  # named tuples are made of their fields
        parts = [in_graph(part) for part in value]
        return tuple(parts) if type(value) is tuple else type(value)(*parts)
    return value


def largest_error(task: AdaptedTask, encoded: NDArray[np.float32], found: NDArray[np.float64]) -> float:
    """By how much scores differ from NumPy's, relative to their size, beyond what rounding does to NumPy's own.

    A row that nearly equals one of the task's has a small distance to it, the difference of large numbers: NumPy's own
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


def run_onnx(content: bytes, rows: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """What onnxruntime makes of the inputs: [n]."""
    session = import_package("onnxruntime").InferenceSession(content, providers=["CPUExecutionProvider"])
    scores: NDArray[np.float64] = session.run([SCORES], rows)[0]
    return scores


def import_package(name: str) -> Any:
    """A package of the extra `onnx`."""
    try:
        return import_module(name)
    except ImportError:
        raise missing_package("export_onnx", name, "ndonnx onnxruntime") from None
