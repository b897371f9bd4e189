"""Compiled scores as nodes of a graph, one function for each kind of them."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from oddshot.adapted.onnx_export.description import add_description
from oddshot.adapted.onnx_export.graph import DOUBLE, Graph
from oddshot.errors import InputError
from oddshot.methods.compiled import (
    CompiledDensity,
    CompiledForest,
    CompiledMean,
    CompiledNetwork,
    CompiledScore,
)
from oddshot.methods.compiled_relative import CompiledRelative
from oddshot.model.background import MAX_ABS_VALUE, ROUNDING_SHARE
from oddshot.model.blending import MIN_DISTANCE
from oddshot.model.compiled_forest import CompiledLevel
from oddshot.model.neighbours import NeighbourDistance, NeighbourScore


def add_score(graph: Graph, score: CompiledScore, rows: str) -> str:
    """Scores in float64: rows [n, M] in float32 -> [n]."""
    match score:
        case CompiledNetwork():
            return _add_network(graph, score, rows)
        case CompiledRelative():
            return _add_network(graph, score.network, add_description(graph, rows, score.describe))
        case CompiledMean():
            parts = [add_score(graph, member, rows) for member in score.members]
            scaled = [graph.add("Div", part, np.float64(s)) for part, s in zip(parts, score.scales, strict=True)]
            return graph.add("Div", graph.add("Sum", *scaled), np.float64(len(scaled)))
        case CompiledForest():
            share = graph.cast(_add_forest(graph, score.levels, rows), DOUBLE)
            learned = _add_distance(graph, add_score(graph, score.learned, rows), score.statistics)
            return graph.add("Add", learned, graph.add("Mul", share, np.float64(score.weight)))
        case CompiledDensity():
            learned = _add_distance(graph, add_score(graph, score.learned, rows), score.statistics)
            return graph.add("Add", learned, _add_neighbours(graph, score.neighbours, rows))
    raise InputError("its scores are neither a network's nor those of 'relative' (which meta_train learns)")


def _add_network(graph: Graph, network: CompiledNetwork, x: str) -> str:
    for layer in network.layers:
        inputs = [layer.W] if layer.b is None else [layer.W, layer.b.unsqueeze(0)]
        x = graph.add("Relu", graph.add("MatMul" if layer.b is None else "Gemm", x, *inputs))
    # P and the offset stay matrices: onnxruntime 1.31 can compute products with vectors wrongly.
    x = graph.cast(graph.add("MatMul", x, network.P), DOUBLE)
    x = graph.add("Sub", x, network.offset.unsqueeze(0))
    if network.is_distance:
        x = graph.add("Mul", x, x)
    return graph.reduce("Sum", x)


def _add_distance(graph: Graph, squared: str, statistics: Tensor) -> str:
    """The standardised log of the root of a score: [n] -> [n]."""
    return _standardised_log(graph, graph.add("Sqrt", graph.add("Max", squared, np.float64(0))), statistics)


def _standardised_log(graph: Graph, distance: str, statistics: Tensor) -> str:
    """z(log d) in float64, 0 for infinite distances: [n] -> [n]."""
    mean, spread = (np.float64(one) for one in statistics.tolist())
    log = graph.add("Log", graph.add("Add", distance, np.float64(MIN_DISTANCE)))
    z = graph.add("Div", graph.add("Sub", log, mean), spread)
    is_finite = graph.add("Equal", graph.add("Sub", distance, distance), np.float64(0))
    return graph.add("Where", is_finite, z, np.float64(0))


def _add_forest(graph: Graph, levels: Sequence[CompiledLevel], rows: str) -> str:
    """The mean share of anomalies over all trees, from the leaves up: [n, M] -> [n], or [1] without any split.

    The share of every node is that of the child where a row goes.
    """
    share, n_below = "", 0
    for level in reversed(levels):
        own, n_nodes = level.share.unsqueeze(0), len(level.share)
        if not share:
            share, n_below = graph.add("Identity", own), n_nodes
            continue
        right, left = (graph.add("Gather", share, np.arange(first, n_below, 2), axis=1) for first in (1, 0))
        is_above = graph.add("Greater", graph.add("Gather", rows, level.column, axis=1), level.threshold.unsqueeze(0))
        chosen = graph.add("Where", is_above, right, left)
        place, is_split = np.zeros(n_nodes, np.int64), np.zeros((1, n_nodes), bool)
        split = level.split.cpu().numpy()
        place[split], is_split[0, split] = np.arange(len(split)), True
        share, n_below = graph.add("Where", is_split, graph.add("Gather", chosen, place, axis=1), own), n_nodes
    return graph.reduce("Mean", share)


def _add_neighbours(graph: Graph, neighbours: NeighbourScore, rows: str) -> str:
    """The sum of the distances to nearest rows, each standardised: [n, M] -> [n]."""
    limit = np.float32(MAX_ABS_VALUE)
    compressed = graph.add("Div", graph.add("Asinh", graph.add("Clip", rows, -limit, limit)), neighbours.spread)
    parts = [_add_neighbour_distance(graph, one, compressed) for one in neighbours.distances]
    return graph.add("Sum", *parts)


def _add_neighbour_distance(graph: Graph, neighbour: NeighbourDistance, x: str) -> str:
    """w z(log d): [n, M] -> [n]; see `mean_distance`."""
    if neighbour.reference.shape[1] == 1:
        distances = graph.add("Abs", graph.add("Sub", x, neighbour.reference.T))
    else:
        distances = _add_distances(graph, neighbour.reference, x)
    nearest = graph.add("Squeeze", graph.nearest(distances, neighbour.k), np.array([1]))
    z = _standardised_log(graph, graph.cast(nearest, DOUBLE), neighbour.statistics)
    return graph.add("Mul", z, np.float64(neighbour.weight))


def _add_distances(graph: Graph, reference: Tensor, x: str) -> str:
    """Root mean squared differences from the rows of the reference: [n, M] -> [n, B]."""
    center = reference.mean(0, keepdim=True)
    reference = reference - center
    x = graph.add("Sub", x, center)
    own = graph.reduce("Sum", graph.add("Mul", x, x), keepdims=1)
    squares = graph.add("Add", own, reference.square().sum(-1).unsqueeze(0))
    products = graph.add("Mul", graph.add("MatMul", x, reference.T), np.float32(2))
    squared = graph.add("Sub", squares, products)
    is_equal = graph.add("Less", squared, graph.add("Mul", squares, np.float32(ROUNDING_SHARE)))
    squared = graph.add("Where", is_equal, np.float32(0), squared)
    return graph.add("Sqrt", graph.add("Div", squared, np.float32(reference.shape[1])))
