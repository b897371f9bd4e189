"""Forests of decision trees as arrays, evaluated for many tasks at once; `methods/tree_growth.py` grows them."""

from typing import NamedTuple

import torch
from torch import Tensor


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
        shares = shares.masked_fill(has_no_normal, anomaly.shape[1] / is_left_out.shape[1])
        return (shares * is_left_out).sum(-1) / is_left_out.sum(-1)
