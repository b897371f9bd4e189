"""Raw columns as inputs of a graph, and the attributes that the encoding makes of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding import Encoding
from oddshot.data.encoding.category_column import CategoryColumn
from oddshot.data.encoding.numeric_arrays import encode_array
from oddshot.data.encoding.numeric_column import NumericColumn
from oddshot.data.encoding.scaling import scaled, share_of_constant
from oddshot.score.arrays import Array, namespace

ROWS = "rows"  # the name of the input where there is a single one
SCORES = "scores"
TAKEN_NAMES = ("", SCORES)  # columns of these names cannot be inputs
UNKNOWN = "\0"  # no category: these have no such character
MISSING_SHARE = 0.05  # of the values of the rows that are checked
KINDS_OF_ROWS = ("columns", "named columns", "attributes")


def kind_of_rows(encoding: Encoding) -> str:
    """What the inputs are.

    "columns": the matrix of all columns, which are numbers or booleans. "named columns": one input a column, numbers or
    the text of categories. "attributes": encoded rows, where there are columns of other kinds or of TAKEN_NAMES.
    """
    if all(isinstance(encoder, NumericColumn) for encoder in encoding.encoders):
        return KINDS_OF_ROWS[0]
    are_plain = all(isinstance(encoder, NumericColumn | CategoryColumn) for encoder in encoding.encoders)
    if are_plain and not any(encoder.name in TAKEN_NAMES for encoder in encoding.encoders):
        return KINDS_OF_ROWS[1]
    return KINDS_OF_ROWS[2]


def column_inputs(encoding: Encoding, number_type: str) -> tuple[dict[str, Array], Array]:
    """The inputs of a graph by their names, and the attributes in float32, [n, attributes]."""
    import ndonnx as ndx

    kind = kind_of_rows(encoding)
    if kind == "attributes":
        rows = ndx.argument(shape=("n", encoding.n_attributes), dtype=ndx.float32)
        return {ROWS: rows}, rows
    dtype = {"float64": ndx.float64, "float32": ndx.float32}[number_type]
    if kind == "columns":
        rows = ndx.argument(shape=("n", len(encoding.encoders)), dtype=dtype)
        numbers = [encoder for encoder in encoding.encoders if isinstance(encoder, NumericColumn)]
        return {ROWS: rows}, encode_numbers(numbers, ndx.astype(rows, ndx.float64))
    inputs: dict[str, Array] = {}
    parts: list[Array] = []
    for encoder in encoding.encoders:
        if isinstance(encoder, NumericColumn):
            column = inputs[encoder.name] = ndx.argument(shape=("n",), dtype=dtype)
            parts.append(encode_numbers([encoder], ndx.astype(column, ndx.float64)[:, None]))
        elif isinstance(encoder, CategoryColumn):
            column = inputs[encoder.name] = ndx.argument(shape=("n",), dtype=ndx.utf8)
            parts.append(encode_texts(encoder, column))
    return inputs, ndx.concat(parts, axis=1)


def encode_numbers(encoders: Sequence[NumericColumn], values: Array) -> Array:
    """What `encode_array` gives, for arrays of any library: [n, columns] in float64 -> [n, attributes] in float32."""
    xp = namespace(values)
    mean, scale, rounding = (
        xp.asarray(np.array([[vars(encoder)[name] for encoder in encoders]])) for name in ("mean", "scale", "rounding")
    )
    found = scaled(values, mean, scale)
    constant = np.array([[encoder.constant for encoder in encoders]])
    if constant.any():
        found = xp.where(xp.asarray(constant), share_of_constant(values, mean, rounding), found)
    with_indicator = [j for j, encoder in enumerate(encoders) if encoder.missing]
    if not with_indicator:
        return xp.astype(found, xp.float32)
    missing = xp.astype(xp.isnan(xp.take(values, xp.asarray(np.array(with_indicator)), axis=1)), xp.float64)
    order: list[int] = []  # an indicator follows its value
    for j, encoder in enumerate(encoders):
        order += [j, len(encoders) + with_indicator.index(j)] if encoder.missing else [j]
    both = xp.take(xp.concat([found, missing], axis=1), xp.asarray(np.array(order)), axis=1)
    return xp.astype(both, xp.float32)


def encode_texts(encoder: CategoryColumn, texts: Array) -> Array:
    """The attributes of categories, of which an empty text is a missing value: [n] -> [n, attributes] in float32."""
    from ndonnx.extensions import static_map

    n = len(encoder.categories)
    rows = encoder.attributes_of([*encoder.categories, UNKNOWN])  # and, last, of a missing value
    places = {category: k for k, category in enumerate(encoder.categories)} | {"": n + 1}
    xp = namespace(texts)
    return xp.take(xp.asarray(rows), static_map(texts, places, default=n), axis=0)


def draw_rows(encoding: Encoding, n: int, number_type: str) -> tuple[dict[str, NDArray[Any]], NDArray[np.float32]]:
    """Random rows as the inputs take them, with gaps, and encoded."""
    rng, kind = np.random.default_rng(0), kind_of_rows(encoding)
    if kind == "attributes":
        encoded = rng.normal(size=(n, encoding.n_attributes)).astype(np.float32)
        return {ROWS: encoded}, encoded
    columns, attributes = {}, []
    for encoder in encoding.encoders:
        is_missing = rng.random(n) < MISSING_SHARE
        if isinstance(encoder, CategoryColumn):
            unknown = "".join(encoder.categories) + "?"  # NumPy would take UNKNOWN for an empty text
            texts = np.array([*encoder.categories, unknown, ""], object)
            places = np.where(is_missing, len(texts) - 1, rng.integers(len(texts) - 1, size=n))
            columns[encoder.name] = texts[places].astype(str)
            attributes.append(encoder.attributes_of([*encoder.categories, UNKNOWN])[places])
            continue
        assert isinstance(encoder, NumericColumn)
        deviation = np.where(is_missing, np.nan, rng.normal(size=n))
        if encoder.constant:
            deviation[::2] = 0.0
        values = (encoder.mean + deviation * encoder.scale).astype(number_type)
        columns[encoder.name] = values
        attributes.append(encode_array([encoder], values[:, None]))
    encoded = np.concatenate(attributes, axis=1)
    if kind == "columns":
        return {ROWS: np.stack([*columns.values()], axis=1)}, encoded
    return columns, encoded
