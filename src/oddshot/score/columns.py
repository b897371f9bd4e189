"""What a single column tells of a row: a curve over its values, the same for all rows of a task.

A curve is known at fixed positions, the knots, and linear in between.
"""

import math
from typing import NamedTuple

from oddshot.score.arrays import Array, clip, namespace, signed_rank_count, with_sign_of
from oddshot.score.context import Context
from oddshot.score.relations import signed_log1p

N_VALUE_FEATURES, N_COLUMN_FEATURES = 7, 3  # of a value in its column, and of a column
N_KNOTS = 64
MAX_DEVIATION, KNOT_SCALE = 30.0, 0.3  # in standard deviations: the last knot, and within which knots are densest
MAX_POSITION = math.log1p(MAX_DEVIATION / KNOT_SCALE)


class AnomalyOffset(NamedTuple):
    """Where labelled anomalies lie in each column: [..., M, k] each.

    deviation: from the normal rows' mean to theirs, in standard deviations of the column, 0 without anomalies.
    log_tail: minus the log tail probability of their mean among the background's values (of the normal rows' mean
    without anomalies); signed_log_tail: the same with the sign of the side of the median.
    """

    deviation: Array
    log_tail: Array
    signed_log_tail: Array

    def at(self, places: Array | slice) -> "AnomalyOffset":
        """Some of them."""
        if isinstance(places, slice):
            return AnomalyOffset(*(part[..., places] for part in self))
        return AnomalyOffset(*(namespace(part).take(part, places, axis=-1) for part in self))


class ColumnStatistics(NamedTuple):
    """The columns of tasks, as their background rows show them.

    mean, spread: [..., M, 1]; the latter is shrunk towards 1, as if by two more rows. ordered: the background's values
    in ascending order, [..., M, B]. offsets: for each anomaly, of the mean of the others, and last of the mean of all:
    [..., M, A + 1].
    """

    mean: Array
    spread: Array
    ordered: Array
    offsets: AnomalyOffset

    @property
    def log_size(self) -> float:
        """The number of background rows as a feature."""
        return math.log(self.ordered.shape[-1]) / 5


def column_statistics(context: Context) -> ColumnStatistics:
    """Of the tasks."""
    xp, background = namespace(context.x), context.x[..., context.n_anomaly :]
    n, mean = context.n_background, xp.mean(background, axis=-1, keepdims=True)
    variance = xp.mean((background - mean) ** 2, axis=-1, keepdims=True)
    spread, ordered = xp.sqrt((n * variance + 2) / (n + 2)), xp.sort(background, axis=-1)
    anomaly = xp.concat([context.other_mean_anomaly(), context.mean_anomaly], axis=-1)
    excess = signed_rank_count(ordered, anomaly)
    tail = log_tail(excess, n)
    offsets = AnomalyOffset((anomaly - context.center) / spread, tail, xp.sign(excess) * tail)
    return ColumnStatistics(mean, spread, ordered, offsets)


def log_tail(excess: Array, n: int) -> Array:
    """Minus the log of the share of n rows beyond a value of such excess, with half a row added."""
    xp = namespace(excess)
    return math.log(2 * n + 2) - xp.log(n + 1 - xp.abs(excess))


def knot_position(statistics: ColumnStatistics, x: Array) -> Array:
    """Where values lie among the knots, from 0 to N_KNOTS − 1: [..., M, n]."""
    along = signed_log1p((x - statistics.mean) / (KNOT_SCALE * statistics.spread))
    return clip(along * ((N_KNOTS - 1) / (2 * MAX_POSITION)) + (N_KNOTS - 1) / 2, 0, N_KNOTS - 1)


def value_features(statistics: ColumnStatistics, knots: Array, anomaly: AnomalyOffset) -> Array:
    """The value at each of these knots, seen in its column: [..., M, k] -> [..., 7, M, k].

    Deviation from the background's mean, with sign and without; deviation of the anomalies, and the product of both;
    minus the log tail probability among the background's values, that of the anomalies with the sign of being on the
    same side; the number of background rows. anomaly: [..., M, 1 or k].
    """
    xp = namespace(knots)
    along = (knots * (2 / (N_KNOTS - 1)) - 1) * MAX_POSITION
    size = KNOT_SCALE * xp.expm1(xp.abs(along))
    deviation, log_size = with_sign_of(size, along), xp.full_like(along, statistics.log_size)
    excess = signed_rank_count(statistics.ordered, deviation * statistics.spread + statistics.mean)
    log_deviation = xp.log1p(size)
    of_anomaly = xp.broadcast_to(signed_log1p(anomaly.deviation), along.shape)
    product = signed_log1p(deviation * anomaly.deviation)
    tails = [log_tail(excess, statistics.ordered.shape[-1]), xp.sign(excess) * anomaly.signed_log_tail]
    deviations = [with_sign_of(log_deviation, along), log_deviation]
    return xp.stack([*deviations, of_anomaly, product, *tails, log_size], axis=-3)


def column_features(statistics: ColumnStatistics, anomaly: AnomalyOffset) -> Array:
    """How well each column tells the anomalies: [..., 3, M, k]."""
    xp = namespace(anomaly.deviation)
    log_size = xp.full_like(anomaly.log_tail, statistics.log_size)
    return xp.stack([xp.log1p(xp.abs(anomaly.deviation)), anomaly.log_tail, log_size], axis=-3)
