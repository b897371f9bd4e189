"""The contract of all methods: `Method.adapt` turns the few labelled rows of a task into a `Score`.

Everything here and in the methods is said in the array API's words: with NumPy arrays tasks are adapted to and rows are
scored; with torch tensors that have leading dimensions [R, T], replicas and tasks, the same functions are trained
(`oddshot.training`). To add a method, subclass `Method` and override what it needs of the names listed there; see
CONTRIBUTING.md.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

from oddshot.errors import InputError
from oddshot.score.arrays import Array, namespace
from oddshot.score.auc import smooth_auc
from oddshot.score.networks import Drop, Layers
from oddshot.score.rows import LabelledRows

CHUNK_ROWS = 2048  # scored at a time, so that what is computed of them stays in the cache


class OwnScores(NamedTuple):
    """Rows that tasks were adapted with, [..., L, M], anomalies first, unlabelled rows last, and their scores,
    [..., L], each row hidden from itself (leave-one-out)."""

    rows: Array
    scores: Array
    n_anomaly: int
    n_unlabelled: int

    @property
    def of_normal(self) -> Array:
        """The scores of the normal rows: [..., n]."""
        return self.scores[..., self.n_anomaly : self.scores.shape[-1] - self.n_unlabelled]


class PreparedScore(ABC):
    """The score of one task in its cheapest form: what depends on the task alone is computed, as arrays.

    A frozen dataclass or named tuple of arrays and of other ones: with the arrays of ndonnx it makes a graph.
    """

    chunk_rows: ClassVar[int] = CHUNK_ROWS
    runs_in_threads: ClassVar[bool] = True
    """Whether several threads may score at the same time."""

    @abstractmethod
    def __call__(self, x: Array) -> Array:
        """Scores in float64: [n, M] -> [n]."""


class Score(ABC):
    """The anomaly score of adapted tasks; higher means more anomalous."""

    @abstractmethod
    def __call__(self, x: Array) -> Array:
        """Scores of rows, in float64: [..., n, M] -> [..., n]."""

    def prepare(self) -> PreparedScore:
        """For many rows of the only task."""
        return PlainScore(self)

    def own(self) -> OwnScores | None:
        """Of the rows that the task was adapted with; None for methods that score these like any other."""
        return None

    def project(self, x: Array) -> Array | None:
        """Rows in the projected space, relative to the centre (Fig. 2c): [..., n, K]; None without such a space."""
        return None

    def embed(self, x: Array) -> Array | None:
        """Rows in the embedded space, relative to the centre (Fig. 2b): [..., n, J]; None without such a space."""
        return None

    @property
    def is_standardised(self) -> bool:
        """Whether scores are standardised by the rows of each task, so that those of several methods are comparable."""
        return False

    def rescaled(self, location: float, unit: float) -> "Score":
        """(s(x) − location) / unit; for scores that are standardised."""
        raise NotImplementedError

    def score_range(self, support: LabelledRows) -> tuple[Array, Array]:
        """Scores of a typical normal row and of a clear anomaly, [...] each; thresholds are fractions in between.

        By default the mean scores of the normal and of the anomalous support rows; without anomalies, the upper end is
        four standard deviations above the normal rows.
        """
        own = self.own()
        if support.n_anomaly == 0:
            return range_of_normal(self(support.normal) if own is None else own.of_normal)
        xp = namespace(support.normal)
        low, high = (xp.mean(self(rows), axis=-1) for rows in support)
        return low, high


@dataclass(frozen=True)
class PlainScore(PreparedScore):
    """A score that has no cheaper form."""

    score: Score
    runs_in_threads: ClassVar[bool] = False  # other libraries have threads of their own

    def __call__(self, x: Array) -> Array:
        """x: [n, M] -> [n]."""
        return self.score(x)


def range_of_normal(scores: Array) -> tuple[Array, Array]:
    """The mean of normal rows' scores, [..., n], and four standard deviations above it: [...] each."""
    xp = namespace(scores)
    mean = xp.mean(scores, axis=-1)
    return mean, mean + 4 * xp.std(scores, axis=-1)


class Weight(NamedTuple):
    """An array that is learned, or fixed before training. shape: without leading dimensions.

    start: its values before training: "uniform" within ±1/√in, "normal", or a number. is_learned: whether training
    changes it. fan_in: of "uniform", how many inputs a unit has.
    """

    shape: tuple[int, ...]
    start: Literal["uniform", "normal"] | float = "uniform"
    is_learned: bool = True
    fan_in: int = 0


