"""Forests of extremely randomised trees, grown for many tasks at once, in NumPy: a fit has few rows, for which the
operations of torch would take longer to call than to run.

As in scikit-learn's ExtraTreesClassifier (Geurts et al., 2006), each node tries √M random columns with one random
threshold each and splits its rows by the one that lowers the Gini impurity most, until all of them have one label (or
all of 64 random columns or more are constant among them). Each tree leaves out one fold of the rows, so that there are
trees for every row which have not seen it.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.model.forest import Forest

TREES_PER_ANOMALY, MAX_TREES = 64, 128
N_FOLDS = 8
MAX_DEPTH = 20
MAX_CANDIDATES = 64  # columns from which those that are not constant among the rows of a node are tried
MAX_DRAWN = 2**12  # random numbers of one tree at one depth that are drawn at once with those of the others

Values = NDArray[Any]  # float32 or float64, as the rows are
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


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


class TreeLevel(NamedTuple):
    """The nodes of one depth that are split, how, and their children, of which a left one is followed by the right."""

    nodes: Nodes
    column: IntArray
    threshold: Values
    children: Nodes


def grow_forest(anomaly: Tensor, normal: Tensor) -> Forest:
    """Trees that tell these anomalies [B, a, M] from these normal rows [B, n, M]; the same rows give the same trees."""
    rows: Values = torch.cat([anomaly, normal], dim=1).cpu().numpy()
    n_anomaly, (N, M) = anomaly.shape[1], rows.shape[1:]
    n_trees = min(TREES_PER_ANOMALY * n_anomaly, MAX_TREES)
    is_left_out = left_out_rows(rows, n_anomaly, n_trees)
    roots, growing = _roots(rows, ~is_left_out, n_anomaly)
    nodes, growing = _mixed(roots, growing)
    n_tried = max(1, math.isqrt(M))
    n_candidates = min(M, max(MAX_CANDIDATES, 4 * n_tried))
    first_draws, generator = _first_draws(n_trees, n_candidates), torch.Generator()
    generator.set_state(first_draws.state)
    levels: list[TreeLevel] = []
    while len(nodes.tree) > 0 and len(levels) < MAX_DEPTH:
        depth, tree = len(levels), nodes.tree % n_trees
        if depth < len(first_draws.numbers):
            draws = first_draws.numbers[depth][:, tree, nodes.number]
        else:  # as many numbers whatever the rows are, so that a task has the same trees alone and among others
            draws = _draw(generator, (n_trees, min(2**depth, N), n_candidates), tree, nodes.number)
        splits = _best_splits(growing, nodes.counts, draws.astype(rows.dtype, copy=False), n_tried)
        if not splits.is_any.any():
            break
        level, growing = _descend(nodes, growing, splits)
        nodes, growing = _mixed(level.children, growing)
        levels.append(level)
    nodes_of_trees = (part.reshape(-1, n_trees, part.shape[1]) for part in _join_levels(roots, levels))
    column, left, threshold, share, left_out = (
        torch.from_numpy(part).to(anomaly.device) for part in (*nodes_of_trees, is_left_out)
    )
    return Forest(column, left, threshold, share, len(levels), left_out)


def left_out_rows(rows: Values, n_anomaly: int, n_trees: int) -> BoolArray:
    """Which rows, of [B, N, M] with anomalies first, each tree leaves out: [B, K, N].

    Each label has about as many rows in each fold; the order of the rows does not matter.
    """
    sums = torch.from_numpy((rows * _fold_weights(rows.shape[2])).sum(-1))
    of_anomaly, of_normal = (
        part.argsort(-1).argsort(-1).numpy() for part in (sums[:, :n_anomaly], sums[:, n_anomaly:])
    )
    fold = np.concatenate([of_anomaly, of_normal.shape[1] - 1 - of_normal], axis=1) % N_FOLDS
    is_left_out: BoolArray = fold[:, None] == np.arange(n_trees)[:, None] % N_FOLDS
    return is_left_out


@lru_cache(maxsize=8)
def _fold_weights(width: int) -> NDArray[np.float64]:
    """A random number for each column: [M]."""
    weights: NDArray[np.float64] = torch.randn(
        width, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    ).numpy()
    return weights


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


class FirstDraws(NamedTuple):
    """Random numbers of the roots, [3, K, 1, D], and of their children, [3, K, 2, D]; the generator's state after."""

    numbers: tuple[Values, Values]
    state: Tensor


@lru_cache(maxsize=8)
def _first_draws(n_trees: int, n_candidates: int) -> FirstDraws:
    """They are the same for all tasks with as many trees and columns."""
    generator = torch.Generator().manual_seed(0)
    roots, children = (torch.rand(3, n_trees, n, n_candidates, generator=generator).numpy() for n in (1, 2))
    return FirstDraws((roots, children), generator.get_state())


def _draw(generator: torch.Generator, shape: tuple[int, int, int], tree: IntArray, number: IntArray) -> Values:
    """Uniform random numbers for S nodes, of the [3, trees, nodes that there may be, D] that come next: [3, S, D]."""
    n_nodes, n_possible = int(number.max()) + 1, shape[1]
    if n_possible * shape[2] <= MAX_DRAWN:
        drawn = torch.rand(3, *shape, generator=generator)
    else:
        drawn = torch.empty(3, shape[0], n_nodes, shape[2])
        for part in drawn.flatten(0, 1):  # few of the nodes are there: the numbers of the others are passed over
            part.uniform_(generator=generator)
            _skip(generator, (n_possible - n_nodes) * shape[2])
    numbers: Values = drawn.numpy()[:, tree, number]
    return numbers


def _skip(generator: torch.Generator, n: int) -> None:
    """Pass over n numbers of `uniform_` in float32, which takes 32 random bits for each; a 64-bit integer takes 64."""
    torch.empty(n // 2, dtype=torch.int64).random_(generator=generator)
    torch.empty(n % 2).uniform_(generator=generator)


def _best_splits(rows: GrowingRows, counts: Values, draws: Values, n_tried: int) -> Splits:
    """For each node, of the random splits that are tried the one that lowers the impurity most.

    counts: [2, S]. draws: [3, S, D], uniform random numbers; of more than D columns D are drawn, with replacement.
    """
    (S, D), (M, R), node = draws.shape[1:], rows.values.shape, rows.node
    every, starts = np.arange(S), node.searchsorted(np.arange(S))
    candidates = None if D == M else np.minimum((draws[0].T * M).astype(np.int64), M - 1)  # [D, S]
    if candidates is None:
        values = rows.values.take(rows.place, 1)  # [D, A]
    else:
        values = rows.values.take(candidates.take(node, 1) * R + rows.place)
    low, high = np.minimum.reduceat(values, starts, axis=1), np.maximum.reduceat(values, starts, axis=1)
    tried = _largest(np.where((high > low).T, draws[1], -1.0), n_tried).T  # those that are not constant first
    places = tried * S + every
    low, high = low.take(places), high.take(places)  # [tried, S]
    is_usable = high > low
    threshold = low + draws[2, :, :n_tried].T * (high - low)
    threshold = np.where(threshold >= high, low, threshold)  # by rounding
    column = tried if candidates is None else candidates.take(places)
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


def _largest(values: Values, k: int) -> IntArray:
    """Places of the k largest numbers of each row, the largest first: [S, D] -> [S, k]."""
    places: IntArray = torch.from_numpy(values).topk(k).indices.numpy()
    return places


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
