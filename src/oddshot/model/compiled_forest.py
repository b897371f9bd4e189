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
    """What the I splits of one level add to the mean share of anomalies of a row that gets there, [1, I] each.

    left: in any case; right: where it goes right. column: [I] and threshold: [I, 1], of the split. parent: [I], the
    split of the level above whose child it is; is_left: [I, 1], 1 for a left child and 0 for a right one.
    """

    left: Tensor
    right: Tensor
    column: Tensor
    threshold: Tensor
    parent: Tensor
    is_left: Tensor

    def is_above(self, x: Tensor) -> Tensor:
        """1 where a row goes right, else 0. x: [M, n] -> [I, n]."""
        return x.index_select(0, self.column).gt_(self.threshold)


class CompiledTrees(NamedTuple):
    """All trees of a task. share: the mean share of anomalies of a row that goes left at every root that is split.
    levels: from the roots down."""

    share: Tensor
    levels: Sequence[SplitGains]

    def __call__(self, x: Tensor) -> Tensor:
        """The mean share of anomalies over all trees. x: [M, n] -> [n].

        Every split of every tree is evaluated: with few labelled rows that is several times as fast as following each
        row down; with hundreds, whose trees have many nodes, it is not.
        """
        total = self.share.expand(x.shape[1])
        above, is_reached = x[:0], None  # of the splits of the level before
        for k, level in enumerate(self.levels):
            if k == 0:  # every row gets there
                above = level.is_above(x)
                total = total + (level.right @ above)[0]
                continue
            comes = above.index_select(0, level.parent).sub_(level.is_left).abs_()
            is_reached = comes if is_reached is None else comes.mul_(is_reached.index_select(0, level.parent))
            above = level.is_above(x)
            total = total + (level.left @ is_reached + level.right @ (is_reached * above))[0]
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
    gains, n_trees = [], len(levels[0].share)
    for level, below in pairwise(levels):
        own, left, right = level.share[level.split], below.share[::2], below.share[1::2]
        in_any_case, to_the_right = (((part / n_trees).unsqueeze(0)) for part in (left - own, right - left))
        is_left = (1 - level.split % 2).to(own.dtype).unsqueeze(1)
        split = level.column, level.threshold.unsqueeze(1), level.split // 2, is_left
        gains.append(SplitGains(in_any_case, to_the_right, *split))
    share = levels[0].share.mean()
    return CompiledTrees(share + gains[0].left.sum() if gains else share, gains)
