"""Scores of `relative` blended with what a task's own rows tell without training on other tasks: a forest on the
labelled rows, or without anomalies distances to rows that look normal."""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from oddshot.methods.contract import OwnScores, PreparedScore, Score, range_of_normal
from oddshot.score.arrays import Array, float64, namespace
from oddshot.score.blend import (
    LogStatistics,
    NeighbourDistance,
    NeighbourScore,
    column_spread,
    compress,
    log_statistics,
    mean_distance,
)
from oddshot.score.forest import Forest, ForestLevels
from oddshot.score.relations import N_NEIGHBOURS
from oddshot.score.rows import LabelledRows

SUSPECT_SHARE = 0.35  # of the background rows: those with the highest learned scores are not taken as neighbours
N_TRUSTED_NORMAL = 5  # labelled normal rows, from which on the nearest one counts as much as the other parts
FEW_UNLABELLED = 5  # so many unlabelled rows give the distance to the background half of its weight
SHARE_SPREAD = 0.3  # about the standard deviation of shares of anomalies over rows, where that of z(log √a) is 1


@dataclass(frozen=True)
class BlendedScore(Score):
    """s(x) = z(log √a(x)) + b(x), where a is the learned score. own_scores: of the task's own rows, [..., L]."""

    learned: Score
    statistics: LogStatistics
    own_scores: OwnScores

    @abstractmethod
    def added(self, x: Array) -> Array:
        """b(x): [..., n, M] -> [..., n]."""

    @abstractmethod
    def divided_parts(self, unit: float) -> dict[str, Any]:
        """The fields that b(x) / unit has other values of."""

    def __call__(self, x: Array) -> Array:
        """x: [..., n, M] -> [..., n] in float64."""
        return self.statistics.standardise(root(self.learned(x))) + self.added(x)

    def project(self, x: Array) -> Array | None:
        """As the learned score."""
        return self.learned.project(x)

    def embed(self, x: Array) -> Array | None:
        """As the learned score."""
        return self.learned.embed(x)

    @property
    def is_standardised(self) -> bool:
        """It is, by the rows of each task."""
        return True

    def rescaled(self, location: float, unit: float) -> Self:
        """(s(x) − location) / unit, for every task."""
        own = self.own_scores._replace(scores=(self.own_scores.scores - location) / unit)
        statistics = self.statistics.rescaled(location, unit)
        return replace(self, statistics=statistics, own_scores=own, **self.divided_parts(unit))

    def own(self) -> OwnScores:
        """All rows by leave-one-out."""
        return self.own_scores


@dataclass(frozen=True)
class PreparedBlend(PreparedScore):
    """s(x) of one task, with its parts prepared. weight: what b(x) is multiplied with."""

    learned: PreparedScore
    statistics: LogStatistics
    added: NeighbourScore | ForestLevels
    weight: float

    def __call__(self, x: Array) -> Array:
        """x: [n, M] -> [n]."""
        added = float64(self.added(x))
        return self.statistics.standardise(root(self.learned(x))) + (added if self.weight == 1 else self.weight * added)


@dataclass(frozen=True)
class ForestScore(BlendedScore):
    """b(x) = w p(x), where p is the mean share of anomalies over the trees of the task.

    Labelled rows have the shares of the trees that they were left out of.
    """

    forest: Forest
    weight: float

    def added(self, x: Array) -> Array:
        """w p(x)."""
        return self.weight * self.forest.mean_share(x)

    def divided_parts(self, unit: float) -> dict[str, Any]:
        """Another weight of the forest."""
        return {"weight": self.weight / unit}

    def prepare(self) -> PreparedScore:
        """The trees of the only task, depth by depth."""
        return PreparedBlend(self.learned.prepare(), self.statistics, self.forest.levels(), self.weight)