def network_weights(name: str, sizes: list[int], bias: bool = True) -> dict[str, Weight]:
    """The weights of a network by their names. sizes: widths from input to output."""
    # NOTE[PAPER] the initialisation is not stated: PyTorch's default; see docs/PAPER.md for the choice.
    found = {}
    for k, (n_in, n_out) in enumerate(pairwise(sizes)):
        found[f"{name}.weights.{k}"] = Weight((n_in, n_out), fan_in=n_in)
        if bias:
            found[f"{name}.biases.{k}"] = Weight((1, n_out), fan_in=n_in)
    return found


class Method(ABC):
    """A method with weights is trained over many tasks; one without only adapts.

    A new method sets `name` and `config_type`, implements `adapt` or, where what is trained is less than what is used,
    `learned` too, and overrides of `weights_of`, `uses_unlabelled`, `center_of`, `vary_episode` and `loss` what it
    needs. Weights have no leading dimensions, or those of the replicas that are trained together.
    """

    name: ClassVar[str]
    """How the method is called on the command line and in model files."""

    config_type: ClassVar[type]
    """A frozen dataclass of its hyperparameters."""

    uses_unlabelled: ClassVar[bool] = False
    """Whether unlabelled rows change the scores."""

    def __init__(self, n_attributes: int, config: Any, weights: Mapping[str, Array] | None = None) -> None:
        self.n_attributes, self.config, self.weights = n_attributes, config, dict(weights or {})
        self.drop: Drop | None = None
        """Dropout between layers, while training."""
        self.seen_columns: Array | None = None
        """In a training step on wide tables, the columns that networks over columns see."""

    @classmethod
    def weights_of(cls, n_attributes: int, config: Any) -> dict[str, Weight]:
        """All weights by their names."""
        return {}

    @abstractmethod
    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """Return the score of each task, from its labelled rows and, if given, unlabelled ones [..., u, M]."""

    def learned(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """Return the part of it that is learned from other tasks."""
        return self.adapt(support, unlabelled)

    def loss(self, support: LabelledRows, query: LabelledRows, unlabelled: Array | None = None) -> Array:
        """What training minimises, for each task, [...]: minus the smooth AUC of the queries (Alg. 1, line 8)."""
        return minus_smooth_auc(self.learned(support, unlabelled), query)

    def center_of(self, support: LabelledRows, normal: Array) -> Array | None:
        """The centre c, fixed before training, from one episode of every training task. normal: [R, T, n, M]."""
        return None

    def vary_episode(
        self, support: LabelledRows, query: LabelledRows, step: int
    ) -> tuple[LabelledRows, LabelledRows, Array | None]:
        """Vary a training episode so that other kinds of supports are trained too; returns unlabelled rows as well."""
        return support, query, None

    def layers(self, name: str) -> Layers:
        """A network by its name."""
        return Layers.named(self.weights, name)

    @property
    def is_learned(self) -> bool:
        """Whether there is anything to train."""
        return any(weight.is_learned for weight in self.weights_of(self.n_attributes, self.config).values())

    def check_support(self, support: LabelledRows, *, normal: int = 1, anomaly: int = 0) -> None:
        """Refuse a support with fewer labelled rows than the method can work with."""
        if support.n_normal < normal:
            raise SupportError(
                f"method {self.name!r} needs {normal} or more rows labelled normal; the support has {support.n_normal}"
            )
        if support.n_anomaly < anomaly:
            raise SupportError(
                f"method {self.name!r} needs at least one labelled anomaly; for normal rows alone train 'woanomaly'"
            )


class SupportError(InputError):
    """A support has fewer labelled rows than the method can work with."""


def minus_smooth_auc(score: Score, rows: LabelledRows) -> Array:
    """What training and fine-tuning minimise, for each task: [...]."""
    scores = score(rows.joined())
    return -smooth_auc(scores[..., : rows.n_normal], scores[..., rows.n_normal :])


def mean_of_rows(x: Array) -> Array:
    """The mean over tasks and rows: [R, T, n, J] -> [R, J]."""
    return namespace(x).mean(x, axis=(-3, -2))
