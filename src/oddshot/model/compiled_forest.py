"""The forest of one task, level by level, for many rows: without indices that differ between rows."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from oddshot.model.forest import Forest


class CompiledLevel(NamedTuple):
    """The nodes of one depth of all trees of a task. share: [J]; split: [I], those that are no leaves, with column and
    threshold, [I] each. The children of the i-th of them are the nodes 2i and 2i + 1 of the next level."""

    share: Tensor
    split: Tensor
    column: Tensor
    threshold: Tensor


class SplitGains(NamedTuple):
    """What the I splits of one level add to the mean share of anomalies of a row that gets there.

    children: [2I], where it goes left, then where it goes right. column: [I] and threshold: [I, 1], of the split.
    place: [I], of the split among the 2I' children of the level above, all left ones before the right ones.
    """

    children: Tensor
    column: Tensor
    threshold: Tensor
    place: Tensor


class TreeMemory(NamedTuple):
    """For n rows and the I splits of the level that has most. above: [I, n], 1 where a row goes right at a split.

    reached: [I, n], 1 where it gets to a split; children: [2I, n], where it gets to its children.
    """

    above: Tensor
    reached: Tensor
    children: Tensor


class CompiledTrees(NamedTuple):
    """All trees of a task. share: the mean share of anomalies at the roots. levels: from the roots down."""

    share: Tensor
    levels: Sequence[SplitGains]

    def make_memory(self, n: int) -> TreeMemory:
        """Memory for n rows."""
        most = max((len(level.column) for level in self.levels), default=0)
        return TreeMemory(*(self.share.new_empty(size, n) for size in (most, most, 2 * most)))

    def __call__(self, x: Tensor, memory: TreeMemory) -> Tensor:
        """The mean share of anomalies over all trees. x: [M, n] -> [n].

        Every split of every tree is evaluated: with few labelled rows that is several times as fast as following each
        row down; with hundreds, whose trees have many nodes, it is not.
        """
        total = self.share.repeat(x.shape[1])
        children = memory.children[:0]
        for k, level in enumerate(self.levels):
            n = len(level.column)
            above, reached = memory.above[:n], memory.reached[:n]
            torch.index_select(x, 0, level.column, out=above).gt_(level.threshold)
            reached.fill_(1) if k == 0 else torch.index_select(children, 0, level.place, out=reached)
            children = memory.children[: 2 * n]
            torch.mul(reached, above, out=children[n:])
            torch.sub(reached, children[n:], out=children[:n])
            total.addmv_(children.T, level.children)
        return total


def compile_forest(forest: Forest) -> list[CompiledLevel]:
    """The forest of the only task, level by level, without the padding of shorter trees."""
    column, left, threshold, share = (part[0] for part in forest[:4])
    tree = torch.arange(left.shape[0], device=left.device)
    node, levels = torch.zeros_like(tree), []
    while len(tree) > 0:
        split = (left[tree, node] != node).nonzero().squeeze(-1)
        own = tree[split], node[split]
        levels.append(CompiledLevel(share[tree, node], split, column[own], threshold[own]))
        tree, node = tree[split].repeat_interleave(2), torch.stack([left[own], left[own] + 1], dim=1).flatten()
    return levels


def compile_trees(levels: Sequence[CompiledLevel]) -> CompiledTrees:
    """The same as sums over splits."""
    gains, n_trees, n_above = [], len(levels[0].share), 0
    for level, below in pairwise(levels):
        children = (below.share.view(-1, 2) - level.share[level.split].unsqueeze(1)).T.flatten() / n_trees
        place = level.split // 2 + level.split % 2 * n_above
        gains.append(SplitGains(children, level.column, level.threshold.unsqueeze(1), place))
        n_above = len(level.split)
    return CompiledTrees(levels[0].share.mean(), gains)
