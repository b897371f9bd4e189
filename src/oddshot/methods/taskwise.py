"""Networks of tasks that have weights of their own, [R, T, in, out], and their gradients on the support."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows, minus_smooth_auc
from oddshot.model.networks import Network

Weights = list[Tensor]  # one a layer, [R, T, in, out]


@dataclass(frozen=True)
class TaskDistance:
    """Score function of tasks with bias-free networks of their own: a(x) = ‖φ_t(x) − c‖². center: [R, J]."""

    weights: Sequence[Tensor]
    center: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M]. Returns [R, T, N] in float64."""
        for weight in self.weights[:-1]:
            x = torch.relu(x @ weight)
        z = (x @ self.weights[-1]).double()
        return (z - self.center[:, None, None]).square().sum(-1)


def shared_weights(network: Network, n_tasks: int) -> Weights:
    """What all tasks start from, as a view."""
    return [weight.unsqueeze(1).expand(-1, n_tasks, -1, -1) for weight in network.weights]


def support_gradient(weights: Weights, center: Tensor, support: LabelledRows) -> Weights:
    """Gradient of minus the smooth AUC of each task's support with respect to its own weights, within no_grad too."""

    def objective(weights: Weights) -> Tensor:
        # A sum over tasks: no task's term depends on another's weights.
        return minus_smooth_auc(TaskDistance(weights, center), support).sum()

    gradient: Weights = torch.func.grad(objective)(weights)
    return gradient
