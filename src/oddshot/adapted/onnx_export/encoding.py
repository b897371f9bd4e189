"""The encoding of columns of numbers as nodes of a graph: raw rows become the attributes that a score takes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oddshot.adapted.onnx_export.graph import FLOAT, Graph
from oddshot.data.encoding import Encoding
from oddshot.data.encoding.numeric_column import NumericColumn
from oddshot.data.encoding.scaling import MAX_SCALED_VALUE


def numeric_encoders(encoding: Encoding) -> list[NumericColumn] | None:
    """The encoders of the columns of use if all are numbers or booleans, else None."""
    found = [encoder for encoder in encoding.encoders if isinstance(encoder, NumericColumn)]
    return found if len(found) == len(encoding.encoders) else None


def add_encoding(graph: Graph, rows: str, encoders: Sequence[NumericColumn]) -> str:
    """Attributes in float32, as `encode_array` gives them: rows [n, columns] in float64 -> [n, attributes]."""
    mean = np.array([[encoder.mean for encoder in encoders]])
    scale = np.array([[encoder.scale for encoder in encoders]])
    is_missing = graph.add("IsNaN", rows)
    deviation = graph.add("Sub", rows, mean)
    limit = np.float64(MAX_SCALED_VALUE)
    value = graph.add("Clip", graph.add("Div", deviation, scale), -limit, limit)
    constant = np.array([[encoder.constant for encoder in encoders]])
    if constant.any():
        rounding = np.array([[encoder.rounding for encoder in encoders]])
        is_same = graph.add("LessOrEqual", graph.add("Abs", deviation), rounding)
        deviation = graph.add("Where", is_same, np.float64(0), deviation)
        value = graph.add("Where", constant, _deviation_from_constant(graph, deviation, mean), value)
    value = graph.cast(graph.add("Where", is_missing, np.float64(0), value), FLOAT)
    with_indicator = [j for j, encoder in enumerate(encoders) if encoder.missing]
    if not with_indicator:
        return value
    indicators = graph.cast(graph.add("Gather", is_missing, np.array(with_indicator), axis=1), FLOAT)
    order: list[int] = []  # an indicator follows its value
    for j, encoder in enumerate(encoders):
        order += [j, len(encoders) + with_indicator.index(j)] if encoder.missing else [j]
    return graph.add("Gather", graph.add("Concat", value, indicators, axis=1), np.array(order), axis=1)


def _deviation_from_constant(graph: Graph, deviation: str, constant: NDArray[np.float64]) -> str:
    """The root of the deviation's share of the constant, at most 1, with its sign; ±1 where the constant is 0."""
    share = graph.add("Min", graph.add("Div", graph.add("Abs", deviation), np.abs(constant)), np.float64(1))
    is_same = graph.add("Equal", deviation, np.float64(0))
    root = graph.add("Sqrt", graph.add("Where", is_same, np.float64(0), share))
    return graph.add("Mul", graph.add("Sign", deviation), root)
