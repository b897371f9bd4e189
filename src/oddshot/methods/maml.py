"""`maml`: model-agnostic meta-learning (Finn et al., 2017) of SSVDD, weights from which a few steps adapt well."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows
from oddshot.methods.embedded import Centered, EmbeddedConfig
from oddshot.methods.settings import require_at_least, require_positive
from oddshot.methods.stepped import SteppedLayer
from oddshot.model.auc import smooth_auc_gradient


@dataclass(frozen=True)
class MAMLConfig(EmbeddedConfig):
    """inner_steps: the paper's five."""

    inner_steps: int = 5
    inner_learning_rate: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, inner_steps=1)
        require_positive(self, "inner_learning_rate")


@dataclass(frozen=True)
class SteppedDistance:
    """Score function of tasks after their steps: a(x) = ‖φ_t(x) − c‖².

    center: [R, J]. between: dropout while training, after a hidden layer's ReLU.
    """

    layers: Sequence[SteppedLayer]
    center: Tensor
    between: Callable[[Tensor], Tensor]

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M]. Returns [R, T, N] in float64."""
        for layer in self.layers[:-1]:
            x = self.between(torch.relu(layer(x)))
        return self._from_center(x).square().sum(-1)

    def step(self, support: LabelledRows, rate: float) -> "SteppedDistance":
        """After one more step down the gradient of minus the support's smooth AUC.

        The backward pass is written out, so that autograd goes through it as through any other function.
        """
        inputs, gates = [support.joined()], []
        for layer in self.layers[:-1]:
            y = layer(inputs[-1])
            gates.append(self.between((y > 0).to(y.dtype)))  # ReLU and dropout are a product with this
            inputs.append(y * gates[-1])
        z, n_normal = self._from_center(inputs[-1]), support.normal.shape[2]
        scores = z.square().sum(-1)
        up = torch.cat(smooth_auc_gradient(scores[..., :n_normal], scores[..., n_normal:]), dim=-1)
        changes = [((2 * rate * up).unsqueeze(-1) * z).to(inputs[-1].dtype)]  # of what each layer gives, last one first
        for layer, gate in zip(self.layers[:0:-1], gates[::-1], strict=True):
            changes.append(layer.back(changes[-1]) * gate)
        stepped = [layer.step(*step) for layer, *step in zip(self.layers, inputs, changes[::-1], strict=True)]
        return SteppedDistance(stepped, self.center, self.between)

    def _from_center(self, hidden: Tensor) -> Tensor:
        """φ_t(x) − c in float64, from what enters the last layer: [R, T, N, J]."""
        return self.layers[-1](hidden) - self.center[:, None, None].double()


class MAML(Centered):
    """φ is where all tasks start; each takes gradient steps on its support, and training goes through them."""

    name = "maml"
    config_type = MAMLConfig

    def adapt(self, support: LabelledRows) -> SteppedDistance:
        """Full-gradient steps down minus the smooth AUC of the support, differentiable to the second order."""
        self.check_support(support, anomaly=1)
        # NOTE[PAPER] the inner learning rate and optimiser are not stated: plain gradient steps, as Finn et al. take.
        layers = [SteppedLayer.start(weight, support.normal.shape[1]) for weight in self.phi.weights]
        score = SteppedDistance(layers, self.center, self.phi.drop)
        for _ in range(self.config.inner_steps):
            score = score.step(support, self.config.inner_learning_rate)
        return score
