"""`ft`: SSVDD, trained once and then fine-tuned on the support of each task."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows, ScoreFunction, minus_smooth_auc
from oddshot.methods.embedded import Centered, EmbeddedConfig
from oddshot.methods.settings import require_at_least, require_positive
from oddshot.methods.taskwise import TaskDistance, Weights, shared_weights, support_gradient


@dataclass(frozen=True)
class FTConfig(EmbeddedConfig):
    """fine_tuning_epochs: the paper's 30. chunk_tasks: how many tasks are fine-tuned at a time."""

    fine_tuning_epochs: int = 30
    fine_tuning_rate: float = 1e-3
    chunk_tasks: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, fine_tuning_epochs=1, chunk_tasks=1)
        require_positive(self, "fine_tuning_rate")


class FT(Centered):
    """Training is SSVDD's, its validation too; only a trained model is fine-tuned."""

    name = "ft"
    config_type = FTConfig
    in_training = False

    def set_noise(self, noise: torch.Generator | None) -> None:
        """Training lasts for as long as dropout has a source to draw from."""
        super().set_noise(noise)
        self.in_training = noise is not None

    def loss(self, support: LabelledRows, query: LabelledRows) -> Tensor:
        """[R], minus the smooth AUC of the queries; the support is not looked at."""
        return minus_smooth_auc(self.shared_score(), query).mean(-1)

    def adapt(self, support: LabelledRows) -> ScoreFunction:
        """Adam on minus the smooth AUC of each task's support, the whole support a step; nothing is differentiated."""
        self.check_support(support, anomaly=1)
        if self.in_training:
            return self.shared_score()
        chunks = zip(*(part.split(self.config.chunk_tasks, dim=1) for part in support), strict=True)
        parts = [self._fine_tune(LabelledRows(*chunk)) for chunk in chunks]
        return TaskDistance([torch.cat(layer, dim=1) for layer in zip(*parts, strict=True)], self.center)

    @torch.no_grad()
    def _fine_tune(self, support: LabelledRows) -> Weights:
        # NOTE[PAPER] how it fine-tunes is not stated: as it trains, by Adam at learning rate 1e-3 for the same AUC.
        start = [weight.clone() for weight in shared_weights(self.phi, support.normal.shape[1])]
        return adam(
            start,
            lambda weights: support_gradient(weights, self.center, support),
            self.config.fine_tuning_epochs,
            self.config.fine_tuning_rate,
        )


def adam(weights: Weights, gradient: Callable[[Weights], Weights], steps: int, learning_rate: float) -> Weights:
    """Adam with its usual settings on many weights at once, each entry by itself. Changes `weights` in place."""
    beta1, beta2, tiny = 0.9, 0.999, 1e-8
    first, second = ([torch.zeros_like(weight) for weight in weights] for _ in range(2))
    for step in range(1, steps + 1):
        for w, g, m, v in zip(weights, gradient(weights), first, second, strict=True):
            m.lerp_(g, 1 - beta1)
            v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
            spread = v.sqrt().div_((1 - beta2**step) ** 0.5).add_(tiny)
            w.addcdiv_(m, spread, value=-learning_rate / (1 - beta1**step))
    return weights
