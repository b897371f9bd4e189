"""Layers that a few gradient steps have made different from task to task, without a weight matrix for each task.

The gradient of a layer's weight is XᵀG, the layer's input rows times the gradient of its outputs. On a support of few
rows that is a matrix of low rank: the steps of a task are kept as the rows of X and G.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class LowRankLayer:
    """The bias-free layers W_t = W + X_tᵀ C_t of T tasks.

    W: [R, in, out], shared; X: [R, T, n, in]; C: [R, T, n, out], n being the rows of all steps together.
    """

    W: Tensor
    X: Tensor
    C: Tensor

    @classmethod
    def start(cls, W: Tensor, n_tasks: int) -> "LowRankLayer":
        """Before the first step. W: [R, in, out]."""
        R, n_in, n_out = W.shape
        return cls(W, W.new_empty(R, n_tasks, 0, n_in), W.new_empty(R, n_tasks, 0, n_out))

    def __call__(self, x: Tensor) -> Tensor:
        """x W_t. x: [R, T, N, in] -> [R, T, N, out]."""
        return _product(x, self.W, self.X, self.C)

    def backward(self, y: Tensor) -> Tensor:
        """y W_tᵀ. y: [R, T, N, out] -> [R, T, N, in]."""
        return _product(y, self.W.mT, self.C, self.X)

    def step(self, x: Tensor, change: Tensor) -> "LowRankLayer":
        """After a gradient step. x: [R, T, s, in]; change: minus rate times the gradient of outputs, [R, T, s, out]."""
        return LowRankLayer(self.W, torch.cat([self.X, x], dim=2), torch.cat([self.C, change], dim=2))

    def weight(self, replica: int, task: int) -> Tensor:
        """The weight of one task: [in, out]."""
        return self.W[replica] + self.X[replica, task].mT @ self.C[replica, task]


def _product(x: Tensor, W: Tensor, X: Tensor, C: Tensor) -> Tensor:
    """x (W + XᵀC): one product of all tasks' rows with the shared weight, and two small ones for each task."""
    (R, T, N, _), n_out = x.shape, W.shape[-1]
    shared = torch.bmm(x.flatten(1, 2), W).view(R * T, N, n_out)
    own = torch.bmm(x.flatten(0, 1), X.flatten(0, 1).mT)
    return torch.baddbmm(shared, own, C.flatten(0, 1)).view(R, T, N, n_out)
