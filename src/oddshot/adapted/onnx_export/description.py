"""The description of rows by their relation to a task's own rows, as nodes of a graph; see `Describer`."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from oddshot.adapted.onnx_export.graph import INT64, Graph
from oddshot.model.background import MAX_ABS_VALUE, MIN_SQUARE, N_NEIGHBOURS, ROUNDING_SHARE
from oddshot.model.curves import MAX_POSITION, N_KNOTS
from oddshot.model.description import MIN_POWER_MEAN, N_PAIR_ROW_FEATURES, Describer
from oddshot.model.relations import MIN_RATIO_DISTANCE, TaskContext

N_LENGTHS = 2  # the last features of a pair, which depend on the row alone


@dataclass(frozen=True)
class _Relations:
    """Rows in relation to the L context rows, of which the first K are labelled; see `RowView`.

    centered: [n, M]. lengths: [n, 1] each. support_products: [n, K]. products, distances: [n, L].
    """

    centered: str
    lengths: tuple[str, str]
    support_products: str
    products: str
    distances: str


def add_description(graph: Graph, rows: str, describe: Describer) -> str:
    """Descriptions of rows: [n, M] in float32 -> [n, D]."""
    limit = np.float32(MAX_ABS_VALUE)
    x = graph.add("Clip", rows, -limit, limit)
    relations = _add_relations(graph, x, describe.context)
    features = _add_row_features(graph, relations, describe.context)
    # What is the same for all rows is added to a column of zeros, so that it has as many rows.
    zero = graph.add("Mul", graph.columns(features, 0, 1), np.float32(0))
    parts = [
        *_add_pairs(graph, relations, describe, zero),
        _add_columns(graph, x, describe),
        features,
        _standardise(graph, features, describe.context),
        graph.add("Add", zero, describe.task_features[0, 0].T),
    ]
    return graph.add("Concat", *parts, axis=1)


def _add_relations(graph: Graph, x: str, context: TaskContext) -> _Relations:
    centered = graph.add("Sub", x, _row(context.center))
    n_columns, least = _number(context.n_columns), np.float32(MIN_SQUARE)
    from_origin, from_center = (
        graph.add("Sqrt", graph.add("Add", graph.add("Div", _squares(graph, part), n_columns), least))
        for part in (x, centered)
    )
    support, others = (part[0, 0].T for part in context.scaled_rows)
    products = graph.add("MatMul", centered, others)
    if n_columns == 1:
        mask = context.column_mask[0, 0]
        values, padding = graph.add("MatMul", x, mask.unsqueeze(1)), graph.add("Mul", x, 1 - mask.unsqueeze(0))
        differences = graph.add("Sub", values, context.rows[0, 0].sum(-1).unsqueeze(0))
        squared = graph.add("Add", graph.add("Mul", differences, differences), _squares(graph, padding))
        squared = graph.add("Add", squared, least)
    else:
        squares = graph.add("Add", graph.add("Mul", from_center, from_center), _row(context.squared_lengths))
        distances = graph.add("Sub", graph.add("Sub", squares, least), graph.add("Mul", products, np.float32(2)))
        is_equal = graph.add("Less", distances, graph.add("Mul", squares, np.float32(ROUNDING_SHARE)))
        squared = graph.add("Where", is_equal, least, distances)
    support_products = graph.add("MatMul", x, support)
    return _Relations(centered, (from_origin, from_center), support_products, products, graph.add("Sqrt", squared))


def _add_pairs(graph: Graph, relations: _Relations, describe: Describer, zero: str) -> list[str]:
    """Mean over the normal rows, mean over the anomalies, maximum over the normal rows: [n, units] each."""
    context, n_anomaly = describe.context, describe.context.n_anomaly
    W = describe.pair.weights[0][0]  # [10, units]
    n_of_pair = N_PAIR_ROW_FEATURES - N_LENGTHS
    products = [relations.support_products, graph.columns(relations.products, 0, context.n_labelled)]
    support_lengths = context.support_lengths[0, :, 0, :, 0]  # [2, K]
    cosines = [
        graph.add("Div", product, graph.add("Mul", length, own.unsqueeze(0)))
        for product, length, own in zip(products, relations.lengths, support_lengths, strict=True)
    ]
    distances = graph.columns(relations.distances, 0, context.n_labelled)
    features = [*cosines, *(graph.signed_log1p(part) for part in (distances, *products))]
    stacked = graph.add("Concat", *(graph.add("Unsqueeze", one, np.array([2])) for one in features), axis=2)
    lengths = graph.signed_log1p(graph.add("Concat", *relations.lengths, axis=1))
    of_row = graph.add("Unsqueeze", graph.add("MatMul", lengths, W[n_of_pair:N_PAIR_ROW_FEATURES]), np.array([1]))
    of_labelled = describe.labelled_part[0, :, 0, :, 0].T.unsqueeze(0)  # [1, K, units]
    sums = graph.add("Add", graph.add("Add", graph.add("MatMul", stacked, W[:n_of_pair]), of_row), of_labelled)
    out = graph.add("Relu", sums)
    normal = graph.columns(out, n_anomaly, context.n_labelled)
    if n_anomaly > 0:
        anomaly = graph.reduce("Mean", graph.columns(out, 0, n_anomaly))
    else:
        anomaly = graph.add("Add", zero, np.zeros((1, W.shape[1]), np.float32))
    return [graph.reduce("Mean", normal), anomaly, graph.reduce("Max", normal)]


def _add_columns(graph: Graph, x: str, describe: Describer) -> str:
    """Weighted means over the columns and a power mean, from the table of all knots: [n, D]."""
    scale, shift = (_row(part) for part in describe.curves.knot_scaling)
    along = graph.signed_log1p(graph.add("Add", graph.add("Mul", x, scale), shift))
    middle, factor = (N_KNOTS - 1) / 2, (N_KNOTS - 1) / (2 * MAX_POSITION)
    position = graph.add("Add", graph.add("Mul", along, np.float32(factor)), np.float32(middle))
    position = graph.add("Clip", position, np.float32(0), np.float32(N_KNOTS - 1))
    low = graph.add("Min", graph.add("Floor", position), np.float32(N_KNOTS - 2))
    share = graph.add("Unsqueeze", graph.add("Sub", position, low), np.array([2]))
    values = describe.table
    steps = values.roll(-1, 0) - values  # to the next knot; that of a column's last one is never looked up
    starts = N_KNOTS * np.arange(len(values) // N_KNOTS)[None]
    place = graph.add("Add", graph.cast(low, INT64), starts)
    between = graph.add("Mul", graph.add("Gather", steps, place, axis=0), share)
    out = graph.reduce("Sum", graph.add("Add", graph.add("Gather", values, place, axis=0), between))
    n_means = values.shape[1] - describe.column.last_weight.shape[-1]
    power = graph.add("Add", graph.columns(out, n_means, values.shape[1]), np.float32(MIN_POWER_MEAN))
    root = graph.add("Sqrt", graph.add("Sqrt", power))
    return graph.add("Concat", graph.columns(out, 0, n_means), root, axis=1)


def _add_row_features(graph: Graph, relations: _Relations, context: TaskContext) -> str:
    """The features of a row on a log scale: [n, 11]."""
    n_anomaly, limit = context.n_anomaly, np.float32(MAX_ABS_VALUE)
    normal = graph.columns(relations.distances, n_anomaly, context.n_labelled)
    nearest = graph.add("Min", graph.reduce("Min", normal, keepdims=1), limit)
    if n_anomaly > 0:
        anomaly = graph.reduce("Min", graph.columns(relations.distances, 0, n_anomaly), keepdims=1)
        ratio = graph.add("Div", nearest, graph.add("Add", anomaly, np.float32(MIN_RATIO_DISTANCE)))
    else:
        anomaly = ratio = graph.add("Mul", nearest, np.float32(0))
    along = graph.add("MatMul", relations.centered, context.anomaly_direction[0, 0])
    mean = graph.reduce("Mean", normal, keepdims=1)
    features = [nearest, mean, anomaly, ratio, *relations.lengths, along]
    background = _add_background_distances(graph, relations, context)
    return graph.signed_log1p(graph.add("Concat", *features, *background, axis=1))


def _add_background_distances(graph: Graph, relations: _Relations, context: TaskContext) -> list[str]:
    """In bandwidths, to the nearest background row, two soft minima and to the nearest ones: [n, 1] each."""
    bandwidth, n_background = _number(context.bandwidth), context.n_background
    distance = graph.columns(relations.distances, context.n_anomaly, context.rows.shape[2])
    nearest = graph.add("Min", graph.reduce("Min", distance, keepdims=1), np.float32(MAX_ABS_VALUE))
    nearest = graph.add("Div", nearest, bandwidth)
    closeness = graph.add("Exp", graph.add("Sub", nearest, graph.add("Div", distance, bandwidth)))
    squared = graph.add("Mul", closeness, closeness)
    soft = []
    for part, power in ((closeness, 1), (graph.add("Mul", squared, squared), 4)):
        total = graph.add("Max", graph.reduce("Sum", part, keepdims=1), np.float32(MIN_SQUARE))
        log_mean = graph.add("Log", graph.add("Div", total, np.float32(n_background)))
        soft.append(graph.add("Sub", nearest, graph.add("Div", log_mean, np.float32(power))))
    neighbours = graph.nearest(distance, min(N_NEIGHBOURS, n_background))
    return [nearest, *soft, graph.add("Div", neighbours, bandwidth)]


def _standardise(graph: Graph, features: str, context: TaskContext) -> str:
    """Row features standardised by those of the background; 0 where that is a single row: [n, 11]."""
    if context.n_background == 1:
        return graph.add("Mul", features, np.float32(0))
    mean, spread = (_row(part) for part in context.background_features)
    return graph.signed_log1p(graph.add("Div", graph.add("Sub", features, mean), spread))


def _squares(graph: Graph, x: str) -> str:
    """The sum of squares of each row: [n, M] -> [n, 1]."""
    return graph.reduce("Sum", graph.add("Mul", x, x), keepdims=1)


def _row(values: Tensor) -> Tensor:
    """[1, 1, M, 1] -> [1, M]."""
    return values[0, 0].T


def _number(value: Tensor) -> np.float32:
    return np.float32(value.item())
