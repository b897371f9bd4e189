"""A forest on a task's own labelled rows: the share of anomalies in the leaves that a row reaches."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oddshot.score.arrays import Array, contiguous, matmul, namespace, swap
from oddshot.score.tree_growth import BoolArray, GrownTrees, grow_trees


@dataclass(frozen=True)
class Forest:
    """The trees of tasks. is_left_out: [B, K, N], which of its labelled rows, anomalies first, a tree has not seen."""

    trees: GrownTrees
    is_left_out: BoolArray

    @classmethod
    def grow(cls, rows: Array, n_anomaly: int, n_labelled: int) -> "Forest":
        """rows: [..., L, M], anomalies first, then normal rows, then others."""
        return cls(*grow_trees(rows.reshape(-1, *rows.shape[-2:]), n_anomaly, n_labelled))

    def shares(self, x: Array) -> NDArray[np.floating]:
        """The share of anomalies in the leaf of each row, for every tree. x: [..., n, M] -> [B, n, K]."""
        x = x.reshape(-1, *x.shape[-2:])
        column, left, threshold, share = (part.swapaxes(1, 2) for part in self.trees[:4])  # [B, J, K]
        node = np.zeros((len(x), x.shape[1], left.shape[2]), np.int64)
        for _ in range(self.trees.depth):
            values = np.take_along_axis(x, np.take_along_axis(column, node, 1), 2)
            is_above = values > np.take_along_axis(threshold, node, 1)
            node = np.take_along_axis(left, node, 1) + is_above
        return np.take_along_axis(share, node, 1)

    def mean_share(self, x: Array) -> Array:
        """The mean share of anomalies over all trees: [..., n, M] -> [..., n]."""
        return self.shares(x).mean(-1).reshape(x.shape[:-1])

    def own_shares(self, rows: Array, n_anomaly: int) -> Array:
        """The same for the task's rows: [..., L, M] -> [..., L].

        A labelled row has the mean over the trees that it was left out of. Trees that have seen no normal row tell
        nothing: the only one would look like an anomaly.
        """
        shares = self.shares(rows)
        n_labelled = self.is_left_out.shape[2]
        is_left_out = self.is_left_out.swapaxes(1, 2)  # [B, N, K]
        of_labelled = np.where(self.trees.share[:, None, :, 0] == 1, n_anomaly / n_labelled, shares[:, :n_labelled])
        out = shares.mean(-1)
        out[:, :n_labelled] = (of_labelled * is_left_out).sum(-1) / is_left_out.sum(-1)
        return out.reshape(rows.shape[:-1])

    def levels(self) -> "ForestLevels":
        """The trees of the only task, for many rows."""
        return ForestLevels.of(self.trees)


class SplitGains(NamedTuple):
    """What the I splits of one depth add to the mean share of anomalies of a row that gets there.

    left, right: [1, I], where it goes left and right. column: [I] and threshold: [I, 1], of the split. parent: [I], the
    split of the depth above whose child it is; is_right: [I, 1], whether it is the right one.
    """

    left: Array
    right: Array
    column: Array
    threshold: Array
    parent: Array
    is_right: Array


class ForestLevels(NamedTuple):
    """All trees of a task, depth by depth. share: the mean share of anomalies of the roots.

    Every split of every tree is evaluated: with few labelled rows that is several times as fast as following each row
    down; with hundreds, whose trees have many nodes, it is not.
    """

    share: Array
    splits: tuple[SplitGains, ...]

    @classmethod
    def of(cls, trees: GrownTrees) -> "ForestLevels":
        """Without the padding of shorter trees."""
        column, left, threshold, share = (part[0] for part in trees[:4])
        n_trees, tree = len(left), np.arange(len(left))
        node, above = np.zeros_like(tree), tree
        splits: list[SplitGains] = []
        while True:
            is_split = left[tree, node] != node
            tree, node, above = tree[is_split], node[is_split], above[is_split]
            if len(tree) == 0:
                return cls(share[:, 0].mean(), tuple(splits))
            children = [left[tree, node], left[tree, node] + 1]
            to_left, to_right = (((share[tree, child] - share[tree, node]) / n_trees)[None] for child in children)
            parent, is_right = above // 2 if splits else above, (above % 2 == 1)[:, None]
            where = column[tree, node], threshold[tree, node][:, None]
            splits.append(SplitGains(to_left, to_right, *where, parent, is_right))
            above = np.arange(2 * len(tree))
            tree, node = tree.repeat(2), np.stack(children, axis=1).reshape(-1)

    def __call__(self, x: Array) -> Array:
        """The mean share of anomalies. x: [n, M] -> [n]."""
        xp, columns = namespace(x), contiguous(swap(x))
        total = xp.zeros_like(columns[:1, :]) + self.share
        is_above = is_here = None
        for split in self.splits:
            goes_right = xp.take(columns, split.column, axis=0) > split.threshold  # [I, n]
            if is_above is None:  # every row gets to the roots
                total = total + xp.sum(split.left) + matmul(split.right - split.left, xp.astype(goes_right, x.dtype))
            else:
                from_parent = xp.take(is_above, split.parent, axis=0) == split.is_right
                is_here = from_parent if is_here is None else from_parent & xp.take(is_here, split.parent, axis=0)
                total = total + matmul(split.left, xp.astype(is_here, x.dtype))
                total = total + matmul(split.right - split.left, xp.astype(is_here & goes_right, x.dtype))
            is_above = goes_right
        return total[0, :]
