"""`maml`: model-agnostic meta-learning (Finn et al., 2017) of SSVDD, weights from which a few steps adapt well."""

from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.chunks import chunks_of, loss_by_chunks
from oddshot.methods.contract import Rows
from oddshot.methods.embedded import Centered, EmbeddedConfig
from oddshot.methods.settings import require_at_least, require_positive
from oddshot.methods.taskwise import TaskDistance, Weights, dropout_of, shared_weights, support_gradient


@dataclass(frozen=True)
class MAMLConfig(EmbeddedConfig):
    """inner_steps: the paper's five. chunk_tasks: how many tasks at a time have weights of their own in memory."""

    inner_steps: int = 5
    inner_learning_rate: float = 0.01
    chunk_tasks: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, inner_steps=1, chunk_tasks=1)
        require_positive(self, "inner_learning_rate")


class MAML(Centered):
    """φ is where all tasks start; each takes gradient steps on its support, and training goes through them."""

    name = "maml"
    config_type = MAMLConfig

    def adapt(self, support: Rows) -> TaskDistance:
        """Full-gradient steps down minus the smooth AUC of the support, differentiable to the second order."""
        self.check_support(support, anomaly=1)
        parts = [self._descend(chunk) for chunk in chunks_of(support, self.config.chunk_tasks)]
        return self._score([torch.cat(layer, dim=1) for layer in zip(*parts, strict=True)])

    def loss(self, support: Rows, query: Rows) -> Tensor:
        """[R], minus the smooth AUC of the queries after adapting; memory for one chunk of tasks at a time."""
        if support.normal.shape[1] <= self.config.chunk_tasks:
            return super().loss(support, query)
        parameters = list(self.parameters())
        return loss_by_chunks(super().loss, parameters, support, query, self.config.chunk_tasks)

    def _descend(self, support: Rows) -> Weights:
        # NOTE[PAPER] the inner learning rate and optimiser are not stated: plain gradient steps, as Finn et al. take.
        weights = shared_weights(self.phi, support.normal.shape[1])
        for _ in range(self.config.inner_steps):
            gradient = support_gradient(self._score, weights, support)
            weights = [w - self.config.inner_learning_rate * g for w, g in zip(weights, gradient, strict=True)]
        return weights

    def _score(self, weights: Weights) -> TaskDistance:
        return TaskDistance(weights, self.center, dropout_of(self.phi))
