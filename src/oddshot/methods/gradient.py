"""`ft`, `maml`: SSVDD whose network takes gradient steps on the support of each task."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.compiled import CompiledNetwork, compile_weights
from oddshot.methods.contract import LabelledRows, Score, minus_smooth_auc
from oddshot.methods.embedding import Centered, EmbeddingConfig
from oddshot.methods.hyperparameters import require_at_least, require_positive
from oddshot.model.auc import smooth_auc_gradient
from oddshot.model.low_rank import LowRankLayer
from oddshot.model.networks import Network

TaskWeights = list[Tensor]  # one a layer, [R, T, in, out]


@dataclass(frozen=True)
class FTConfig(EmbeddingConfig):
    """fine_tuning_epochs: the paper's 30. chunk_tasks: how many tasks are fine-tuned at a time."""

    fine_tuning_epochs: int = 30
    fine_tuning_rate: float = 1e-3
    chunk_tasks: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, fine_tuning_epochs=1, chunk_tasks=1)
        require_positive(self, "fine_tuning_rate")


class FT(Centered):
    """SSVDD, trained and validated as such, then fine-tuned on the support of each new task."""

    name = "ft"
    config_type = FTConfig

    def loss(self, support: LabelledRows, query: LabelledRows, unlabelled: Tensor | None = None) -> Tensor:
        """[R], minus the smooth AUC of the queries; the support is ignored."""
        return minus_smooth_auc(self.shared_score(), query).mean(-1)

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> Score:
        """Adam on minus the smooth AUC of each task's support, the whole support a step; not differentiable."""
        self.check_support(support, anomaly=1)
        if self.is_being_trained:
            return self.shared_score()
        chunks = zip(*(part.split(self.config.chunk_tasks, dim=1) for part in support), strict=True)
        parts = [self._fine_tune(LabelledRows(*chunk)) for chunk in chunks]
        return TaskDistance([torch.cat(layer, dim=1) for layer in zip(*parts, strict=True)], self.center)

    @torch.no_grad()
    def _fine_tune(self, support: LabelledRows) -> TaskWeights:
        # NOTE[PAPER] how it fine-tunes is not stated: as it trains, by Adam at learning rate 1e-3 for the same AUC.
        start = [weight.clone() for weight in shared_weights(self.phi, support.normal.shape[1])]
        return adam(
            start,
            lambda weights: support_gradient(weights, self.center, support),
            self.config.fine_tuning_epochs,
            self.config.fine_tuning_rate,
        )


@dataclass(frozen=True)
class TaskDistance(Score):
    """a(x) = ‖φ_t(x) − c‖² for tasks with bias-free networks of their own. weights: [R, T, in, out], center: [R, J]."""

    weights: Sequence[Tensor]
    center: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M] -> [R, T, N] in float64."""
        for weight in self.weights[:-1]:
            x = torch.relu(x @ weight)
        z = (x @ self.weights[-1]).double()
        return (z - self.center[:, None, None]).square().sum(-1)

    @torch.no_grad()
    def compiled(self) -> CompiledNetwork:
        """The only task's weights."""
        return compile_weights([weight[0, 0] for weight in self.weights], self.center)


def shared_weights(network: Network, n_tasks: int) -> TaskWeights:
    """The weights that all tasks start from, as a view."""
    return [weight.unsqueeze(1).expand(-1, n_tasks, -1, -1) for weight in network.weights]


def support_gradient(weights: TaskWeights, center: Tensor, support: LabelledRows) -> TaskWeights:
    """Gradient of minus the smooth AUC of each task's support with respect to its own weights; works under no_grad."""

    def objective(weights: TaskWeights) -> Tensor:
        # A sum over tasks: no task's term depends on another's weights.
        return minus_smooth_auc(TaskDistance(weights, center), support).sum()

    gradient: TaskWeights = torch.func.grad(objective)(weights)
    return gradient


