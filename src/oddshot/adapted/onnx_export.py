"""An adapted scorer as an ONNX file, written only where onnxruntime gives torch's scores."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from oddshot.data.files import write_bytes
from oddshot.errors import InputError
from oddshot.methods.compiled import CompiledNetwork

MAX_RELATIVE_ERROR = 1e-5
OPSET, IR_VERSION = 17, 8  # of 2022: runtimes in use read them


def write_onnx(
    path: str | Path,
    network: CompiledNetwork,
    facts: Mapping[str, str],
    rows: NDArray[np.float32],
    scores: NDArray[np.float64],
) -> None:
    """Write the scorer, whole or not at all, with `facts` as its metadata.

    rows, scores: [n, M] and [n], what onnxruntime must agree with.
    """
    content = to_onnx(network, rows.shape[1], facts)
    found = run_onnx(content, rows)
    # A score near 0 is a difference of nearly equal numbers: as for all others, what counts is its error in those.
    error = float((np.abs(found - scores) / (np.abs(scores) + np.abs(scores).mean())).max())
    if not error <= MAX_RELATIVE_ERROR:
        raise InputError(
            f"{path}: not written, onnxruntime's scores differ from torch's by {error:.1e} of their size, "
            f"more than {MAX_RELATIVE_ERROR:g}"
        )
    write_bytes(path, content)


def to_onnx(network: CompiledNetwork, n_attributes: int, facts: Mapping[str, str]) -> bytes:
    """The file's content: rows [n, M] in float32 -> scores [n] in float64."""
    onnx = _import("onnx")
    graph = _Graph(onnx.helper, onnx.numpy_helper)
    x = "rows"
    for layer in network.layers:
        inputs = [layer.W] if layer.b is None else [layer.W, layer.b.unsqueeze(0)]
        x = graph.add("Relu", graph.add("MatMul" if layer.b is None else "Gemm", x, *inputs))
    # P and the offset stay matrices: onnxruntime 1.31 can compute products with vectors wrongly.
    x = graph.add("Cast", graph.add("MatMul", x, network.P), to=onnx.TensorProto.DOUBLE)
    x = graph.add("Sub", x, network.offset.unsqueeze(0))
    if network.is_distance:
        x = graph.add("Mul", x, x)
    graph.add("ReduceSum", x, np.array([1]), output="scores", keepdims=0)
    rows = onnx.helper.make_tensor_value_info("rows", onnx.TensorProto.FLOAT, ["n", n_attributes])
    scores = onnx.helper.make_tensor_value_info("scores", onnx.TensorProto.DOUBLE, ["n"])
    model = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, "oddshot", [rows], [scores], graph.constants),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="oddshot",
    )
    onnx.helper.set_model_props(model, dict(facts))
    onnx.checker.check_model(model, full_check=True)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def run_onnx(content: bytes, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """What onnxruntime makes of the rows: [n, M] -> [n]."""
    session = _import("onnxruntime").InferenceSession(content, providers=["CPUExecutionProvider"])
    scores: NDArray[np.float64] = session.run(["scores"], {"rows": rows})[0]
    return scores


class _Graph:
    """Nodes and constants, added one after the other."""

    def __init__(self, helper: Any, numpy_helper: Any) -> None:
        self._helper, self._numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, *inputs: "str | Tensor | NDArray[Any]", output: str | None = None, **settings: int) -> str:
        """A node whose inputs are names of other nodes' outputs, or constants. Returns its output's name."""
        output = output or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(kind, [self._name(one) for one in inputs], [output], **settings))
        return output

    def _name(self, value: "str | Tensor | NDArray[Any]") -> str:
        if isinstance(value, str):
            return value
        name = f"constant{len(self.constants)}"
        array = value if isinstance(value, np.ndarray) else value.detach().cpu().numpy()
        self.constants.append(self._numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name


def _import(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InputError(f"export_onnx needs {module}: pip install 'oddshot[onnx]'") from None
