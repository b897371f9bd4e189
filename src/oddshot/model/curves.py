"""What a single column tells of a row: a curve over its values, the same for all rows of a task.

A curve is known at fixed places, the knots, and straight in between. Few rows are looked up by computing the two knots
around each of their values; for many rows all knots are computed once.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from oddshot.model.relations import Relations, squash

N_COLUMN, N_ATTENTION = 7, 3  # numbers of a value in its column, and of a column
KNOTS = 64
REACH, FINEST = 30.0, 0.3  # in spreads: values beyond are taken as REACH; knots are densest within FINEST
END = math.log1p(REACH / FINEST)


class Direction(NamedTuple):
    """Where the anomalies that a row sees lie, column by column: [R, T, M, 1 or N] each.

    offset: from the normal rows' mean to theirs, in spreads of the column, 0 where none is seen. tail: how far out
    among the background's values their mean lies (the normal rows' mean where none is seen); sided: the same with the
    sign of the side on which of the median.
    """

    offset: Tensor
    tail: Tensor
    sided: Tensor


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of tasks, as their background rows show them."""

    task: Relations

    @cached_property
    def moments(self) -> tuple[Tensor, Tensor]:
        """Mean and spread, [R, T, M, 1] each; the spread is drawn towards 1."""
        b = self.task.b
        variance, mean = torch.var_mean(self.task.background, dim=-1, correction=0, keepdim=True)
        return mean, ((b * variance + 2) / (b + 2)).sqrt()

    @cached_property
    def direction(self) -> Direction:
        """For rows that see all anomalies."""
        return self._direction(self.task.mean_anomaly)

    @cached_property
    def own_direction(self) -> Direction:
        """For the labelled rows, each without itself."""
        if self.task.a == 0:
            return self.direction
        n = self.task.K - self.task.a
        parts = self._direction(self.task.own_mean_anomaly), self.direction
        return Direction(
            *(torch.cat([own, shared.expand(-1, -1, -1, n)], dim=-1) for own, shared in zip(*parts, strict=True))
        )

    def _direction(self, anomaly: Tensor) -> Direction:
        excess = self.excess(anomaly)
        tail = self.tail(excess)
        return Direction((anomaly - self.task.center) / self.moments[1], tail, excess.sign() * tail)

    def place(self, x: Tensor) -> Tensor:
        """Where values lie among the knots, from 0 to KNOTS − 1. x: [R, T, M, N]."""
        scale, shift = self._finest
        return (squash(torch.addcmul(shift, x, scale)) * ((KNOTS - 1) / (2 * END)) + (KNOTS - 1) / 2).clamp(
            0, KNOTS - 1
        )

    def describe(self, knots: Tensor, direction: Direction) -> Tensor:
        """The value at each of these knots, seen in its column: [R, T, M, N] -> [R, 7, T, M, N].

        How far from the background's mean, with sign and without; how far the anomalies are, and the product of both;
        how far out among the background's values, and how far out the anomalies are on the same side; the background's
        size.
        """
        mean, spread = self.moments
        along = (knots * (2 / (KNOTS - 1)) - 1) * END
        off = (FINEST * along.abs().expm1()).copysign(along)
        excess, size = self.excess(off * spread + mean), off.abs().log1p()
        far = squash(direction.offset).expand_as(off)
        ranks = [self.tail(excess), excess.sign() * direction.sided, torch.full_like(off, self.task.log_size)]
        return torch.stack([size.copysign(off), size, far, squash(off * direction.offset), *ranks], dim=1)

    def describe_anomaly(self, direction: Direction) -> Tensor:
        """How much every column tells the anomalies: [R, 3, T, M, 1 or N]."""
        size = torch.full_like(direction.tail, self.task.log_size)
        return torch.stack([direction.offset.abs().log1p(), direction.tail, size], dim=1)

    def excess(self, x: Tensor) -> Tensor:
        """How many of the background's values lie below less how many lie above: x [R, T, M, N], from −b to b."""
        sorted_, values = self._sorted, x.contiguous()
        below = torch.searchsorted(sorted_, values)
        return (below + torch.searchsorted(sorted_, values, right=True) - self.task.b).to(x.dtype)

    def tail(self, excess: Tensor) -> Tensor:
        """−log of the share of the background that lies further out than a value of such excess, half a row added."""
        b = self.task.b
        return math.log(2 * b + 2) - (b + 1 - excess.abs()).log()

    @cached_property
    def _finest(self) -> tuple[Tensor, Tensor]:
        """What brings a column to mean 0 and to units of FINEST spreads: factor and summand, [R, T, M, 1] each."""
        mean, spread = self.moments
        scale = 1 / (FINEST * spread)
        return scale, -mean * scale

    @cached_property
    def _sorted(self) -> Tensor:
        """[R, T, M, b]."""
        return self.task.background.sort(-1).values
