"""The score of `relative` blended with the distance to normal-looking rows, for supports without anomalies.

Where no anomaly tells what to look for, a row in a sparse region is suspicious by itself, and k-nearest-neighbour
distances are hard to beat. A fault that occurs often among the unlabelled rows is dense, though: so the rows that the
learned score finds most anomalous are not taken as neighbours.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.compiled import CompiledDensity, CompiledScore
from oddshot.methods.contract import LabelledRows, Score, ScoredContext
from oddshot.model.neighbours import blend_logs, log_distance, neighbour_distance

MIN_BACKGROUND = 3  # rows, from which the spread of both scores is taken
SUSPECT_SHARE = 0.35  # of the background rows: those with the highest learned scores are not taken as neighbours
MIN_LOG_SPREAD = 0.05  # of both logarithms, where all rows are nearly alike
N_NEIGHBOURS = 10  # of the background; without unlabelled rows the nearest normal one


@dataclass(frozen=True)
class DensityScore(Score):
    """s(x) = z(log √a(x)) + z(log d(x)): a is a learned score, d the mean distance to the k nearest reference rows.

    z standardises by the leave-one-out values of the background rows. reference: [R, T, B, M]. statistics: [R, T, 4],
    mean and standard deviation of both logarithms. context: the rows that the task was adapted with, and their scores.
    """

    learned: Score
    reference: Tensor
    k: int
    statistics: Tensor
    context: ScoredContext

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M] -> [R, T, N] in float64."""
        return blend_logs(self.learned(x), neighbour_distance(x, self.reference, self.k), self.statistics)

    @property
    def representation(self) -> Tensor:
        """The learned score's."""
        return self.learned.representation

    @property
    def is_standardised(self) -> bool:
        """It is, by the rows of each task."""
        return True

    def scored_context(self) -> ScoredContext:
        """All rows by leave-one-out."""
        return self.context

    def span(self, support: LabelledRows) -> tuple[Tensor, Tensor]:
        """The mean leave-one-out score of the normal rows, and four standard deviations above it."""
        normal = self.context.scores[..., : self.context.scores.shape[-1] - self.context.n_unlabelled]
        return normal.mean(-1), normal.mean(-1) + 4 * normal.std(-1, correction=0)

    def compiled(self) -> CompiledScore:
        """The learned score compiled, and the reference rows of the only task."""
        return CompiledDensity(self.learned.compiled(), self.reference[0, 0], self.k, self.statistics[0, 0])


def with_density(learned: Score) -> Score:
    """The blended score of tasks without labelled anomalies; the learned one itself where background rows are few."""
    context = learned.scored_context()
    rows, scores, n_rows = context.rows, context.scores, context.scores.shape[-1]
    if context.n_anomaly > 0 or n_rows < MIN_BACKGROUND:
        return learned
    n_normal, k = n_rows - context.n_unlabelled, N_NEIGHBOURS if context.n_unlabelled else 1
    ranked = scores.clone()
    ranked[..., :n_normal] = -math.inf  # labelled normal rows are always neighbours
    n_kept = max(math.ceil((1 - SUSPECT_SHARE) * n_rows), n_normal) if context.n_unlabelled else n_rows
    kept = ranked.topk(n_kept, dim=-1, largest=False).indices
    reference = rows.gather(2, kept.unsqueeze(-1).expand(-1, -1, -1, rows.shape[-1]))
    is_itself = kept.unsqueeze(2) == torch.arange(n_rows, device=kept.device).view(1, 1, -1, 1)
    k = min(k, n_kept - 1)
    distance = neighbour_distance(rows, reference, k, is_itself)
    logs = [log_distance(scores.clamp_min(0).sqrt()), log_distance(distance)]
    parts = [part for log in logs for part in (log.mean(-1), log.std(-1, correction=0).clamp_min(MIN_LOG_SPREAD))]
    statistics = torch.stack(parts, dim=-1)
    scored = context._replace(scores=blend_logs(scores, distance, statistics))
    return DensityScore(learned, reference, k, statistics, scored)
