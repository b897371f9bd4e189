"""`relative`: the proposed method on rows described by their relation to the task's own rows, not by their attributes.

Where all tasks have the same columns, each column has a learned embedding (its `marks`), by which one is told from
another. Without marks no weight depends on the number of attributes: one model serves tables of any width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from oddshot.methods.blended import BlendedScore
from oddshot.methods.compiled_relative import CompiledRelative
from oddshot.methods.contract import LabelledRows, Method, Score, ScoredContext, minus_smooth_auc
from oddshot.methods.density import with_density
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.methods.forest import with_forest
from oddshot.methods.hyperparameters import require_at_least, require_not_negative
from oddshot.methods.scores import Distance
from oddshot.model.background import MAX_ABS_VALUE
from oddshot.model.curves import N_COLUMN_FEATURES, N_VALUE_FEATURES
from oddshot.model.description import Describer
from oddshot.model.networks import Network
from oddshot.model.relations import (
    N_PAIR_FEATURES,
    N_ROW_FEATURES,
    N_TASK_FEATURES,
    TaskContext,
)

MAX_LABELLED = 64  # rows of each label that others are related to: the cost grows with every pair of them
MAX_USED = 2000  # rows of each label that are used at all, by forest and distances
MAX_TRAINED_COLUMNS = 200  # that the networks over columns see in a training step


@dataclass(frozen=True)
class RelativeConfig(EigenConfig):
    """Networks of the proposed method, narrower; pair_units, column_units: of those that describe a row.

    heads: number of attention heads, in how many ways columns are weighted by what they tell of the anomalies. marks:
    size of the learned embedding of each column; 0 for tables of any width. forest_weight: of a forest on the task's
    own rows, for each labelled anomaly; 0 for none.
    """

    units: int = 128
    pair_units: int = 48
    column_units: int = 24
    heads: int = 2
    marks: int = 8
    forest_weight: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, pair_units=1, column_units=1, heads=1, marks=0)
        require_not_negative(self, "forest_weight")

    @property
    def n_description(self) -> int:
        """Numbers that describe a row."""
        return 3 * self.pair_units + (2 + self.heads) * self.column_units + 2 * N_ROW_FEATURES + N_TASK_FEATURES

    def with_marks(self) -> "RelativeConfig":
        """The same, with marks: for training that goes on with tasks of the same columns."""
        return replace(self, marks=self.marks or RelativeConfig.marks)


@dataclass(frozen=True)
class RelativeScore(Score):
    """Rows are described, then scored as in the proposed method. support: all labelled rows, also those that no row is
    related to because there are too many."""

    describe: Describer
    distance: Distance
    support: LabelledRows

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M] -> [R, T, N] in float64."""
        return self.distance(self.describe(x))

    def project(self, x: Tensor) -> Tensor:
        """Rows in the projected space, relative to the centre (Fig. 2c). x: [R, T, N, M] -> [R, T, N, 1]."""
        return self.distance.project(self.describe(x))

    @property
    def representation(self) -> Tensor:
        """r: [R, T, H]."""
        return self.distance.representation

    def span(self, support: LabelledRows) -> tuple[Tensor, Tensor]:
        """As for every method, of the rows that others are related to; without anomalies by leave-one-out."""
        if support.anomaly.shape[2] == 0:
            return self.scored_context().span_of_normal()
        return super().span(_thinned(support))

    def scored_context(self) -> ScoredContext:
        """All rows by leave-one-out, computed once: decisions and rows that are scored again both need it."""
        return self._scored_context

    @cached_property
    def _scored_context(self) -> ScoredContext:
        context, scores = self.describe.context, self.distance(self.describe.describe_context())
        n_unlabelled, rows = context.rows.shape[2] - context.n_labelled, context.rows
        n_normal, n_anomaly = (part.shape[2] for part in self.support)
        if n_normal + n_anomaly > context.n_labelled:
            places = torch.cat([_spaced(n_anomaly, rows.device), n_anomaly + _spaced(n_normal, rows.device)])
            labelled = torch.cat([self.support.anomaly, self.support.normal], dim=2)
            of_labelled = self(labelled).index_copy(2, places, scores[..., : context.n_labelled])
            rows = torch.cat([labelled, rows[:, :, context.n_labelled :]], dim=2)
            scores = torch.cat([of_labelled, scores[..., context.n_labelled :]], dim=2)
        return ScoredContext(rows, scores, n_anomaly, n_unlabelled)

    def compiled(self) -> CompiledRelative:
        """Rows are described and scored transposed."""
        return CompiledRelative(self.describe, self.distance.compiled())


