"""Networks that have become different from task to task: weights [R, T, in, out], and gradients on the support."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.contract import Rows, minus_smooth_auc
from oddshot.model.networks import Network, drop

Weights = list[Tensor]  # one a layer, [R, T, in, out]


@dataclass(frozen=True)
class TaskDistance:
    """Score function of tasks with bias-free networks of their own: a(x) = ‖φ_t(x) − c‖².

    center: [R, J]. between: what follows a hidden layer's ReLU (dropout while training).
    """

    weights: Sequence[Tensor]
    center: Tensor
    between: Callable[[Tensor], Tensor]

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M]. Returns [R, T, N] in float64."""
        for weight in self.weights[:-1]:
            x = self.between(torch.relu(x @ weight))
        z = (x @ self.weights[-1]).double()
        return (z - self.center[:, None, None]).square().sum(-1)


def shared_weights(network: Network, n_tasks: int) -> Weights:
    """What all tasks start from, as a view."""
    return [weight.unsqueeze(1).expand(-1, n_tasks, -1, -1) for weight in network.weights]


def dropout_of(network: Network) -> Callable[[Tensor], Tensor]:
    """The network's dropout as a function, switched off unless it trains."""
    rate = network.dropout if network.training else 0.0
    return lambda x: drop(x, rate, network.noise)


def support_gradient(score: Callable[[Weights], TaskDistance], weights: Weights, support: Rows) -> Weights:
    """Gradient of minus the smooth AUC of each task's support with respect to its own weights, within no_grad too."""

    def objective(weights: Weights) -> Tensor:
        return minus_smooth_auc(score(weights), support).sum()  # no task's term depends on another's weights

    gradient: Weights = torch.func.grad(objective)(weights)
    return gradient
