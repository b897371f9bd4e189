"""The contract of all methods: `Method.adapt` turns the few labelled rows of a task into a `Score`.

To add a method, subclass `Method` and override what it needs of the eight names listed there; see CONTRIBUTING.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from oddshot.errors import InputError
from oddshot.methods.compiled import CompiledScore, Uncompiled
from oddshot.model.auc import smooth_auc
from oddshot.model.networks import Network


class LabelledRows(NamedTuple):
    """Labelled rows of T tasks for R replicas: normal [R, T, N_N, M], anomaly [R, T, N_A, M]."""

    normal: Tensor
    anomaly: Tensor

    def joined(self) -> Tensor:
        """All rows, normal ones first: [R, T, N_N + N_A, M]."""
        return torch.cat(self, dim=2)


class ScoredContext(NamedTuple):
    """Rows that T tasks were adapted with, [R, T, L, M], anomalies first, unlabelled rows last, and their scores,
    [R, T, L], each row hidden from itself (leave-one-out)."""

    rows: Tensor
    scores: Tensor
    n_anomaly: int
    n_unlabelled: int

    def span_of_normal(self) -> tuple[Tensor, Tensor]:
        """The mean score of the normal rows, and four standard deviations above it: [R, T] each."""
        normal = self.scores[..., self.n_anomaly : self.scores.shape[-1] - self.n_unlabelled]
        return normal.mean(-1), normal.mean(-1) + 4 * normal.std(-1, correction=0)


class Score(ABC):
    """The anomaly score of T adapted tasks for R replicas; higher means more anomalous."""

    @abstractmethod
    def __call__(self, x: Tensor) -> Tensor:
        """Scores of rows, in float64. x: [R, T, N, M] -> [R, T, N]."""

    def project(self, x: Tensor) -> Tensor:
        """Rows in the projected space, relative to the centre (Fig. 2c): [R, T, N, K], K = 0 without such a space."""
        return x.new_empty(*x.shape[:3], 0, dtype=torch.float64)

    @property
    def representation(self) -> Tensor:
        """The task representation r of Eq. 1: [R, T, H], H = 0 for methods that have none."""
        return torch.empty(1, 1, 0)

    @property
    def is_standardised(self) -> bool:
        """Whether scores are standardised by the rows of each task, so that those of several methods are comparable."""
        return False

    def rescaled(self, location: float, unit: float) -> "Score":
        """(s(x) − location) / unit; for scores that are standardised."""
        raise NotImplementedError

    def scored_context(self) -> "ScoredContext":
        """The rows that the task was adapted with, each scored as if it had not been among them.

        None of them for methods that score these rows like any other.
        """
        return ScoredContext(torch.empty(1, 1, 0, 0), torch.empty(1, 1, 0, dtype=torch.float64), 0, 0)

    def span(self, support: LabelledRows) -> tuple[Tensor, Tensor]:
        """Scores of a typical normal row and of a clear anomaly, [R, T] each; thresholds are fractions in between.

        By default the mean scores of the normal and of the anomalous support rows; without anomalies, the upper end is
        four standard deviations above the normal rows.
        """
        n, scores = support.normal.shape[2], self(support.joined())
        low = scores[..., :n].mean(-1)
        if support.anomaly.shape[2] == 0:
            return low, low + 4 * scores.std(-1, correction=0)
        return low, scores[..., n:].mean(-1)

    def compiled(self) -> CompiledScore:
        """The cheapest equivalent form for the only task of a score with R = T = 1."""
        return Uncompiled(self)


def minus_smooth_auc(score: Score, rows: LabelledRows) -> Tensor:
    """What training and fine-tuning minimise, for each task: [R, T] (Alg. 1, line 8)."""
    n_normal = rows.normal.shape[2]
    scores = score(rows.joined())
    return -smooth_auc(scores[..., :n_normal], scores[..., n_normal:])


class Method(nn.Module, ABC):
    """A method for R replicas. One with parameters is trained over many tasks; one without parameters only adapts.

    A new method sets `name` and `config_type`, implements `adapt`, and overrides of `uses_unlabelled`, `initialise`,
    `fix_center`, `augment_episode` and `loss` what it needs; one with networks builds them in `__init__`. Everything
    else is final.
    """

    name: ClassVar[str]
    """How the method is called on the command line and in model files."""

    config_type: ClassVar[type]
    """A frozen dataclass of its hyperparameters."""

    uses_unlabelled: bool = False
    """Whether unlabelled rows change the scores."""

    config: Any
    n_attributes: int
    replicas: int

    def __init__(self, n_attributes: int, config: Any, replicas: int = 1) -> None:
        super().__init__()
        self.n_attributes, self.config, self.replicas = n_attributes, config, replicas
        self.is_being_trained = False

    @abstractmethod
    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> Score:
        """Return the score of each task, from its labelled rows and, if given, unlabelled ones [R, T, U, M]."""

    def initialise(self, generators: Sequence[torch.Generator], start: "Method | None" = None) -> None:
        """Set the initial weights, each replica's from its own generator, or all from a trained method of one."""
        for network in self.networks:
            network.initialise(generators)
        if start is not None:
            self.load_expanded(dict(start.state_dict()), start)

    def fix_center(self, support: LabelledRows, normal: Tensor) -> None:
        """Fix the centre c before training, from one episode of every training task; normal: [R, T, N, M]."""

    def augment_episode(
        self, support: LabelledRows, query: LabelledRows, step: int
    ) -> tuple[LabelledRows, LabelledRows, Tensor | None]:
        """Vary a training episode so that other kinds of supports are trained too; returns unlabelled rows as well."""
        return support, query, None

    def loss(self, support: LabelledRows, query: LabelledRows, unlabelled: Tensor | None = None) -> Tensor:
        """Return the loss of each replica, [R]: minus the mean smooth AUC of the queries (Alg. 1, line 8)."""
        return minus_smooth_auc(self.adapt(support, unlabelled), query).mean(-1)

    @property
    def networks(self) -> list[Network]:
        """All networks, in a fixed order."""
        return [module for module in self.modules() if isinstance(module, Network)]

    @property
    def device(self) -> torch.device:
        """Where the weights are; a method without weights works on the CPU."""
        return next((parameter.device for parameter in self.parameters()), torch.device("cpu"))

    @property
    def is_learned(self) -> bool:
        """Whether there is anything to train."""
        return next(self.parameters(), None) is not None

    @contextmanager
    def being_trained(self, noise: torch.Generator) -> Iterator[None]:
        """From the first training step to the last validation; `noise` is where dropout draws from."""
        self.is_being_trained = True
        self.set_dropout_noise(noise)
        try:
            yield
        finally:
            self.is_being_trained = False
            self.set_dropout_noise(None)

    def set_dropout_noise(self, noise: torch.Generator | None) -> None:
        """Set the generator that dropout draws from."""
        for network in self.networks:
            network.noise = noise

    def load_expanded(self, weights: dict[str, Tensor], other: "Method") -> None:
        """Load the weights of a trained method of one replica into all replicas."""
        own = self.state_dict()
        if any(weights[name].shape[1:] != value.shape[1:] for name, value in own.items()):
            raise InputError(
                f"the model to start from is for {other.n_attributes} attributes, these tasks have {self.n_attributes}"
            )
        self.load_state_dict({name: weights[name].expand_as(value) for name, value in own.items()})

    def check_support(self, support: LabelledRows, *, normal: int = 1, anomaly: int = 0) -> None:
        """Refuse a support with fewer labelled rows than the method can work with."""
        if support.normal.shape[2] < normal:
            got = support.normal.shape[2]
            raise SupportError(
                f"method {self.name!r} needs {normal} or more rows labelled normal; the support has {got}"
            )
        if support.anomaly.shape[2] < anomaly:
            raise SupportError(
                f"method {self.name!r} needs at least one labelled anomaly; for normal rows alone train 'woanomaly'"
            )


class SupportError(InputError):
    """A support has fewer labelled rows than the method can work with."""
