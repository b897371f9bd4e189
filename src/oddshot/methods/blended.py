"""Scores of `relative` blended with what a task's own rows tell without training on other tasks."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from oddshot.methods.contract import Score, ScoredContext
from oddshot.model.blending import standardised_log


@dataclass(frozen=True)
class BlendedScore(Score):
    """s(x) = z(log √a(x)) + b(x): a is a learned score, b what is added to it.

    z standardises by leave-one-out values of the rows that the task was adapted with. statistics: [R, T, 2], mean and
    standard deviation of their log √a. context: those rows and their scores.
    """

    learned: Score
    statistics: Tensor
    context: ScoredContext

    @abstractmethod
    def added(self, x: Tensor) -> Tensor:
        """b(x): [R, T, N, M] -> [R, T, N]."""

    @abstractmethod
    def divided_parts(self, unit: float) -> dict[str, Any]:
        """The fields that b(x) / unit has other values of."""

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M] -> [R, T, N] in float64."""
        return standardised_log(self.learned(x).clamp_min(0).sqrt(), self.statistics) + self.added(x)

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

    def rescaled(self, location: float, unit: float) -> Self:
        """(s(x) − location) / unit, for every task."""
        mean, spread = self.statistics.unbind(-1)
        statistics = torch.stack([mean + location * spread, unit * spread], dim=-1)
        context = self.context._replace(scores=(self.context.scores - location) / unit)
        return replace(self, statistics=statistics, context=context, **self.divided_parts(unit))

    def scored_context(self) -> ScoredContext:
        """All rows by leave-one-out."""
        return self.context
