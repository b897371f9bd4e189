"""What a single column tells of a row: a curve over its values, the same for all rows of a task.

A curve is known at fixed positions, the knots, and linear in between. For few rows only the two knots around each of
their values are computed; for many rows all knots are computed once and looked up.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from oddshot.model.relations import TaskContext, signed_log1p

N_VALUE_FEATURES, N_COLUMN_FEATURES = 7, 3  # of a value in its column, and of a column
N_KNOTS = 64
MAX_DEVIATION, KNOT_SCALE = 30.0, 0.3  # in standard deviations: the last knot, and within which knots are densest
MAX_POSITION = math.log1p(MAX_DEVIATION / KNOT_SCALE)


class AnomalyOffset(NamedTuple):
    """Where the labelled anomalies lie in each column: [R, T, M, 1 or N] each.

    deviation: from the normal rows' mean to theirs, in standard deviations of the column, 0 without anomalies.
    log_tail: minus the log tail probability of their mean among the background's values (of the normal rows' mean
    without anomalies); signed_log_tail: the same with the sign of the side of the median.
    """

    deviation: Tensor
    log_tail: Tensor
    signed_log_tail: Tensor


@dataclass(frozen=True, eq=False)
class ColumnCurves:
    """The columns of tasks, as their background rows show them."""

    context: TaskContext

    @cached_property
    def moments(self) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation, [R, T, M, 1] each; the latter is shrunk towards 1, as if by two more rows."""
        n = self.context.n_background
        variance, mean = torch.var_mean(self.context.background, dim=-1, correction=0, keepdim=True)
        return mean, ((n * variance + 2) / (n + 2)).sqrt()

    @cached_property
    def anomaly_offset(self) -> AnomalyOffset:
        """Of the mean of all anomalies."""
        return AnomalyOffset(*(part[..., -1:] for part in self.offsets))

    @cached_property
    def offsets(self) -> AnomalyOffset:
        """For each anomaly, of the mean of the others, and last of the mean of all: [R, T, M, N_A + 1]."""
        return self._offset_of(torch.cat([self.context.other_mean_anomaly, self.context.mean_anomaly], dim=-1))

    def offset_of_others(self, rows: Tensor) -> AnomalyOffset:
        """For each of these context rows, of the mean of the anomalies other than itself. rows: [n], their places."""
        places = rows.clamp_max(self.context.n_anomaly)
        return AnomalyOffset(*(part.index_select(-1, places) for part in self.offsets))

    def _offset_of(self, anomaly: Tensor) -> AnomalyOffset:
        excess = self.rank_excess(anomaly)
        log_tail = self.log_tail(excess)
        deviation = (anomaly - self.context.center) / self.moments[1]
        return AnomalyOffset(deviation, log_tail, excess.sign() * log_tail)

    def knot_position(self, x: Tensor) -> Tensor:
        """Where values lie among the knots, from 0 to N_KNOTS − 1. x: [R, T, M, N]."""
        scale, shift = self.knot_scaling
        along = signed_log1p(torch.addcmul(shift, x, scale))
        return (along * ((N_KNOTS - 1) / (2 * MAX_POSITION)) + (N_KNOTS - 1) / 2).clamp(0, N_KNOTS - 1)

    def value_features(self, knots: Tensor, anomaly: AnomalyOffset) -> Tensor:
        """The value at each of these knots, seen in its column: [R, T, M, N] -> [R, 7, T, M, N].

        Deviation from the background's mean, with sign and without; deviation of the anomalies, and the product of
        both; minus the log tail probability among the background's values, that of the anomalies with the sign of being
        on the same side; the number of background rows.
        """
        mean, spread = self.moments
        along = (knots * (2 / (N_KNOTS - 1)) - 1) * MAX_POSITION
        size = KNOT_SCALE * along.abs().expm1()
        deviation = size.copysign(along)
        excess, log_deviation = self.rank_excess(deviation * spread + mean), size.log1p()
        of_anomaly = signed_log1p(anomaly.deviation).expand_as(deviation)
        product = signed_log1p(deviation * anomaly.deviation)
        tails = [self.log_tail(excess), excess.sign() * anomaly.signed_log_tail]
        log_size = torch.full_like(deviation, self.context.log_size)
        deviations = [log_deviation.copysign(along), log_deviation]
        return torch.stack([*deviations, of_anomaly, product, *tails, log_size], dim=1)

    def column_features(self, anomaly: AnomalyOffset) -> Tensor:
        """How well each column tells the anomalies: [R, 3, T, M, 1 or N]."""
        log_size = torch.full_like(anomaly.log_tail, self.context.log_size)
        return torch.stack([anomaly.deviation.abs().log1p(), anomaly.log_tail, log_size], dim=1)

    def rank_excess(self, x: Tensor) -> Tensor:
        """How many of the background's values lie below minus how many lie above: x [R, T, M, N], from −B to B."""
        sorted_, values = self._sorted, x.contiguous()
        below = torch.searchsorted(sorted_, values)
        return (below + torch.searchsorted(sorted_, values, right=True) - self.context.n_background).to(x.dtype)

    def log_tail(self, excess: Tensor) -> Tensor:
        """Minus the log of the share of the background beyond a value of such excess, with half a row added."""
        n = self.context.n_background
        return math.log(2 * n + 2) - (n + 1 - excess.abs()).log()

    @cached_property
    def knot_scaling(self) -> tuple[Tensor, Tensor]:
        """Factor and summand that bring a column to mean 0 and units of KNOT_SCALE deviations: [R, T, M, 1] each."""
        mean, spread = self.moments
        scale = (KNOT_SCALE * spread).reciprocal()
        return scale, -mean * scale

    @cached_property
    def _sorted(self) -> Tensor:
        """The background's values in ascending order: [R, T, M, B]."""
        return self.context.background.sort(-1).values
