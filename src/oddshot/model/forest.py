"""Forests of extremely randomised trees, as arrays: grown and evaluated for many tasks at once.

As in scikit-learn's ExtraTreesClassifier (Geurts et al., 2006), each node tries √M random columns with one random
threshold each and splits its rows by the one that lowers the Gini impurity most, until all of them have one label (or
all of 64 random columns or more are constant among them). Each tree leaves out one fold of the rows, so that there are
trees for every row which have not seen it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

TREES_PER_ANOMALY, MAX_TREES = 64, 128
N_FOLDS = 8
MAX_DEPTH = 20
MAX_CANDIDATES = 64  # columns from which those that are not constant among the rows of a node are tried
MAX_DRAWN = 2**12  # random numbers of one tree at one depth that are drawn at once with those of the others


class Forest(NamedTuple):
    """K trees of each of B tasks, with at most J nodes; node 0 is the root.

    column, left: [B, K, J], the column that a node compares and its left child; the right child is the next one, and a
    leaf is its own left child. threshold: [B, K, J]; rows above it go to the right; +inf for leaves. share: [B, K, J],
    the share of anomalies among the rows of a node. depth: of the deepest leaf. is_left_out: [B, K, N], which of its
    rows, anomalies first, a tree has not seen.
    """

    column: Tensor
    left: Tensor
    threshold: Tensor
    share: Tensor
    depth: int
    is_left_out: Tensor

    def shares(self, x: Tensor) -> Tensor:
        """The share of anomalies in the leaf of each row, for every tree. x: [B, n, M] -> [B, n, K]."""
        column, left, threshold, share = (part.mT for part in self[:4])
        node = left.new_zeros(x.shape[0], x.shape[1], left.shape[2])
        for _ in range(self.depth):
            is_above = x.gather(2, column.gather(1, node)) > threshold.gather(1, node)
            node = left.gather(1, node) + is_above
        return share.gather(1, node)

    def __call__(self, x: Tensor) -> Tensor:
        """The mean share of anomalies over all trees. x: [B, n, M] -> [B, n]."""
        return self.shares(x).mean(-1)

    def out_of_fold(self, anomaly: Tensor, normal: Tensor) -> Tensor:
        """The mean share of anomalies over the trees that a row was left out of: [B, a, M], [B, n, M] -> [B, a + n]."""
        is_left_out = self.is_left_out.mT
        shares = self.shares(torch.cat([anomaly, normal], dim=1))
        # Trees that have seen no normal row tell nothing: the only one would look like an anomaly.
        has_no_normal = (self.share[..., 0] == 1).unsqueeze(1)
        shares = torch.where(has_no_normal, anomaly.shape[1] / is_left_out.shape[1], shares)
        return (shares * is_left_out).sum(-1) / is_left_out.sum(-1)


class Nodes(NamedTuple):
    """Nodes of one depth, tree by tree. tree, number: [S], which of the nodes that a tree has at that depth it is.

    counts: [S, 2], of normal rows and of anomalies.
    """

    tree: Tensor
    number: Tensor
    counts: Tensor

    def take(self, places: Tensor) -> "Nodes":
        """Some of them."""
        return Nodes(*(part.index_select(0, places) for part in self))


class GrowingRows(NamedTuple):
    """The rows of all tasks: values [R, M] and labels [R], 1 for anomalies.

    place, node: [A] each, of those in nodes of one depth that may be split, once for each tree: which row, which node.
    """

    values: Tensor
    labels: Tensor
    place: Tensor
    node: Tensor


class Splits(NamedTuple):
    """The best split of each node: column and threshold, [S] each. is_any: [S], whether there is one.

    left: [S, 2], counts of the left child. goes_right: [A], 1 for rows above the threshold of their node, else 0.
    """

    column: Tensor
    threshold: Tensor
    is_any: Tensor
    left: Tensor
    goes_right: Tensor


class TreeLevel(NamedTuple):
    """The nodes of one depth that are split, how, and their children, of which a left one is followed by the right."""

    nodes: Nodes
    column: Tensor
    threshold: Tensor
    children: Nodes


def left_out_rows(anomaly: Tensor, normal: Tensor, n_trees: int) -> Tensor:
    """Which rows, anomalies first, each tree leaves out: [B, a, M], [B, n, M] -> [B, K, a + n].

    Each label has about as many rows in each fold; the order of the rows does not matter.
    """
    weights = torch.randn(normal.shape[2], generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    of_anomaly, of_normal = (
        (rows.double() * weights.to(rows.device)).sum(-1).argsort(-1).argsort(-1) for rows in (anomaly, normal)
    )
    fold = torch.cat([of_anomaly, normal.shape[1] - 1 - of_normal], dim=1) % N_FOLDS
    return fold.unsqueeze(1) == torch.arange(n_trees, device=fold.device).unsqueeze(-1) % N_FOLDS


def grow_forest(anomaly: Tensor, normal: Tensor) -> Forest:
    """Trees that tell these anomalies [B, a, M] from these normal rows [B, n, M]; the same rows give the same trees."""
    rows = torch.cat([anomaly, normal], dim=1)
    N, M = rows.shape[1:]
    n_trees = min(TREES_PER_ANOMALY * anomaly.shape[1], MAX_TREES)
    is_left_out = left_out_rows(anomaly, normal, n_trees)
    roots, growing = _roots(rows, ~is_left_out, anomaly.shape[1])
    nodes, growing = _mixed(roots, growing)
    generator = torch.Generator().manual_seed(0)
    n_tried = max(1, math.isqrt(M))
    n_candidates = min(M, max(MAX_CANDIDATES, 4 * n_tried))
    levels: list[TreeLevel] = []
    while len(nodes.tree) > 0 and len(levels) < MAX_DEPTH:
        # As many numbers whatever the rows are, so that a task has the same trees alone and among others.
        shape = (n_trees, min(2 ** len(levels), N), n_candidates)
        draws = _draw(generator, shape, nodes.tree % n_trees, nodes.number).to(rows)
        splits = _best_splits(growing, nodes.counts, draws, n_tried)
        if not bool(splits.is_any.any()):
            break
        level, growing = _descend(nodes, growing, splits)
        nodes, growing = _mixed(level.children, growing)
        levels.append(level)
    return _join_levels(roots, levels, is_left_out)


def _roots(rows: Tensor, is_seen: Tensor, n_anomaly: int) -> tuple[Nodes, GrowingRows]:
    """All trees at their roots. rows: [B, N, M], anomalies first. is_seen: [B, K, N], the rows of each tree."""
    B, K, N = is_seen.shape
    labels = (torch.arange(N, device=rows.device) < n_anomaly).long()
    n_seen_anomaly, n_seen = is_seen[:, :, :n_anomaly].sum(2), is_seen.sum(2)
    counts = torch.stack([n_seen - n_seen_anomaly, n_seen_anomaly], dim=2).flatten(0, 1).to(rows.dtype)
    tree = torch.arange(B * K, device=rows.device)
    node, row = is_seen.flatten(0, 1).nonzero().unbind(1)
    growing = GrowingRows(rows.flatten(0, 1), labels.repeat(B), row + node // K * N, node)
    return Nodes(tree, torch.zeros_like(tree), counts), growing


def _mixed(nodes: Nodes, rows: GrowingRows) -> tuple[Nodes, GrowingRows]:
    """The nodes with rows of both labels, which may be split, and their rows."""
    is_mixed = (nodes.counts > 0).all(1)
    places = torch.where(is_mixed, is_mixed.cumsum(0) - 1, -1)
    node = places.index_select(0, rows.node)
    kept = (node >= 0).nonzero().squeeze(1)
    rows = rows._replace(place=rows.place.index_select(0, kept), node=node.index_select(0, kept))
    return nodes.take(is_mixed.nonzero().squeeze(1)), rows


def _draw(generator: torch.Generator, shape: tuple[int, int, int], tree: Tensor, number: Tensor) -> Tensor:
    """Uniform random numbers for S nodes, of the [3, trees, nodes that there may be, D] that come next: [3, S, D]."""
    tree, number = tree.cpu(), number.cpu()
    n_nodes, n_possible = int(number.max()) + 1, shape[1]
    if n_possible * shape[2] <= MAX_DRAWN:
        return torch.rand(3, *shape, generator=generator)[:, tree, number]
    kept = torch.empty(3, shape[0], n_nodes, shape[2])
    for part in kept.flatten(0, 1):  # few of the nodes are there: the numbers of the others are passed over
        part.uniform_(generator=generator)
        _skip(generator, (n_possible - n_nodes) * shape[2])
    return kept[:, tree, number]


def _skip(generator: torch.Generator, n: int) -> None:
    """Pass over n numbers of `uniform_` in float32, which takes 32 random bits for each; a 64-bit integer takes 64."""
    torch.empty(n // 2, dtype=torch.int64).random_(generator=generator)
    torch.empty(n % 2).uniform_(generator=generator)


def _best_splits(rows: GrowingRows, counts: Tensor, draws: Tensor, n_tried: int) -> Splits:
    """For each node, of the random splits that are tried the one that lowers the impurity most.

    counts: [S, 2]. draws: [3, S, D], uniform random numbers; of more than D columns D are drawn, with replacement.
    """
    (S, D), M, node = draws.shape[1:], rows.values.shape[1], rows.node
    values = rows.values.index_select(0, rows.place)
    candidates = None if D == M else (draws[0] * M).long().clamp_max(M - 1)
    if candidates is not None:
        values = values.gather(1, candidates.index_select(0, node))
    low, high = _node_ranges(values, node, S)
    tried = torch.where(high > low, draws[1], -1.0).topk(n_tried, dim=1).indices  # those that are not constant first
    low, high = low.gather(1, tried), high.gather(1, tried)
    is_usable = high > low
    threshold = torch.where(is_usable, low + draws[2, :, :n_tried] * (high - low), 0.0)
    threshold = torch.where(threshold >= high, low, threshold)  # by rounding
    is_below = values.gather(1, tried.index_select(0, node)) <= threshold.index_select(0, node)
    labelled = (2 * node + rows.labels.index_select(0, rows.place)).unsqueeze(1).expand_as(is_below)
    left = counts.new_zeros(2 * S, n_tried).scatter_add_(0, labelled, is_below.to(counts.dtype)).view(S, 2, n_tried)
    purity = _purity(left) + _purity(counts.unsqueeze(2) - left)
    best = torch.where(is_usable, purity, -math.inf).argmax(1, keepdim=True)
    column = tried if candidates is None else candidates.gather(1, tried)
    return Splits(
        column.gather(1, best).squeeze(1),
        threshold.gather(1, best).squeeze(1),
        is_usable.any(1),
        left.gather(2, best.unsqueeze(1).expand(-1, 2, -1)).squeeze(2),
        1 - is_below.gather(1, best.index_select(0, node)).squeeze(1).long(),
    )


def _descend(nodes: Nodes, rows: GrowingRows, splits: Splits) -> tuple[TreeLevel, GrowingRows]:
    """The nodes that are split, and the rows in their children."""
    split = splits.is_any.nonzero().squeeze(1)
    parents, left = nodes.take(split), splits.left.index_select(0, split)
    number = 2 * (torch.arange(len(split), device=split.device) - torch.searchsorted(parents.tree, parents.tree))
    children = Nodes(
        parents.tree.repeat_interleave(2),
        torch.stack([number, number + 1], dim=1).flatten(),
        torch.stack([left, parents.counts - left], dim=1).flatten(0, 1),
    )
    place, node = rows.place, (2 * splits.is_any.cumsum(0) - 2).index_select(0, rows.node) + splits.goes_right
    if len(split) < len(nodes.tree):  # the others are leaves
        kept = splits.is_any.index_select(0, rows.node).nonzero().squeeze(1)
        place, node = place.index_select(0, kept), node.index_select(0, kept)
    column, threshold = (part.index_select(0, split) for part in (splits.column, splits.threshold))
    return TreeLevel(parents, column, threshold, children), rows._replace(place=place, node=node)


def _node_ranges(values: Tensor, node: Tensor, n_nodes: int) -> tuple[Tensor, Tensor]:
    """Smallest and largest value of the rows of each node: [A, D] -> [S, D] each."""
    index, shape = node.unsqueeze(1).expand_as(values), (n_nodes, values.shape[1])
    low = values.new_full(shape, math.inf).scatter_reduce_(0, index, values, "amin")
    return low, values.new_full(shape, -math.inf).scatter_reduce_(0, index, values, "amax")


def _purity(counts: Tensor) -> Tensor:
    """Sum of the squared counts of both labels over their sum, [S, 2, D] -> [S, D]: high where the impurity is low."""
    return counts.square().sum(1) / counts.sum(1).clamp_min(1)


def _join_levels(roots: Nodes, levels: Sequence[TreeLevel], is_left_out: Tensor) -> Forest:
    """All nodes of a tree one after the other, depth by depth; shorter trees are filled up with leaves."""
    starts = [0, 1]  # of the places of each depth
    for level in levels:
        starts.append(starts[-1] + int(level.children.number.max()) + 1)
    every = torch.arange(starts[-1], device=roots.tree.device)
    P, J = len(roots.tree), starts[-1]
    column, left = every.new_zeros(P, J), every.repeat(P, 1)
    threshold, share = (roots.counts.new_full((P, J), value) for value in (math.inf, 0.0))
    for nodes, start in zip([roots, *(level.children for level in levels)], starts, strict=False):
        share[nodes.tree, start + nodes.number] = nodes.counts[:, 1] / nodes.counts.sum(1).clamp_min(1)
    for level, start, below in zip(levels, starts, starts[1:], strict=False):
        places = level.nodes.tree, start + level.nodes.number
        column[places], threshold[places] = level.column, level.threshold
        left[places] = below + level.children.number[::2]
    trees = is_left_out.shape[:2]
    column, left, threshold, share = (part.unflatten(0, trees) for part in (column, left, threshold, share))
    return Forest(column, left, threshold, share, len(levels), is_left_out)