class Relative(Eigen):
    """Networks over pairs of rows and over columns describe a row; f, g, φ, c and η see the description."""

    name = "relative"
    config_type = RelativeConfig
    uses_unlabelled = True

    def __init__(self, n_attributes: int, config: RelativeConfig, replicas: int = 1) -> None:
        super().__init__(config.n_description, config, replicas)
        self.n_attributes = n_attributes
        units, marks = config.column_units, config.marks
        self.pair = Network([N_PAIR_FEATURES, config.pair_units], replicas=replicas)
        self.column = Network([N_VALUE_FEATURES + marks, units, units], replicas=replicas)
        self.attention = Network([N_COLUMN_FEATURES + marks, 16, config.heads], replicas=replicas)
        self.marks = nn.Parameter(torch.zeros(replicas, n_attributes, marks)) if marks else None
        self.imagined = nn.Parameter(torch.zeros(replicas, config.units))  # stands for the anomaly where none is known

    def initialise(self, generators: Sequence[torch.Generator], start: Method | None = None) -> None:
        """Random weights; or those of a trained method, with new marks for columns that it has not met."""
        super().initialise(generators)
        with torch.no_grad():
            for parameter in (self.imagined,) if self.marks is None else (self.imagined, self.marks):
                for replica, generator in zip(parameter, generators, strict=True):
                    replica.copy_(torch.randn(replica.shape, generator=generator))
        if start is not None:
            self.load_expanded(self._weights_from(start), start)

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> Score:
        """Solve Eq. 3 for the described rows, and blend the score with what needs no training on other tasks.

        That is a forest on the labelled rows, or without anomalies distances to neighbours.
        """
        score = self.relate(support, unlabelled)
        if self.is_being_trained:
            return score
        return with_forest(score, self.config.forest_weight) if support.anomaly.shape[2] > 0 else with_density(score)

    def relate(self, support: LabelledRows, unlabelled: Tensor | None = None) -> RelativeScore:
        """Describe the support by leave-one-out, and solve Eq. 3 for the described rows."""
        self.check_support(support)
        support = _clamped(_thinned(support, MAX_USED))
        describe = self.describer(_thinned(support), unlabelled)
        return RelativeScore(describe, self.solve(_described_support(describe), self.imagined), support)

    def loss(self, support: LabelledRows, query: LabelledRows, unlabelled: Tensor | None = None) -> Tensor:
        """Minus the mean smooth AUC of the score that is learned, [R]."""
        return minus_smooth_auc(self.relate(support, unlabelled), query).mean(-1)

    def augment_episode(
        self, support: LabelledRows, query: LabelledRows, step: int
    ) -> tuple[LabelledRows, LabelledRows, Tensor | None]:
        """Of four steps one has no labelled anomalies, and one has unlabelled rows: every other query, then not scored.

        A single normal query has to be scored.
        """
        kind = step % 4
        if kind == 2:
            return LabelledRows(support.normal, support.anomaly[:, :, :0]), query, None
        if kind == 3 and query.normal.shape[2] > 1:
            unlabelled = torch.cat([part[:, :, 1::2] for part in query], dim=2)
            return support, LabelledRows(*(part[:, :, ::2] for part in query)), unlabelled
        return support, query, None

    @torch.no_grad()
    def fix_center(self, support: LabelledRows, normal: Tensor) -> None:
        """The mean embedding of training normals at the initial weights (Alg. 1, line 2)."""
        describe = self.describer(_clamped(support), None)
        super().fix_center(_described_support(describe), describe(normal))

    def embed_rows(self, score: Score, x: Tensor) -> Tensor:
        """The same for rows that are described first."""
        score = score.learned if isinstance(score, BlendedScore) else score
        assert isinstance(score, RelativeScore)
        return self.embed(score.describe(x), score.representation)

    def describer(self, support: LabelledRows, unlabelled: Tensor | None) -> Describer:
        """What describes the rows of these tasks; those of the support are within ±MAX_ABS_VALUE."""
        others = None if unlabelled is None else unlabelled.clamp(-MAX_ABS_VALUE, MAX_ABS_VALUE)
        context, sampled = TaskContext(*support, others), self._sampled_columns(support.normal.shape[3])
        return Describer(self.pair, self.column, self.attention, context, self._marks_of(sampled), sampled)

    def _marks_of(self, columns: Tensor | None) -> Tensor | None:
        """The marks of these columns, or of all: [R, E, 1, M, 1]."""
        if self.marks is None:
            return None
        marks = self.marks if columns is None else self.marks.index_select(1, columns)
        return marks.mT[:, :, None, :, None]

    def _sampled_columns(self, n_columns: int) -> Tensor | None:
        """In a training step on wide tables, the random columns over which means are taken: [n], indices.

        They estimate the means over all columns, most of the cost of a step. None for all columns.
        """
        if not (self.is_being_trained and self.training) or n_columns <= MAX_TRAINED_COLUMNS:
            return None
        draws = torch.rand(n_columns, device=self.device, generator=self.column.noise)
        return draws.argsort()[:MAX_TRAINED_COLUMNS]

    def _weights_from(self, other: Method) -> dict[str, Tensor]:
        """The other's weights; marks of columns that it has not met are this method's, and at first have no effect."""
        weights = dict(other.state_dict())
        marks = weights.get("marks")
        if self.marks is None or (marks is not None and marks.shape[1] == self.n_attributes):
            return weights
        weights["marks"] = self.marks
        for name, n in (("column", N_VALUE_FEATURES), ("attention", N_COLUMN_FEATURES)):
            first = f"{name}.weights.0"
            weights[first] = nn.functional.pad(weights[first][:, :n], (0, 0, 0, self.config.marks))
        return weights


def _spaced(n: int, device: torch.device, most: int = MAX_LABELLED) -> Tensor:
    """At most `most` of n places, evenly spaced; made on the device, as a CUDA graph cannot copy to it."""
    if n <= most:
        return torch.arange(n, device=device)
    return torch.linspace(0, n - 1, most, device=device).round().long()


def _thinned(support: LabelledRows, most: int = MAX_LABELLED) -> LabelledRows:
    """At most `most` rows of each label."""
    if max(rows.shape[2] for rows in support) <= most:
        return support
    normal, anomaly = (rows[:, :, _spaced(rows.shape[2], rows.device, most)] for rows in support)
    return LabelledRows(normal, anomaly)


def _clamped(support: LabelledRows) -> LabelledRows:
    """The rows without numbers whose squares would not be finite."""
    return LabelledRows(*(part.clamp(-MAX_ABS_VALUE, MAX_ABS_VALUE) for part in support))


def _described_support(describe: Describer) -> LabelledRows:
    """The labelled rows as their descriptions."""
    rows, n_anomaly = describe.describe_support(), describe.context.n_anomaly
    return LabelledRows(rows[:, :, n_anomaly:], rows[:, :, :n_anomaly])
