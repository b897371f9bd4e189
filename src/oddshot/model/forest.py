"""Forests of extremely randomised trees, as arrays: grown and evaluated for many tasks at once.

As in scikit-learn's ExtraTreesClassifier (Geurts et al., 2006), each node tries √M random columns with one random
threshold each and splits its rows by the one that lowers the Gini impurity most, until all of them have one label (or
all of 64 random columns or more are constant among them). Each
tree leaves out one fold of the rows, so that there are trees for every row which have not seen it.
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


class Forest(NamedTuple):
    """K trees of each of B tasks, with at most J nodes; node 0 is the root.

    column, left: [B, K, J], the column that a node compares and its left child; the right child is the next one, and a
    leaf is its own left child. threshold: [B, K, J]; rows above it go to the right; +inf for leaves. share: [B, K, J],
    the share of anomalies among the rows of a node. depth: of the deepest leaf.
    """

    column: Tensor
    left: Tensor
    threshold: Tensor
    share: Tensor
    depth: int

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
        is_left_out = left_out_rows(anomaly, normal, self.left.shape[1]).mT
        shares = self.shares(torch.cat([anomaly, normal], dim=1))
        # Trees that have seen no normal row tell nothing: the only one would look like an anomaly.
        has_no_normal = (self.share[..., 0] == 1).unsqueeze(1)
        shares = torch.where(has_no_normal, anomaly.shape[1] / is_left_out.shape[1], shares)
        return (shares * is_left_out).sum(-1) / is_left_out.sum(-1)


class TreeLevel(NamedTuple):
    """The nodes of one depth of P trees: [P, S] each; see `Forest`. child: the left child's place in the next level,
    -1 for leaves."""

    column: Tensor
    child: Tensor
    threshold: Tensor
    share: Tensor


class GrowingRows(NamedTuple):
    """Rows of P trees: values [P, N, M], labels [N] with 1 for anomalies, and the node [P, N] that each has reached.

    The last node, number S of a level with S nodes, is that of rows which take no part any more.
    """

    values: Tensor
    is_anomaly: Tensor
    node: Tensor


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
    B, N, M = rows.shape
    n_trees = min(TREES_PER_ANOMALY * anomaly.shape[1], MAX_TREES)
    is_left_out = left_out_rows(anomaly, normal, n_trees)
    is_anomaly = (torch.arange(N, device=rows.device) < anomaly.shape[1]).to(rows.dtype)
    growing = GrowingRows(rows.repeat_interleave(n_trees, 0), is_anomaly, is_left_out.long().flatten(0, 1))
    generator = torch.Generator().manual_seed(0)
    n_tried = max(1, math.isqrt(M))
    n_candidates = min(M, max(MAX_CANDIDATES, 4 * n_tried))
    levels: list[TreeLevel] = []
    n_nodes = 1
    while n_nodes > 0:
        # As many numbers whatever the rows are, so that a task has the same trees alone and among others.
        draws = torch.rand(3, n_trees, min(2 ** len(levels), N), n_candidates, generator=generator)
        draws = draws[:, :, :n_nodes].to(rows).repeat(1, B, 1, 1)
        level, node, n_nodes = _split_level(growing, draws, n_tried, is_last=len(levels) == MAX_DEPTH)
        levels.append(level)
        growing = growing._replace(node=node)
    return _join_levels(levels, B)


def _split_level(rows: GrowingRows, draws: Tensor, n_tried: int, is_last: bool) -> tuple[TreeLevel, Tensor, int]:
    """Split the nodes of one level; returns it, the node of each row in the next level, and how many that has.

    draws: [3, P, S, D], uniform random numbers. is_last: nothing is split.
    """
    P, S, _ = draws.shape[1:]
    size = _node_sums(torch.ones_like(rows.node, dtype=draws.dtype).unsqueeze(-1), rows.node, S)
    n_anomaly = _node_sums(rows.is_anomaly.expand(P, -1).unsqueeze(-1), rows.node, S)
    is_mixed = (n_anomaly > 0) & (n_anomaly < size) & (not is_last)
    column, low, high = _columns_to_try(rows, draws[:2], n_tried)
    is_usable = (high > low) & is_mixed
    threshold = torch.where(is_usable, low + draws[2, ..., :n_tried] * (high - low), 0.0)
    threshold = torch.where(threshold >= high, low, threshold)  # by rounding
    value = rows.values.gather(2, _of_rows(column, rows.node))
    is_below = (value <= _of_rows(threshold, rows.node)).to(value.dtype)
    left_size = _node_sums(is_below, rows.node, S)
    left_anomaly = _node_sums(is_below * rows.is_anomaly[:, None], rows.node, S)
    purity = _purity(left_anomaly, left_size) + _purity(n_anomaly - left_anomaly, size - left_size)
    best = torch.where(is_usable, purity, -math.inf).argmax(-1, keepdim=True)
    is_split = is_usable.any(-1)
    child = torch.where(is_split, 2 * (is_split.cumsum(1) - 1), -1)
    n_children = int(2 * is_split.sum(1).max())
    goes_right = 1 - is_below.gather(2, _of_rows(best, rows.node)).squeeze(-1).long()
    left = _of_rows(child.unsqueeze(-1), rows.node, padding=-1).squeeze(-1)
    node = torch.where(left >= 0, left + goes_right, n_children)
    level = TreeLevel(
        torch.where(is_split, column.gather(2, best).squeeze(-1), 0),
        child,
        torch.where(is_split, threshold.gather(2, best).squeeze(-1), math.inf),
        (n_anomaly / size.clamp_min(1)).squeeze(-1),
    )
    return level, node, n_children


def _columns_to_try(rows: GrowingRows, draws: Tensor, n_tried: int) -> tuple[Tensor, Tensor, Tensor]:
    """Random columns for each node, those that are not constant first, and their ranges: [P, S, n_tried] each.

    draws: [2, P, S, D]; of more than D columns D are drawn, with replacement.
    """
    S, D, M = *draws.shape[2:], rows.values.shape[2]
    if D == M:
        column = torch.arange(M, device=draws.device).expand(draws.shape[1:])
        low, high = _node_ranges(rows.values, rows.node, S)
    else:
        column = (draws[0] * M).long().clamp_max(M - 1)
        low, high = _node_ranges(rows.values.gather(2, _of_rows(column, rows.node)), rows.node, S)
    tried = torch.where(high > low, draws[1], -1.0).topk(n_tried, dim=-1).indices
    return column.gather(2, tried), low.gather(2, tried), high.gather(2, tried)


def _of_rows(values: Tensor, node: Tensor, padding: int = 0) -> Tensor:
    """What the node of each row has: [P, S, D] -> [P, N, D]; `padding` for rows that take no part any more."""
    padded = torch.nn.functional.pad(values, (0, 0, 0, 1), value=padding)
    return padded.gather(1, node.unsqueeze(-1).expand(-1, -1, values.shape[2]))


def _node_sums(values: Tensor, node: Tensor, n_nodes: int) -> Tensor:
    """Sums over the rows of each node: [P, N, D] -> [P, S, D]."""
    sums = values.new_zeros(values.shape[0], n_nodes + 1, values.shape[2])
    return sums.scatter_add_(1, node.unsqueeze(-1).expand_as(values), values)[:, :-1]


def _node_ranges(values: Tensor, node: Tensor, n_nodes: int) -> tuple[Tensor, Tensor]:
    """Smallest and largest value of the rows of each node: [P, N, D] -> [P, S, D] each."""
    index, shape = node.unsqueeze(-1).expand_as(values), (values.shape[0], n_nodes + 1, values.shape[2])
    low = values.new_full(shape, math.inf).scatter_reduce_(1, index, values, "amin")
    high = values.new_full(shape, -math.inf).scatter_reduce_(1, index, values, "amax")
    return low[:, :-1], high[:, :-1]


def _purity(n_anomaly: Tensor, size: Tensor) -> Tensor:
    """Sum of the squared numbers of both labels over the size: high where the Gini impurity is low."""
    return (n_anomaly.square() + (size - n_anomaly).square()) / size.clamp_min(1)


def _join_levels(levels: Sequence[TreeLevel], n_tasks: int) -> Forest:
    """All nodes of a tree one after the other."""
    lefts, first = [], 0
    for level in levels:
        n = level.child.shape[1]
        own = first + torch.arange(n, device=level.child.device)
        lefts.append(torch.where(level.child >= 0, first + n + level.child, own))
        first += n
    parts = ([level.column for level in levels], lefts, *([part[k] for part in levels] for k in (2, 3)))
    column, left, threshold, share = (torch.cat(part, dim=1).unflatten(0, (n_tasks, -1)) for part in parts)
    return Forest(column, left, threshold, share, len(levels) - 1)
