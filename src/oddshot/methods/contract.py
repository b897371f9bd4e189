"""What every method offers: adapt to the support of a task and return its score function; learned ones also train."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from oddshot.model.auc import smooth_auc
from oddshot.model.networks import Network

ScoreFunction = Callable[[Tensor], Tensor]  # rows [R, T, N, M] -> scores [R, T, N], float64, higher = more anomalous


class Rows(NamedTuple):
    """Labelled rows of T tasks for R replicas: normal [R, T, N_N, M], anomaly [R, T, N_A, M]."""

    normal: Tensor
    anomaly: Tensor

    def joined(self) -> Tensor:
        """[R, T, N_N + N_A, M], normal rows first."""
        return torch.cat(self, dim=2)


@dataclass(frozen=True)
class Distance:
    """Score function of an adapted task: a(x) = ‖h(x) P − o‖² (Eq. 2 with the projection folded in).

    h is φ up to its last layer (x itself without a network); that layer's weight is folded into P, so that scoring a
    row costs one layer less. r: [R, T, H], P: [R, T, units, K], offset: [R, T, K].
    """

    network: Network | None
    r: Tensor | None
    P: Tensor
    offset: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M]. Returns [R, T, N] in float64: squares of large float32 numbers stay finite."""
        h = x if self.network is None else self.network.hidden(x, self.r)
        return ((h @ self.P).double() - self.offset.unsqueeze(2)).square().sum(-1)


class Method(nn.Module, ABC):
    """A method for R replicas. One with parameters is trained over many tasks; one without only adapts."""

    name: ClassVar[str]
    config_type: ClassVar[type]  # a frozen dataclass of hyperparameters
    config: Any
    n_attributes: int
    replicas: int

    @abstractmethod
    def __init__(self, n_attributes: int, config: Any, replicas: int = 1) -> None:
        super().__init__()
        self.n_attributes, self.config, self.replicas = n_attributes, config, replicas

    @property
    def networks(self) -> list[Network]:
        """All networks, in a fixed order."""
        return [module for module in self.modules() if isinstance(module, Network)]

    def initialise(self, generators: Sequence[torch.Generator]) -> None:
        """Initial weights, each replica from a generator of its own."""
        for network in self.networks:
            network.initialise(generators)

    def set_noise(self, noise: torch.Generator | None) -> None:
        """Where dropout draws from while training."""
        for network in self.networks:
            network.noise = noise

    def fix_center(self, support: Rows, normal: Tensor) -> None:
        """Called once before training with supports of training tasks and normal rows of them [R, T, N, M]."""

    @abstractmethod
    def adapt(self, support: Rows) -> ScoreFunction:
        """The score function of each task, from its few labelled rows."""

    def span(self, score: ScoreFunction, support: Rows) -> tuple[Tensor, Tensor]:
        """[R, T] each: scores of a typical normal row and of a clear anomaly; thresholds are fractions in between.

        Here the means of the support rows; without anomalies, four standard deviations above the normal rows.
        """
        normal = score(support.normal)
        low = normal.mean(-1)
        if support.anomaly.shape[2] == 0:
            return low, low + 4 * normal.std(-1, correction=0)
        return low, score(support.anomaly).mean(-1)

    def loss(self, support: Rows, query: Rows) -> Tensor:
        """[R], minus the smooth AUC of the queries, mean over tasks (Alg. 1, line 8)."""
        score = self.adapt(support)
        n_normal = query.normal.shape[2]
        scores = score(query.joined())
        return -smooth_auc(scores[..., :n_normal], scores[..., n_normal:]).mean(-1)
