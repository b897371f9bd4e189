"""An ONNX graph that is built one node after the other, without tracing."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from oddshot.errors import missing_package

OPSET, IR_VERSION = 17, 8  # of 2022: runtimes in use read them
FLOAT, INT64, DOUBLE = 1, 7, 11  # ONNX's numbers of these types

Value = str | Tensor | NDArray[Any] | np.generic
"""What a node takes: the name of another node's output, or a constant."""


class Graph:
    """Nodes and constants, added one after the other. Tensors have rows first, [n, ...]."""

    def __init__(self) -> None:
        self._onnx = import_package("onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, *inputs: Value, output: str | None = None, **settings: int | Sequence[int]) -> str:
        """A node whose inputs are names of other nodes' outputs, or constants. Returns its output's name."""
        output = output or f"{kind.lower()}{len(self.nodes)}"
        node = self._onnx.helper.make_node(kind, [self._name(one) for one in inputs], [output], **settings)
        self.nodes.append(node)
        return output

    def reduce(self, kind: str, x: str, axis: int = 1, keepdims: int = 0) -> str:
        """Sum, Mean, Min or Max over a dimension."""
        if kind == "Sum":
            return self.add("ReduceSum", x, np.array([axis]), keepdims=keepdims)
        return self.add(f"Reduce{kind}", x, axes=[axis], keepdims=keepdims)

    def columns(self, x: str, start: int, stop: int) -> str:
        """The places from start to stop of the second dimension."""
        return self.add("Slice", x, *(np.array([number]) for number in (start, stop, 1)))

    def nearest(self, x: str, k: int) -> str:
        """The mean of the k smallest numbers of each row: [n, m] -> [n, 1]."""
        values, places = f"smallest{len(self.nodes)}", f"places{len(self.nodes)}"
        inputs = [x, self._name(np.array([k]))]
        self.nodes.append(self._onnx.helper.make_node("TopK", inputs, [values, places], axis=1, largest=0, sorted=0))
        return self.reduce("Mean", values, keepdims=1)

    def signed_log1p(self, x: str) -> str:
        """sign(x) log(1 + |x|)."""
        return self.add("Mul", self.add("Sign", x), self.add("Log", self.add("Add", self.add("Abs", x), np.float32(1))))

    def cast(self, x: str, kind: int) -> str:
        """The same numbers in another type."""
        return self.add("Cast", x, to=kind)

    def to_bytes(self, width: int, input_type: int, facts: Mapping[str, str]) -> bytes:
        """The file's content: rows [n, width] -> scores [n] in float64, with `facts` as its metadata."""
        onnx, helper = self._onnx, self._onnx.helper
        rows = helper.make_tensor_value_info("rows", input_type, ["n", width])
        scores = helper.make_tensor_value_info("scores", DOUBLE, ["n"])
        model = helper.make_model(
            helper.make_graph(self.nodes, "oddshot", [rows], [scores], self.constants),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="oddshot",
        )
        helper.set_model_props(model, dict(facts))
        onnx.checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString(deterministic=True)
        return content

    def _name(self, value: Value) -> str:
        if isinstance(value, str):
            return value
        name = f"constant{len(self.constants)}"
        array = value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)
        # np.ascontiguousarray would make a vector of a number
        self.constants.append(self._onnx.numpy_helper.from_array(array.copy(order="C"), name))
        return name


def import_package(module: str) -> Any:
    """A package of the extra `onnx`."""
    try:
        return import_module(module)
    except ImportError:
        raise missing_package("export_onnx", module, "onnx onnxruntime") from None
