"""The score of `relative` blended with distances to normal-looking rows, for supports without anomalies.

If no anomaly is labelled, a row in a sparse region is suspicious by itself, and k-nearest-neighbour
distances are hard to beat. A fault that occurs often among the unlabelled rows is dense, though: so the rows that the
learned score finds most anomalous are not taken as neighbours, and the nearest labelled normal row counts beside them.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from oddshot.methods.blended import BlendedScore
from oddshot.methods.compiled import CompiledDensity, CompiledScore
from oddshot.methods.contract import LabelledRows, Score, ScoredContext
from oddshot.model.blending import standardise_own
from oddshot.model.neighbours import NeighbourDistance, NeighbourScore, column_spread, compress, mean_distance

SUSPECT_SHARE = 0.35  # of the background rows: those with the highest learned scores are not taken as neighbours
N_NEIGHBOURS = 10  # of the background
N_TRUSTED_NORMAL = 5  # labelled normal rows, from which on the nearest one counts as much as the other parts
FEW_UNLABELLED = 5  # so many unlabelled rows give the distance to the background half of its weight


@dataclass(frozen=True)
class DensityScore(BlendedScore):
    """s(x) = z(log √a(x)) + Σ w z(log d(x)): each d is the mean distance to some nearest rows."""

    neighbours: NeighbourScore

    def added(self, x: Tensor) -> Tensor:
        """Σ w z(log d(x)): [R, T, N, M] -> [R, T, N]."""
        return self.neighbours(x)

    def divided_parts(self, unit: float) -> dict[str, Any]:
        """Other weights of the distances."""
        return {"neighbours": self.neighbours.divided(unit)}

    def span(self, support: LabelledRows) -> tuple[Tensor, Tensor]:
        """Of the leave-one-out scores of the normal rows."""
        return self.context.span_of_normal()

    def compiled(self) -> CompiledScore:
        """The learned score compiled, and the reference rows of the only task."""
        return CompiledDensity(self.learned.compiled(), self.statistics[0, 0], self.neighbours.of_only_task())


def with_density(learned: Score) -> Score:
    """The blended score of tasks without labelled anomalies."""
    context = learned.scored_context()
    n_normal = context.scores.shape[-1] - context.n_unlabelled
    compressed = compress(context.rows)
    spread = column_spread(compressed)
    rows = compressed / spread
    labelled = torch.arange(n_normal, device=rows.device).expand(*context.scores.shape[:2], -1)
    # A single unlabelled row changes the score by little, so that decisions do not depend on whether there is one.
    background_weight = context.n_unlabelled / (context.n_unlabelled + FEW_UNLABELLED)
    nearest_weight = 1 - background_weight * (1 - min(1.0, n_normal / N_TRUSTED_NORMAL))
    found = [_find(rows, labelled, 1, nearest_weight)]
    if context.n_unlabelled:
        found.append(_find(rows, _unsuspicious(context), N_NEIGHBOURS, background_weight))
    statistics, learned_part = standardise_own(context.scores.clamp_min(0).sqrt())
    scores = torch.stack([learned_part, *(own for _, own in found)]).sum(0)
    neighbours = NeighbourScore(spread, [one for one, _ in found])
    return DensityScore(learned, statistics, context._replace(scores=scores), neighbours)


def _unsuspicious(context: ScoredContext) -> Tensor:
    """Places of the background rows without those of the highest learned scores, [R, T, B]; labelled rows stay."""
    n_rows = context.scores.shape[-1]
    n_normal, ranked = n_rows - context.n_unlabelled, context.scores.clone()
    ranked[..., :n_normal] = -math.inf
    return ranked.topk(max(math.ceil((1 - SUSPECT_SHARE) * n_rows), n_normal), dim=-1, largest=False).indices


def _find(rows: Tensor, kept: Tensor, k: int, weight: float) -> tuple[NeighbourDistance, Tensor]:
    """The distance to the nearest of some rows, and what it is by leave-one-out for each row.

    rows: [R, T, L, M], kept: [R, T, B], the places of those that are neighbours -> ..., [R, T, L].
    """
    k = min(k, max(kept.shape[-1] - 1, 1))
    reference = rows.gather(2, kept.unsqueeze(-1).expand(-1, -1, -1, rows.shape[-1]))
    is_itself = kept.unsqueeze(2) == torch.arange(rows.shape[2], device=kept.device).view(1, 1, -1, 1)
    distance = mean_distance(rows, reference, k, is_itself)
    statistics, own = standardise_own(distance)
    return NeighbourDistance(reference, k, statistics, weight), weight * own