def adam(
    weights: TaskWeights, gradient: Callable[[TaskWeights], TaskWeights], steps: int, learning_rate: float
) -> TaskWeights:
    """Adam with its default settings on many weights at once, each entry by itself. Changes `weights` in place."""
    beta1, beta2, epsilon = 0.9, 0.999, 1e-8
    first, second = ([torch.zeros_like(weight) for weight in weights] for _ in range(2))
    for step in range(1, steps + 1):
        for w, g, m, v in zip(weights, gradient(weights), first, second, strict=True):
            m.lerp_(g, 1 - beta1)
            v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            spread = v.sqrt().div_((1 - beta2**step) ** 0.5).add_(epsilon)
            w.addcdiv_(m, spread, value=-learning_rate / (1 - beta1**step))
    return weights


@dataclass(frozen=True)
class MAMLConfig(EmbeddingConfig):
    """inner_steps: the paper's five."""

    inner_steps: int = 5
    inner_learning_rate: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, inner_steps=1)
        require_positive(self, "inner_learning_rate")


class MAML(Centered):
    """Model-agnostic meta-learning (Finn et al., 2017) of SSVDD: φ is where all tasks start; each takes gradient steps
    on its support, and training differentiates through them."""

    name = "maml"
    config_type = MAMLConfig

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> "SteppedDistance":
        """Full-gradient steps down minus the smooth AUC of the support, differentiable to the second order."""
        self.check_support(support, anomaly=1)
        # NOTE[PAPER] the inner learning rate and optimiser are not stated: plain gradient steps, as Finn et al. take.
        layers = [LowRankLayer.start(weight, support.normal.shape[1]) for weight in self.phi.weights]
        score = SteppedDistance(layers, self.center, self.phi.drop)
        for _ in range(self.config.inner_steps):
            score = score.step(support, self.config.inner_learning_rate)
        return score


@dataclass(frozen=True)
class SteppedDistance(Score):
    """a(x) = ‖φ_t(x) − c‖² after the inner steps of each task.

    center: [R, J]. dropout: applied after a hidden layer's ReLU, in training.
    """

    layers: Sequence[LowRankLayer]
    center: Tensor
    dropout: Callable[[Tensor], Tensor]

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M] -> [R, T, N] in float64."""
        for layer in self.layers[:-1]:
            x = self.dropout(torch.relu(layer(x)))
        return self._from_center(x).square().sum(-1)

    def step(self, support: LabelledRows, rate: float) -> "SteppedDistance":
        """After one more step down the gradient of minus the support's smooth AUC.

        The backward pass is written out, so that autograd goes through it as through any other function.
        """
        inputs, gates = [support.joined()], []
        for layer in self.layers[:-1]:
            y = layer(inputs[-1])
            gates.append(self.dropout((y > 0).to(y.dtype)))  # ReLU and dropout are a product with this
            inputs.append(y * gates[-1])
        z, n_normal = self._from_center(inputs[-1]), support.normal.shape[2]
        scores = z.square().sum(-1)
        up = torch.cat(smooth_auc_gradient(scores[..., :n_normal], scores[..., n_normal:]), dim=-1)
        changes = [((2 * rate * up).unsqueeze(-1) * z).to(inputs[-1].dtype)]  # of each layer's output, last one first
        for layer, gate in zip(self.layers[:0:-1], gates[::-1], strict=True):
            changes.append(layer.backward(changes[-1]) * gate)
        stepped = [layer.step(*step) for layer, *step in zip(self.layers, inputs, changes[::-1], strict=True)]
        return SteppedDistance(stepped, self.center, self.dropout)

    @torch.no_grad()
    def compiled(self) -> CompiledNetwork:
        """The only task's weights, written out."""
        return compile_weights([layer.weight(0, 0) for layer in self.layers], self.center)

    def _from_center(self, hidden: Tensor) -> Tensor:
        """φ_t(x) − c in float64, from what enters the last layer: [R, T, N, J]."""
        return self.layers[-1](hidden) - self.center[:, None, None].double()
