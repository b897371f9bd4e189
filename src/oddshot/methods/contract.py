"""What every method offers: adapt to the support of a task and return its score function; learned ones also train."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from oddshot.errors import InputError
from oddshot.model.auc import smooth_auc
from oddshot.model.networks import Network

ScoreFunction = Callable[[Tensor], Tensor]  # rows [R, T, N, M] -> scores [R, T, N], float64, higher = more anomalous


class LabelledRows(NamedTuple):
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
    row costs one layer less. r: [R, T, H], P: [R, T, units, K], offset: [R, T, K]; a 1 in the place of T serves all
    tasks alike.
    """

    network: Network | None
    r: Tensor | None
    P: Tensor
    offset: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M]. Returns [R, T, N] in float64: squares of large float32 numbers stay finite."""
        return self.project(x).square().sum(-1)

    def project(self, x: Tensor) -> Tensor:
        """Where rows lie in the projected space, seen from the centre (Fig. 2c). x: [R, T, N, M] -> [R, T, N, K]."""
        h = x if self.network is None else self.network.hidden(x, self.r)
        return _project(h, self.P) - self.offset.unsqueeze(2)


@dataclass(frozen=True)
class Linear:
    """Score function of an adapted task that is linear in the embedding: a(x) = h(x) P + o.

    h and P as in Distance, with P: [R, T, units, 1] and offset: [R, T, 1].
    """

    network: Network
    P: Tensor
    offset: Tensor

    @classmethod
    def of(cls, network: Network, w: Tensor, offset: Tensor) -> "Linear":
        """a(x) = wᵀ z + o with z = network(x). w: [R, T, J], offset: [R, T, 1], both float64."""
        last = network.last_weight
        P = last.unsqueeze(1) @ w.to(last.dtype).unsqueeze(-1)
        if network.biases is not None:
            offset = offset + (w * network.biases[-1]).sum(-1, keepdim=True)
        return cls(network, P, offset)

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M]. Returns [R, T, N] in float64."""
        return _project(self.network.hidden(x), self.P).squeeze(-1) + self.offset


def _project(h: Tensor, P: Tensor) -> Tensor:
    """h: [R, T, N, units], P: [R, T, units, K] or [R, 1, units, K]. Returns [R, T, N, K] in float64."""
    if P.shape[1] == 1:  # one product over the rows of all tasks, rather than a copy of P for each
        return torch.bmm(h.flatten(1, 2), P.squeeze(1)).reshape(*h.shape[:3], P.shape[-1]).double()
    return (h @ P).double()


def minus_smooth_auc(score: ScoreFunction, rows: LabelledRows) -> Tensor:
    """What training and fine-tuning minimise, for each task: [R, T] (Alg. 1, line 8)."""
    n_normal = rows.normal.shape[2]
    scores = score(rows.joined())
    return -smooth_auc(scores[..., :n_normal], scores[..., n_normal:])


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

    @classmethod
    def continued(cls, config: Any) -> Any:
        """Settings of a method that goes on from a trained one with these settings: here the same."""
        return config

    def start_from(self, other: "Method") -> None:
        """Take the weights of a trained method of one replica for all replicas."""
        weights, own = self.weights_from(other), self.state_dict()
        if any(weights[name].shape[1:] != value.shape[1:] for name, value in own.items()):
            raise InputError(
                f"the model to start from is for {other.n_attributes} attributes, these tasks have {self.n_attributes}"
            )
        self.load_state_dict({name: weights[name].expand_as(value) for name, value in own.items()})

    def weights_from(self, other: "Method") -> dict[str, Tensor]:
        """What there is to take of a trained method, by name."""
        return dict(other.state_dict())

    def set_noise(self, noise: torch.Generator | None) -> None:
        """Where dropout draws from while training."""
        for network in self.networks:
            network.noise = noise

    def fix_center(self, support: LabelledRows, normal: Tensor) -> None:
        """Called once before training with supports of training tasks and normal rows of them [R, T, N, M]."""

    @abstractmethod
    def adapt(self, support: LabelledRows) -> ScoreFunction:
        """The score function of each task, from its few labelled rows."""

    def adapt_with(self, support: LabelledRows, unlabelled: Tensor | None) -> ScoreFunction:
        """The same with unlabelled rows of each task beside its support, [R, T, u, M]; here they are not looked at."""
        return self.adapt(support)

    @property
    def uses_unlabelled(self) -> bool:
        """Whether unlabelled rows change the scores: a method that uses them has an `adapt_with` of its own."""
        return type(self).adapt_with is not Method.adapt_with

    def span(self, score: ScoreFunction, support: LabelledRows) -> tuple[Tensor, Tensor]:
        """[R, T] each: scores of a typical normal row and of a clear anomaly; thresholds are fractions in between.

        Here the means of the support rows; without anomalies, four standard deviations above the normal rows.
        """
        n, scores = support.normal.shape[2], score(support.joined())
        low = scores[..., :n].mean(-1)
        if support.anomaly.shape[2] == 0:
            return low, low + 4 * scores.std(-1, correction=0)
        return low, scores[..., n:].mean(-1)

    def loss(self, support: LabelledRows, query: LabelledRows) -> Tensor:
        """[R], minus the smooth AUC of the queries, mean over tasks (Alg. 1, line 8)."""
        return minus_smooth_auc(self.adapt(support), query).mean(-1)

    def loss_with(self, support: LabelledRows, query: LabelledRows, unlabelled: Tensor | None) -> Tensor:
        """The same with unlabelled rows beside the supports, [R, T, u, M]; here they are not looked at."""
        return self.loss(support, query)

    def rehearse(
        self, support: LabelledRows, query: LabelledRows, step: int
    ) -> tuple[LabelledRows, LabelledRows, Tensor | None]:
        """What a training step is to look like, for supports of other kinds to be met as well: here as it is."""
        return support, query, None

    def check_support(self, support: LabelledRows, *, normal: int = 1, anomaly: int = 0) -> None:
        """Refuse a support with fewer labelled rows than the method can work with."""
        if support.normal.shape[2] < normal:
            got = support.normal.shape[2]
            raise InputError(f"method {self.name!r} needs {normal} or more rows labelled normal; the support has {got}")
        if support.anomaly.shape[2] < anomaly:
            raise InputError(
                f"method {self.name!r} needs at least one labelled anomaly; for normal rows alone train 'woanomaly'"
            )