def forest_score(learned: Score, weight: float) -> Score:
    """The blended score of tasks with labelled anomalies. weight: of the forest for each of them."""
    own = learned.own()
    if weight == 0 or own is None:
        return learned
    n_labelled = own.rows.shape[-2] - own.n_unlabelled
    forest, distance = Forest.grow(own.rows, own.n_anomaly, n_labelled), root(own.scores)
    statistics, weight = log_statistics(distance), weight * own.n_anomaly
    scores = statistics.standardise(distance) + weight * forest.own_shares(own.rows, own.n_anomaly)
    blended = ForestScore(learned, statistics, own._replace(scores=scores), forest, weight)
    return blended.rescaled(0.0, math.hypot(1.0, SHARE_SPREAD * weight))


@dataclass(frozen=True)
class DensityScore(BlendedScore):
    """b(x) = Σ w z(log d(x)) over the distances d to the nearest normal row and to rows that look normal."""

    neighbours: NeighbourScore

    def added(self, x: Array) -> Array:
        """Σ w z(log d(x))."""
        return self.neighbours(x)

    def divided_parts(self, unit: float) -> dict[str, Any]:
        """Other weights of the distances."""
        return {"neighbours": self.neighbours.divided(unit)}

    def score_range(self, support: LabelledRows) -> tuple[Array, Array]:
        """Of the leave-one-out scores of the normal rows."""
        return range_of_normal(self.own_scores.of_normal)

    def prepare(self) -> PreparedScore:
        """The same distances."""
        return PreparedBlend(self.learned.prepare(), self.statistics, self.neighbours, 1.0)


def density_score(learned: Score) -> Score:
    """The blended score of tasks without labelled anomalies.

    Unlabelled rows that the learned score finds most anomalous are not taken as neighbours, and the nearest labelled
    row counts the more, the more of them there are.
    """
    own = learned.own()
    assert own is not None
    n_normal = own.scores.shape[-1] - own.n_unlabelled
    compressed = compress(own.rows)
    spread = column_spread(compressed)
    rows = compressed / spread
    # A single unlabelled row changes the score by little, so that decisions do not depend on whether there is one.
    background_weight = own.n_unlabelled / (own.n_unlabelled + FEW_UNLABELLED)
    nearest_weight = 1 - background_weight * (1 - min(1.0, n_normal / N_TRUSTED_NORMAL))
    labelled = np.broadcast_to(np.arange(n_normal), (*own.scores.shape[:-1], n_normal))
    found = [_find(rows, labelled, 1, nearest_weight)]
    if own.n_unlabelled:
        found.append(_find(rows, _unsuspicious(own), N_NEIGHBOURS, background_weight))
    statistics = log_statistics(root(own.scores))
    scores = sum((part for _, part in found), start=statistics.standardise(root(own.scores)))
    neighbours = NeighbourScore(spread, tuple(distance for distance, _ in found))
    return DensityScore(learned, statistics, own._replace(scores=scores), neighbours)


def root(scores: Array) -> Array:
    """√a, for scores that are squared distances but for rounding: [...]. What is no number stays so."""
    xp = namespace(scores)
    return xp.sqrt(xp.where(scores < 0, xp.zeros_like(scores), scores))


def _unsuspicious(own: OwnScores) -> Array:
    """Places of the background rows without those of the highest learned scores, [..., B]; labelled rows stay."""
    n_rows = own.scores.shape[-1]
    n_normal, ranked = n_rows - own.n_unlabelled, own.scores.copy()
    ranked[..., :n_normal] = -math.inf
    n_kept = max(math.ceil((1 - SUSPECT_SHARE) * n_rows), n_normal)
    return ranked.argsort(axis=-1, kind="stable")[..., :n_kept]


def _find(rows: Array, kept: Array, k: int, weight: float) -> tuple[NeighbourDistance, Array]:
    """The distance to the nearest of some rows, and w z(log d) by leave-one-out for each row.

    rows: [..., L, M], kept: [..., B], the places of those that are neighbours -> ..., [..., L].
    """
    k = min(k, max(kept.shape[-1] - 1, 1))
    reference = np.take_along_axis(rows, kept[..., None], axis=-2)
    is_itself = kept[..., None, :] == np.arange(rows.shape[-2])[:, None]
    distance = mean_distance(rows, reference, k, is_itself)
    statistics = log_statistics(distance)
    return NeighbourDistance(reference, k, statistics, weight), weight * statistics.standardise(distance)
