"""`relative`: the proposed method on rows described by their relation to the task's own rows, not by their attributes.

Where all tasks have the same columns, each column has a learned embedding, by which one is told from another. Without
embeddings no weight depends on the number of attributes: one model serves tables of any width.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oddshot.methods.blended import density_score, forest_score
from oddshot.methods.contract import OwnScores, PreparedScore, Score, Weight, network_weights, range_of_normal
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.methods.hyperparameters import require_at_least, require_not_negative
from oddshot.methods.scores import Distance
from oddshot.score.arrays import Array, affine_rows, clip, contiguous, float64, matmul, namespace, swap
from oddshot.score.columns import N_COLUMN_FEATURES, N_VALUE_FEATURES
from oddshot.score.context import MAX_ABS_VALUE, Context
from oddshot.score.description import Describer, DescriptionNetworks, describe_task
from oddshot.score.networks import task_part
from oddshot.score.relations import N_LABELLED_FEATURES, N_PAIR_FEATURES, N_ROW_FEATURES, N_TASK_FEATURES
from oddshot.score.rows import LabelledRows, spaced

MAX_LABELLED = 64  # rows of each label that others are related to: the cost grows with every pair of them
MAX_USED = 2000  # rows of each label that are used at all, by forest and distances


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
    def parts(self) -> list[int]:
        """How many numbers describe a row: of its pairs, means and power mean over columns, itself, its task."""
        columns = [(1 + self.heads) * self.column_units, self.column_units]
        return [3 * self.pair_units, *columns, 2 * N_ROW_FEATURES, N_TASK_FEATURES]

    def with_marks(self) -> "RelativeConfig":
        """The same, with marks: for training that goes on with tasks of the same columns."""
        return replace(self, marks=self.marks or RelativeConfig.marks)


class Relative(Eigen):
    """Networks over pairs of rows and over columns describe a row; f, g, φ, c and η see the description."""

    name = "relative"
    config_type = RelativeConfig
    uses_unlabelled = True

    @classmethod
    def weights_of(cls, n_attributes: int, config: Any) -> dict[str, Weight]:
        """Those of `eigen`, of the networks that describe a row, and an embedding for want of an anomaly."""
        units, marks = config.column_units, config.marks
        embeddings = {"marks": Weight((n_attributes, marks), "normal")} if marks else {}
        return {
            **super().weights_of(n_attributes, config),
            **network_weights("pair", [N_PAIR_FEATURES + N_LABELLED_FEATURES, config.pair_units]),
            **network_weights("column", [N_VALUE_FEATURES + marks, units, units]),
            **network_weights("attention", [N_COLUMN_FEATURES + marks, 16, config.heads]),
            "imagined": Weight((config.units,), "normal"),  # stands for the anomaly where none is known
            **embeddings,
        }

    @classmethod
    def n_inputs(cls, n_attributes: int, config: Any) -> int:
        """Numbers that describe a row."""
        return sum(config.parts)

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """Solve Eq. 3 for the described rows, and blend the score with what needs no training on other tasks.

        That is a forest on the labelled rows, or without anomalies distances to neighbours.
        """
        score = self.relate(support, unlabelled, describes_all=True)
        return self.blend(score) if support.n_anomaly == 0 else forest_score(score, self.config.forest_weight)

    def blend(self, score: "RelativeScore") -> Score:
        """Of a task without labelled anomalies."""
        return density_score(score)

    def learned(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """Without what is blended."""
        return self.relate(support, unlabelled)

    def relate(
        self, support: LabelledRows, unlabelled: Array | None = None, describes_all: bool = False
    ) -> "RelativeScore":
        """Describe the support by leave-one-out, and solve Eq. 3 for the described rows.

        describes_all: whether unlabelled rows are described too, so that the score has those of all its own rows.
        """
        self.check_support(support)
        used = LabelledRows(*(_thinned(rows, MAX_USED) for rows in support))
        context = Context.of(LabelledRows(*(_thinned(rows, MAX_LABELLED) for rows in used)), unlabelled)
        n_own = None if describes_all else context.n_labelled
        describe, own = describe_task(self.description_networks(), context, n_own, self.seen_columns)
        own = self.select(own)
        a, K = context.n_anomaly, context.n_labelled
        labelled = LabelledRows(own[..., a:K, :], own[..., :a, :])
        return RelativeScore(describe, self.solve(labelled, self.weights["imagined"]), used, own, self)

    def select(self, description: Array) -> Array:
        """The numbers of a description that are used: all of them."""
        return description

    def description_networks(self) -> DescriptionNetworks:
        """What describes the rows of tasks."""
        pair, column, attention = (self.layers(name) for name in ("pair", "column", "attention"))
        embeddings = self.weights.get("marks")
        if embeddings is None:
            return DescriptionNetworks(pair, column, attention)
        if self.seen_columns is not None:
            embeddings = namespace(embeddings).take(embeddings, self.seen_columns, axis=-2)
        return DescriptionNetworks(pair, column, attention, swap(embeddings)[..., None])

    def vary_episode(
        self, support: LabelledRows, query: LabelledRows, step: int
    ) -> tuple[LabelledRows, LabelledRows, Array | None]:
        """Of four steps one has no labelled anomalies, and one has unlabelled rows: every other query, then not scored.

        A single normal query has to be scored.
        """
        kind = step % 4
        if kind == 2:
            return LabelledRows(support.normal, support.anomaly[..., :0, :]), query, None
        if kind == 3 and query.n_normal > 1:
            unlabelled = namespace(query.normal).concat([part[..., 1::2, :] for part in query], axis=-2)
            return support, LabelledRows(*(part[..., ::2, :] for part in query)), unlabelled
        return support, query, None

    def center_of(self, support: LabelledRows, normal: Array) -> Array | None:
        """The mean embedding of training normals at the initial weights (Alg. 1, line 2)."""
        context = Context.of(support)
        describe, own = describe_task(self.description_networks(), context)
        own = self.select(own)
        labelled = LabelledRows(own[..., context.n_anomaly :, :], own[..., : context.n_anomaly, :])
        return super().center_of(labelled, self.select(describe(normal)))

    @classmethod
    def weights_from(cls, other: Mapping[str, Array], own: dict[str, Array]) -> dict[str, Array]:
        """Another model's weights to start from; embeddings of columns that it has not met are this method's, and at
        first have no effect."""
        weights, marks = dict(other), own.get("marks")
        if marks is None or ("marks" in weights and weights["marks"].shape == marks.shape[-2:]):
            return weights
        weights["marks"] = marks
        for name, n in (("column", N_VALUE_FEATURES), ("attention", N_COLUMN_FEATURES)):
            first = weights[f"{name}.weights.0"][..., :n, :]
            none = np.zeros((marks.shape[-1], first.shape[-1]), first.dtype)
            weights[f"{name}.weights.0"] = np.concatenate([first, none], axis=-2)
        return weights


@dataclass(frozen=True)
class RelativeScore(Score):
    """Rows are described, then scored as in the proposed method.

    support: all labelled rows, also those that no row is related to because there are too many. own_rows: [..., n, D],
    descriptions of the task's own first rows.
    """

    describe: Describer
    distance: Distance
    support: LabelledRows
    own_rows: Array
    method: Relative

    def __call__(self, x: Array) -> Array:
        """x: [..., n, M] -> [..., n] in float64."""
        return self.distance(self.method.select(self.describe(x)))

    def project(self, x: Array) -> Array | None:
        """Rows in the projected space, relative to the centre (Fig. 2c): [..., n, 1]."""
        return self.distance.project(self.method.select(self.describe(x)))

    def embed(self, x: Array) -> Array | None:
        """Rows in the embedded space, relative to the centre (Fig. 2b): [..., n, J]."""
        return self.distance.embed(self.method.select(self.describe(x)))

    def own_scores(self) -> Array:
        """Scores of the rows that are described: [..., n] in float64."""
        return self.distance(self.own_rows)

    def own(self) -> OwnScores:
        """All rows by leave-one-out."""
        context, scores = self.describe.context, self.own_scores()
        xp, K = namespace(scores), context.n_labelled
        rows, n_unlabelled = swap(context.x), context.n_rows - K
        if self.support.n_normal + self.support.n_anomaly > K:
            labelled = xp.concat([self.support.anomaly, self.support.normal], axis=-2)
            of_labelled, a = contiguous(self(labelled)), self.support.n_anomaly
            places = [*spaced(a, MAX_LABELLED), *(a + spaced(self.support.n_normal, MAX_LABELLED))]
            of_labelled[..., places] = scores[..., :K]
            rows = xp.concat([labelled, rows[..., K:, :]], axis=-2)
            scores = xp.concat([of_labelled, scores[..., K:]], axis=-1)
        return OwnScores(rows, scores, self.support.n_anomaly, n_unlabelled)

    def score_range(self, support: LabelledRows) -> tuple[Array, Array]:
        """As for every method, of the rows that others are related to; without anomalies by leave-one-out."""
        if support.n_anomaly == 0:
            return range_of_normal(self.own().of_normal)
        return super().score_range(LabelledRows(*(_thinned(rows, MAX_LABELLED) for rows in support)))

    def prepare(self) -> PreparedScore:
        """What depends on the task alone is folded into the first layer of φ."""
        describe, phi, r = self.describe.with_table(), self.distance.network, self.distance.r
        assert r is not None
        first, xp = phi.weights[0], namespace(self.own_rows)
        pairs, means, roots, features, task = np.split(first[: -r.shape[-1]], np.cumsum(self.method.config.parts)[:-1])
        bias = affine_rows(task, describe.of_task()) + task_part(first, None, r)
        n = means.shape[0]
        assert describe.table is not None
        return PreparedRelative(
            describe,
            table=xp.concat([describe.table[:, :n] @ means, describe.table[:, n:]], axis=1),
            first=xp.concat([pairs, features], axis=0),
            roots=roots,
            bias=bias,
            others=phi.weights[1:-1],
            P=self.distance.P,
            offset=self.distance.offset,
        )


@dataclass(frozen=True, eq=False)
class PreparedRelative(PreparedScore):
    """The score of one task, with φ's first layer folded into what the columns add at each knot.

    table: [M · N_KNOTS, units + C]; first: [pairs and features, units]; roots: [C, units]; bias: [1, units]; others:
    the layers of φ between the first and the last; P, offset: of the projection.
    """

    describe: Describer
    table: Array
    first: Array
    roots: Array
    bias: Array
    others: tuple[Array, ...]
    P: Array
    offset: Array

    def __call__(self, x: Array) -> Array:
        """x: [n, M] -> [n]."""
        units = self.first.shape[-1]
        parts, pooled = self.describe.parts(x, self.table)
        h = affine_rows(self.first, parts, pooled[:, :units])
        h = affine_rows(self.roots, pooled[:, units:], h + self.bias, rectified=True)
        for weight in self.others:
            h = affine_rows(weight, h, rectified=True)
        projected = float64(matmul(h, self.P)) - self.offset
        return namespace(projected).sum(projected * projected, axis=-1)


def _thinned(rows: Array, most: int) -> Array:
    """At most `most` rows, within ±MAX_ABS_VALUE: [..., n, M] -> [..., most, M]."""
    n, rows = rows.shape[-2], clip(rows, -MAX_ABS_VALUE, MAX_ABS_VALUE)
    return rows if n <= most else rows[..., spaced(n, most), :]
