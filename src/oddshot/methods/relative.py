"""`relative`: the proposed method on rows described by their relation to the task's own rows, not by their attributes.

Where all tasks have the same columns, each has learned marks, by which one is told from another. Without marks no
weight depends on the number of attributes: one model serves tables of any width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from oddshot.methods.contract import Distance, Method, LabelledRows, ScoreFunction, minus_smooth_auc
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.methods.settings import require_at_least
from oddshot.model.curves import N_ATTENTION, N_COLUMN
from oddshot.model.description import Describer
from oddshot.model.networks import Network
from oddshot.model.relations import LARGEST, N_FACT, N_FIGURE, N_PAIR, Relations

MOST_LABELLED = 64  # rows of each label that others are related to: every pair of them is looked at


@dataclass(frozen=True)
class RelativeConfig(EigenConfig):
    """Networks of the proposed method, narrower; pair_units, column_units: of those that describe a row.

    heads: in how many ways columns are weighted by what they tell of the anomalies. marks: learned numbers that tell a
    column from others; 0 for tables of any width.
    """

    units: int = 128
    pair_units: int = 48
    column_units: int = 24
    heads: int = 2
    marks: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, pair_units=1, column_units=1, heads=1, marks=0)

    @property
    def description(self) -> int:
        """Numbers that describe a row."""
        return 3 * self.pair_units + (2 + self.heads) * self.column_units + 2 * N_FIGURE + N_FACT


@dataclass(frozen=True)
class RelativeScore:
    """Score function of an adapted task: rows are described, then scored as in the proposed method."""

    describe: Describer
    distance: Distance

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M]. Returns [R, T, N] in float64."""
        return self.distance(self.describe(x))

    def project(self, x: Tensor) -> Tensor:
        """Where rows lie in the projected space, seen from the centre (Fig. 2c). x: [R, T, N, M] -> [R, T, N, 1]."""
        return self.distance.project(self.describe(x))


class Relative(Eigen):
    """Networks over pairs of rows and over columns describe a row; f, g, φ, c and η see the description."""

    name = "relative"
    config_type = RelativeConfig

    def __init__(self, n_attributes: int, config: RelativeConfig, replicas: int = 1) -> None:
        super().__init__(config.description, config, replicas)
        self.n_attributes = n_attributes
        self.pair = Network([N_PAIR, config.pair_units], replicas=replicas)
        self.column = Network([N_COLUMN + config.marks, config.column_units, config.column_units], replicas=replicas)
        self.attention = Network([N_ATTENTION + config.marks, 16, config.heads], replicas=replicas)
        self.marks = nn.Parameter(torch.zeros(replicas, n_attributes, config.marks)) if config.marks else None
        self.imagined = nn.Parameter(torch.zeros(replicas, config.units))  # stands for the anomaly where none is known

    def initialise(self, generators: Sequence[torch.Generator]) -> None:
        """Initial weights, each replica from a generator of its own."""
        super().initialise(generators)
        with torch.no_grad():
            for parameter in (self.imagined,) if self.marks is None else (self.imagined, self.marks):
                for replica, generator in zip(parameter, generators, strict=True):
                    replica.copy_(torch.randn(replica.shape, generator=generator))

    @classmethod
    def continued(cls, config: RelativeConfig) -> RelativeConfig:
        """The same, with marks: what goes on is trained on tasks of the same columns."""
        return replace(config, marks=config.marks or RelativeConfig.marks)

    def weights_from(self, other: Method) -> dict[str, Tensor]:
        """Of columns that the other has not met, the marks are new and count for nothing at first."""
        weights = super().weights_from(other)
        marks = weights.get("marks")
        if self.marks is None or (marks is not None and marks.shape[1] == self.n_attributes):
            return weights
        weights["marks"] = self.marks
        for name, n in (("column", N_COLUMN), ("attention", N_ATTENTION)):
            first = f"{name}.weights.0"
            weights[first] = nn.functional.pad(weights[first][:, :n], (0, 0, 0, self.config.marks))
        return weights

    def adapt(self, support: LabelledRows) -> RelativeScore:
        """Describe the support, each row without itself, and solve Eq. 3 for the described rows."""
        return self.adapt_with(support, None)

    def adapt_with(self, support: LabelledRows, unlabelled: Tensor | None) -> RelativeScore:
        """The same with unlabelled rows of each task beside its support: [R, T, u, M]."""
        self.check_support(support)
        support = LabelledRows(*(_thinned(part) for part in support))
        describe = self.describer(support, unlabelled)
        described_support = _split(describe.support(), support.anomaly.shape[2])
        return RelativeScore(describe, self.solve(described_support, self.imagined))

    def span(self, score: ScoreFunction, support: LabelledRows) -> tuple[Tensor, Tensor]:
        """As for every method, of the rows that others are related to."""
        return super().span(score, LabelledRows(*(_thinned(part) for part in support)))

    def rehearse(
        self, support: LabelledRows, query: LabelledRows, step: int
    ) -> tuple[LabelledRows, LabelledRows, Tensor | None]:
        """Of four steps one does without anomalies, and one has unlabelled rows: every other query, not scored then.

        A single normal query has to be scored.
        """
        kind = step % 4
        if kind == 2:
            return LabelledRows(support.normal, support.anomaly[:, :, :0]), query, None
        if kind == 3 and query.normal.shape[2] > 1:
            unlabelled = torch.cat([part[:, :, 1::2] for part in query], dim=2)
            return support, LabelledRows(*(part[:, :, ::2] for part in query)), unlabelled
        return support, query, None

    def loss_with(self, support: LabelledRows, query: LabelledRows, unlabelled: Tensor | None) -> Tensor:
        """[R], minus the smooth AUC of the queries."""
        return minus_smooth_auc(self.adapt_with(support, unlabelled), query).mean(-1)

    @torch.no_grad()
    def fix_center(self, support: LabelledRows, normal: Tensor) -> None:
        """The mean embedding of training normals at the initial weights (Alg. 1, line 2)."""
        describe = self.describer(support, None)
        described_support = _split(describe.support(), support.anomaly.shape[2])
        super().fix_center(described_support, describe(normal))

    def describer(self, support: LabelledRows, unlabelled: Tensor | None) -> Describer:
        """What describes the rows of these tasks."""
        normal, anomaly = (part.clamp(-LARGEST, LARGEST) for part in support)
        others = None if unlabelled is None else unlabelled.clamp(-LARGEST, LARGEST)
        marks = None if self.marks is None else self.marks.mT[:, :, None, :, None]
        return Describer(self.pair, self.column, self.attention, Relations(normal, anomaly, others), marks)


def _thinned(rows: Tensor) -> Tensor:
    """At most MOST_LABELLED rows of each task, evenly spaced. rows: [R, T, N, M]."""
    n = rows.shape[2]
    if n <= MOST_LABELLED:
        return rows
    return rows[:, :, torch.linspace(0, n - 1, MOST_LABELLED, device=rows.device).round().long()]


def _split(rows: Tensor, n_anomaly: int) -> LabelledRows:
    return LabelledRows(rows[:, :, n_anomaly:], rows[:, :, :n_anomaly])
