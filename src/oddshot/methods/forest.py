"""The score of `relative` blended with a forest on the task's own labelled rows, for supports with anomalies.

What the columns of one task tell can be learned from that task alone once there are labels enough: so the forest's part
grows with the number of labelled anomalies.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from oddshot.methods.blended import BlendedScore
from oddshot.methods.compiled import CompiledForest, CompiledScore
from oddshot.methods.contract import Score
from oddshot.methods.tree_growth import grow_forest
from oddshot.model.blending import standardise_own
from oddshot.model.compiled_forest import compile_forest
from oddshot.model.forest import Forest

SHARE_SPREAD = 0.3  # about the standard deviation of shares of anomalies over rows, where that of z(log √a) is 1


@dataclass(frozen=True)
class ForestScore(BlendedScore):
    """s(x) = z(log √a(x)) + w p(x): p is the share of anomalies that the forest gives.

    Labelled rows of the context have the shares of the trees that they were left out of.
    """

    forest: Forest
    weight: float

    def added(self, x: Tensor) -> Tensor:
        """w p(x): [R, T, N, M] -> [R, T, N]."""
        return self.weight * self.forest(x.flatten(0, 1)).view(x.shape[:3])

    def divided_parts(self, unit: float) -> dict[str, Any]:
        """Another weight of the forest."""
        return {"weight": self.weight / unit}

    def compiled(self) -> CompiledScore:
        """The learned score and the trees of the only task compiled."""
        levels = compile_forest(self.forest)
        return CompiledForest(self.learned.compiled(), self.statistics[0, 0], levels, self.weight)


def with_forest(learned: Score, weight: float) -> Score:
    """The blended score of tasks with labelled anomalies. weight: of the forest for each of them."""
    if weight == 0:
        return learned
    context = learned.scored_context()
    rows, n_anomaly = context.rows.flatten(0, 1), context.n_anomaly
    n_labelled = rows.shape[1] - context.n_unlabelled
    anomaly, normal = rows[:, :n_anomaly], rows[:, n_anomaly:n_labelled]
    forest = grow_forest(anomaly, normal, rows[:, n_labelled:])
    statistics, learned_part = standardise_own(context.scores.clamp_min(0).sqrt())
    shares = forest.out_of_fold(anomaly, normal)
    if context.n_unlabelled > 0:
        shares = torch.cat([shares, forest(rows[:, n_labelled:])], dim=1)
    weight *= n_anomaly
    scores = learned_part + weight * shares.view_as(learned_part)
    blended = ForestScore(learned, statistics, context._replace(scores=scores), forest, weight)
    return blended.rescaled(0.0, math.hypot(1.0, SHARE_SPREAD * weight))
