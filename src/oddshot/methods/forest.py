"""The score of `relative` blended with a forest on the task's own labelled rows, for supports with anomalies.

What the columns of one task tell can be learned from that task alone once there are labels enough: so the forest's part
grows with the number of labelled anomalies.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.compiled import CompiledForest, CompiledScore
from oddshot.methods.contract import Score, ScoredContext
from oddshot.model.blending import log_statistics, standardised_log
from oddshot.model.forest import Forest, compile_forest, grow_forest


@dataclass(frozen=True)
class ForestScore(Score):
    """s(x) = z(log √a(x)) + w p(x): a is a learned score, p the share of anomalies that the forest gives.

    z standardises by the leave-one-out values of the rows that the task was adapted with. statistics: [R, T, 2], their
    mean and standard deviation. context: those rows and their scores.
    """

    learned: Score
    forest: Forest
    statistics: Tensor
    weight: float
    context: ScoredContext

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M] -> [R, T, N] in float64."""
        share = self.forest(x.flatten(0, 1)).view(x.shape[:3])
        return standardised_log(self.learned(x).clamp_min(0).sqrt(), self.statistics) + self.weight * share

    def project(self, x: Tensor) -> Tensor:
        """The learned score's."""
        return self.learned.project(x)

    @property
    def representation(self) -> Tensor:
        """The learned score's."""
        return self.learned.representation

    @property
    def is_standardised(self) -> bool:
        """It is, by the rows of each task."""
        return True

    def scored_context(self) -> ScoredContext:
        """All rows by leave-one-out; labelled ones by the trees that they were left out of."""
        return self.context

    def compiled(self) -> CompiledScore:
        """The learned score and the trees of the only task compiled."""
        levels = compile_forest(self.forest)
        return CompiledForest(self.learned.compiled(), levels, self.statistics[0, 0], self.weight)


def with_forest(learned: Score, weight: float) -> Score:
    """The blended score of tasks with labelled anomalies. weight: of the forest for each of them."""
    if weight == 0:
        return learned
    context = learned.scored_context()
    n_normal = context.rows.shape[2] - context.n_anomaly - context.n_unlabelled
    anomaly, normal, others = context.rows.flatten(0, 1).split(
        [context.n_anomaly, n_normal, context.n_unlabelled], dim=1
    )
    forest = grow_forest(anomaly, normal)
    distance = context.scores.clamp_min(0).sqrt()
    statistics = log_statistics(distance)
    shares = torch.cat([forest.out_of_fold(anomaly, normal), forest(others)], dim=1)
    weight *= context.n_anomaly
    scores = standardised_log(distance, statistics) + weight * shares.view(distance.shape)
    return ForestScore(learned, forest, statistics, weight, context._replace(scores=scores))
