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
    parent: [I], the split of the level above whose child it is; is_left: [I, 1], 1 for a left child, 0 for a right one;
    place: [I], its place among all children of the level above, the left ones first.
    """

    children: Tensor
    column: Tensor
    threshold: Tensor
    parent: Tensor
    is_left: Tensor
    place: Tensor


class TreeMemory(NamedTuple):
    """For n rows and the I splits of the level that has most. above: [I, n], 1 where a row goes right at a split.

    reached: [I, n], 1 where it gets to a split; children: [2I, n], where it gets to its children.
    """

    above: Tensor
    reached: Tensor
    children: Tensor


class CompiledTrees(NamedTuple):
    """All trees of a task. share: the mean share of anomalies of a row that goes left at every root that is split.
    levels: from the roots down; at the roots, going left adds nothing."""

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
        for k, level in enumerate(self.levels):
            n = len(level.column)
            above, reached, (left, right) = memory.above[:n], memory.reached[:n], memory.children[: 2 * n].split(n)
            if k == 1:
                torch.index_select(memory.above, 0, level.parent, out=reached).sub_(level.is_left).abs_()
            elif k > 1:
                torch.index_select(memory.children, 0, level.place, out=reached)
            torch.index_select(x, 0, level.column, out=above).gt_(level.threshold)
            if k == 0:  # every row gets to the roots
                total.addmv_(above.T, level.children[n:])
                continue
            torch.mul(reached, above, out=right)
            torch.sub(reached, right, out=left)
            total.addmv_(memory.children[: 2 * n].T, level.children)
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
    gains: list[SplitGains] = []
    n_trees, n_above, share = len(levels[0].share), 0, levels[0].share.mean()
    for level, below in pairwise(levels):
        children = (below.share.view(-1, 2) - level.share[level.split].unsqueeze(1)).T / n_trees
        if not gains:
            share, children = share + children[0].sum(), children - children[0]
        parent, is_right = level.split // 2, level.split % 2
        is_left = (1 - is_right).to(share.dtype).unsqueeze(1)
        places = parent, is_left, parent + is_right * n_above
        gains.append(SplitGains(children.flatten(), level.column, level.threshold.unsqueeze(1), *places))
        n_above = len(level.split)
    return CompiledTrees(share, gains)
