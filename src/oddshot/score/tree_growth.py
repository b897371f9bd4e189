"""Forests of extremely randomised trees, grown for many tasks at once, in NumPy.

As in scikit-learn's ExtraTreesClassifier (Geurts et al., 2006), each node tries √M random columns with one random
threshold each and splits its rows by the one that lowers the Gini impurity most, until all of them have one label (or
all of 64 random columns or more are constant among them). Each tree leaves out one fold of the rows, so that there are
trees for every row which have not seen it. Random numbers depend on a node's place and on a column's values: the order
of rows and columns, constant columns and other tasks change no tree.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

TREES_PER_ANOMALY, MAX_TREES = 64, 128
N_FOLDS = 8
MAX_DEPTH = 20
MAX_CANDIDATES = 64  # columns from which those that are not constant among the rows of a node are tried

Values = NDArray[Any]  # float32 or float64, as the rows are
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Hashes = NDArray[np.uint64]


class Nodes(NamedTuple):
    """Nodes of one depth, tree by tree. tree, number: [S], which of the nodes that a tree has at that depth it is.

    counts: [2, S], of normal rows and of anomalies.
    """

    tree: IntArray
    number: IntArray
    counts: Values

    def take(self, places: BoolArray) -> "Nodes":
        """Some of them."""
        return Nodes(self.tree[places], self.number[places], self.counts[:, places])


class GrowingRows(NamedTuple):
    """The rows of all tasks: values [M, R], and is_of [2, R], 1 for normal rows, then 1 for anomalies.

    place, node: [A] each, of those in nodes of one depth that may be split, once for each tree: which row, which node.
    They are in the order of the nodes.
    """

    values: Values
    is_of: Values
    place: IntArray
    node: IntArray


class Splits(NamedTuple):
    """The best split of each node: column and threshold, [S] each. is_any: [S], whether there is one.

    left: [2, S], counts of the left child. goes_right: [A], whether a row is above the threshold of its node.
    """

    column: IntArray
    threshold: Values
    is_any: BoolArray
    left: Values
    goes_right: BoolArray


class GrownTrees(NamedTuple):
    """K trees of each of B tasks, with at most J nodes; node 0 is the root.

    column, left: [B, K, J], the column that a node compares and its left child; the right child is the next one, and a
    leaf is its own left child. threshold: [B, K, J]; rows above it go to the right; +inf for leaves. share: [B, K, J],
    the share of anomalies among the rows of a node. depth: of the deepest leaf.
    """

    column: IntArray
    left: IntArray
    threshold: Values
    share: Values
    depth: int


class TreeLevel(NamedTuple):
    """The nodes of one depth that are split, how, and their children, of which a left one is followed by the right."""

    nodes: Nodes
    column: IntArray
    threshold: Values
    children: Nodes


def grow_trees(rows: Values, n_anomaly: int, n_labelled: int) -> tuple[GrownTrees, BoolArray]:
    """Trees that tell anomalies of tasks from normal rows, and which labelled rows each leaves out, [B, K, N].

    rows: [B, L, M], anomalies first, then normal rows; further ones tell columns apart that are alike in these. The
    same rows give the same trees.
    """
    order, n_varying = order_columns(rows, n_labelled)
    rows = np.take_along_axis(rows[:, :n_labelled], order[:, None], axis=2)
    n_tasks, n_trees = len(rows), min(TREES_PER_ANOMALY * n_anomaly, MAX_TREES)
    is_left_out = left_out_rows(rows, n_anomaly, n_trees)
    roots, growing = _roots(rows, ~is_left_out, n_anomaly)
    nodes, growing = _mixed(roots, growing)
    levels: list[TreeLevel] = []
    while len(nodes.tree) > 0 and len(levels) < MAX_DEPTH:
        task, tree = np.divmod(nodes.tree, n_trees)
        splits = _best_splits(growing, nodes.counts, n_varying[task], _seeds(tree, len(levels), nodes.number))
        if not splits.is_any.any():
            break
        level, growing = _descend(nodes, growing, splits)
        nodes, growing = _mixed(level.children, growing)
        levels.append(level)
    column, left, threshold, share = (part.reshape(n_tasks, n_trees, -1) for part in _join_levels(roots, levels))
    column = np.take_along_axis(order[:, None], column, axis=2)
    return GrownTrees(column, left, threshold, share, len(levels)), is_left_out


def order_columns(rows: Values, n_labelled: int) -> tuple[IntArray, IntArray]:
    """An order of the columns that depends on their values alone, and how many are not constant in the labelled rows.

    Those that are constant there are last. So neither the order of the columns nor constant ones change a tree. rows:
    [B, N, M], labelled ones first -> [B, M], [B].
    """
    varies = (rows[:, :n_labelled] != rows[:, :1]).any(1)
    values = rows.astype(np.float64)
    deviation = values - values.mean(1, keepdims=True)
    z = deviation / np.maximum(np.abs(deviation).max(1, keepdims=True), np.finfo(np.float64).tiny)
    of_rows = (z + z * z).sum(2, keepdims=True)  # the same in any order of the columns
    keys = np.where(varies, (z * (of_rows + of_rows * of_rows)).sum(1), math.inf)
    return keys.argsort(axis=1, kind="stable"), varies.sum(1)


def left_out_rows(rows: Values, n_anomaly: int, n_trees: int) -> BoolArray:
    """Which rows, of [B, N, M] with anomalies first, each tree leaves out: [B, K, N].

    Each label has about as many rows in each fold; the order of the rows does not matter.
    """
    sums = (rows * _fold_weights(rows.shape[2])).sum(-1)
    of_anomaly, of_normal = (part.argsort(-1).argsort(-1) for part in (sums[:, :n_anomaly], sums[:, n_anomaly:]))
    fold = np.concatenate([of_anomaly, of_normal.shape[1] - 1 - of_normal], axis=1) % N_FOLDS
    is_left_out: BoolArray = fold[:, None] == np.arange(n_trees)[:, None] % N_FOLDS
    return is_left_out


@lru_cache(maxsize=8)
def _fold_weights(width: int) -> NDArray[np.float64]:
    """A random number for each column: [M]."""
    return np.random.default_rng(0).normal(size=width)


def _roots(rows: Values, is_seen: BoolArray, n_anomaly: int) -> tuple[Nodes, GrowingRows]:
    """All trees at their roots. rows: [B, N, M], anomalies first. is_seen: [B, K, N], the rows of each tree."""
    B, K, N = is_seen.shape
    is_anomaly = (np.arange(N) < n_anomaly).astype(rows.dtype)
    is_of = np.array([1 - is_anomaly, is_anomaly])
    seen = is_seen.reshape(B * K, N)
    node, row = seen.nonzero()
    tree = np.arange(B * K)
    values = np.ascontiguousarray(rows.reshape(B * N, -1).T)
    growing = GrowingRows(values, np.tile(is_of, B), row + node // K * N, node)
    return Nodes(tree, np.zeros_like(tree), is_of @ seen.T), growing


def _mixed(nodes: Nodes, rows: GrowingRows) -> tuple[Nodes, GrowingRows]:
    """The nodes with rows of both labels, which may be split, and their rows, in the order of the nodes."""
    is_mixed = nodes.counts[0] * nodes.counts[1] > 0
    mixed, kept = nodes.take(is_mixed), is_mixed.take(rows.node).nonzero()[0]
    node = (is_mixed.cumsum() - 1).take(rows.node.take(kept))
    order = node.argsort(kind="stable")
    return mixed, rows._replace(place=rows.place.take(kept.take(order)), node=node.take(order))


def _seeds(tree: IntArray, depth: int, number: IntArray) -> Hashes:
    """A number for each node, by its place in its tree alone: a task has the same trees alone and among others. [S]."""
    return _hash((tree * MAX_DEPTH + depth).astype(np.uint64) << np.uint64(32) | number.astype(np.uint64))


def _hash(numbers: Hashes) -> Hashes:
    """Well mixed bits (the finaliser of splitmix64)."""
    z = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _uniform(bits: Hashes) -> Values:
    """Numbers from 0 to below 1, of the last 24 bits each."""
    numbers: Values = (bits & np.uint64(2**24 - 1)).astype(np.float32) * np.float32(2.0**-24)
    return numbers


def _best_splits(rows: GrowingRows, counts: Values, n_varying: IntArray, seeds: Hashes) -> Splits:
    """For each node, of the random splits that are tried the one that lowers the impurity most.

    counts: [2, S]. n_varying: [S], how many columns of the task are not constant; these come first, and the root of
    their number is tried. seeds: [S]. Of more than MAX_CANDIDATES columns some are drawn, with replacement.
    """
    R, node, S = rows.values.shape[1], rows.node, len(seeds)
    every, starts = np.arange(S), node.searchsorted(np.arange(S))
    n_tried = np.sqrt(np.maximum(n_varying, 1)).astype(np.int64)
    D = max(min(int(n_varying.max()), max(MAX_CANDIDATES, 4 * int(n_tried.max()))), 1)
    bits = _hash(seeds + np.arange(D, dtype=np.uint64)[:, None])  # [D, S]
    if int(n_varying.max()) == D:
        candidates = np.arange(D)[:, None].repeat(S, 1)
        values = rows.values[:D].take(rows.place, 1)  # [D, A]
    else:
        candidates = (_uniform(bits >> np.uint64(40)) * n_varying).astype(np.int64)
        values = rows.values.take(candidates.take(node, 1) * R + rows.place)
    low, high = np.minimum.reduceat(values, starts, axis=1), np.maximum.reduceat(values, starts, axis=1)
    priority = np.where(high > low, _uniform(bits), np.float32(-1))  # those that are not constant first
    tried = (-priority).argsort(axis=0, kind="stable")[: int(n_tried.max())]
    places = tried * S + every
    low, high, column = low.take(places), high.take(places), candidates.take(places)  # [tried, S]
    is_usable = (high > low) & (np.arange(len(tried))[:, None] < n_tried)
    share = _uniform(bits >> np.uint64(24)).take(places).astype(low.dtype)
    threshold = low + share * (high - low)
    threshold = np.where(threshold >= high, low, threshold)  # by rounding
    is_below = rows.values.take(column.take(node, 1) * R + rows.place) <= threshold.take(node, 1)
    left = np.add.reduceat(rows.is_of.take(rows.place, 1)[:, None] * is_below, starts, axis=2)  # [2, tried, S]
    purity = _purity(left) + _purity(counts[:, None] - left)
    best = np.where(is_usable, purity, -math.inf).argmax(0)
    places = best * S + every
    return Splits(
        column.take(places),
        threshold.take(places),
        is_usable[0],  # if any column is not constant, the first is not
        left.reshape(2, -1).take(places, 1),
        ~is_below.take(best.take(node) * len(node) + np.arange(len(node))),
    )


def _descend(nodes: Nodes, rows: GrowingRows, splits: Splits) -> tuple[TreeLevel, GrowingRows]:
    """The nodes that are split, and the rows in their children."""
    split = splits.is_any
    parents, left = nodes.take(split), splits.left[:, split]
    tree = parents.tree.repeat(2)
    counts = np.stack([left, parents.counts - left], axis=2).reshape(2, -1)
    children = Nodes(tree, np.arange(len(tree)) - tree.searchsorted(tree), counts)
    place, node = rows.place, (2 * split.cumsum() - 2).take(rows.node) + splits.goes_right
    if len(parents.tree) < len(nodes.tree):  # the others are leaves
        kept = split.take(rows.node)
        place, node = place[kept], node[kept]
    level = TreeLevel(parents, splits.column[split], splits.threshold[split], children)
    return level, rows._replace(place=place, node=node)


def _purity(counts: Values) -> Values:
    """Sum of the squared counts of both labels over their sum, [2, ...] -> [...]: high where the impurity is low."""
    normal, anomaly = counts
    purity: Values = (normal * normal + anomaly * anomaly) / np.maximum(normal + anomaly, 1)
    return purity


def _join_levels(roots: Nodes, levels: Sequence[TreeLevel]) -> tuple[IntArray, IntArray, Values, Values]:
    """Column, left child, threshold and share of the J nodes of each of P trees, depth by depth: [P, J] each.

    Shorter trees are filled up with leaves.
    """
    starts = [0, 1]  # of the places of each depth
    for level in levels:
        starts.append(starts[-1] + int(level.children.number.max()) + 1)
    P, J = len(roots.tree), starts[-1]
    column, left = np.zeros((P, J), np.int64), np.arange(J)[None].repeat(P, 0)
    threshold, share = (np.full((P, J), value, roots.counts.dtype) for value in (math.inf, 0.0))
    for nodes, start in zip([roots, *(level.children for level in levels)], starts, strict=False):
        share[nodes.tree, start + nodes.number] = nodes.counts[1] / np.maximum(nodes.counts.sum(0), 1)
    for level, start, below in zip(levels, starts, starts[1:], strict=False):
        places = level.nodes.tree, start + level.nodes.number
        column[places], threshold[places] = level.column, level.threshold
        left[places] = below + level.children.number[::2]
    return column, left, threshold, share
