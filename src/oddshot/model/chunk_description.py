"""Descriptions of many rows of one task, a chunk at a time, in memory that every chunk uses again.

They have the numbers of `Describer` without those that are the same for all rows of the task and those that are linear
in looked-up ones. New memory for every step would cost more than most steps do. The rows of the chunk are last,
[..., n], but for distances to a background of many rows, [n, B].
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from oddshot.model.background import (
    MAX_ABS_VALUE,
    MIN_SQUARE,
    N_NEIGHBOURS,
    ROUNDING_SHARE,
    fill_soft_minima,
    nearest_first,
)
from oddshot.model.description import MIN_POWER_MEAN, N_PAIR_ROW_FEATURES, Describer
from oddshot.model.relations import MIN_RATIO_DISTANCE, N_ROW_FEATURES, TaskContext, signed_log1p

ALONG_ANOMALIES = 6  # the only row feature that may be below 0


class ChunkMemory(NamedTuple):
    """For a chunk of n rows. The first two, [2, M, n]: rows from the origin and from the centre, and their squares.

    squares, lengths: [2, n]. products: [2, P + 1, n], with the labelled rows from the origin and with P context rows
    from the centre, at last with the direction of the anomalies. squared: [P, n], distances. pairs: [K, 8, n], units:
    [K, U, n], of each labelled row. background: [n, B], distances to a background of many rows; else [n, 0].
    description: [D, n].
    """

    rows: Tensor
    scratch: Tensor
    squares: Tensor
    lengths: Tensor
    products: Tensor
    squared: Tensor
    pairs: Tensor
    units: Tensor
    background: Tensor
    description: Tensor


class ChunkConstants(NamedTuple):
    """What depends on the task alone. factors: [2, P + 1, M], what rows are multiplied with, of which those from the
    centre have the squared lengths [P, 1].

    pair_weights: [K, U, 8], the pair network's first layer with the part of each labelled row. background: [M, B] and
    their squared lengths, [B]. feature_mean, feature_spread: [11, 1], of the background's own features.
    """

    center: Tensor
    n_columns: float
    bandwidth: float
    factors: Tensor
    squared_lengths: Tensor
    support_lengths: Tensor
    pair_weights: Tensor
    background: Tensor
    background_lengths: Tensor
    feature_mean: Tensor
    feature_spread: Tensor


@dataclass(frozen=True, eq=False)
class ChunkDescriber:
    """Describes chunks of rows of the only task of `describe`, which has two columns or more."""

    describe: Describer

    def make_memory(self, n: int) -> ChunkMemory:
        """Memory for n rows."""
        (_, P, M), K, U = self.constants.factors.shape, self.context.n_labelled, self.n_units
        shapes = [(2, M, n), (2, M, n), (2, n), (2, n), (2, P, n), (P - 1, n), (K, N_PAIR_ROW_FEATURES + 1, n)]
        shapes += [(K, U, n), (n, self.constants.background.shape[1]), (self.n_numbers, n)]
        return ChunkMemory(*(self.context.rows.new_ones(shape) for shape in shapes))

    @cached_property
    def numbers_per_row(self) -> int:
        """How many numbers the memory has for one row."""
        return sum(part.numel() for part in self.make_memory(1))

    def __call__(self, x: Tensor, powers: Tensor, memory: ChunkMemory) -> Tensor:
        """x: [n, M], powers: [n, C], means of fourth powers over the columns -> [D, n].

        Sum over the normal rows, over the anomalies, and maximum over the normal rows of the pair units; features of
        the row, on a log scale and standardised; fourth roots.
        """
        n_anomaly, U, F = self.context.n_anomaly, self.n_units, N_ROW_FEATURES
        normal_sum, anomaly_sum, largest, features, standardised, roots = memory.description.split(
            [U, U, U, F, F, self.n_powers]
        )
        self._relate(x, memory)
        self._fill_units(memory)
        anomaly, normal = memory.units[:n_anomaly], memory.units[n_anomaly:]
        torch.sum(normal, 0, out=normal_sum)
        torch.sum(anomaly, 0, out=anomaly_sum)
        largest.copy_(normal[0])
        for one in normal[1:]:  # much faster than amax
            torch.maximum(largest, one, out=largest)
        self._fill_features(memory, features)
        self._standardise(features, standardised)
        torch.add(powers.T, MIN_POWER_MEAN, out=roots).sqrt_().sqrt_()
        return memory.description

    @property
    def context(self) -> TaskContext:
        """The rows of the task."""
        return self.describe.context

    @property
    def n_units(self) -> int:
        """Of the pair network."""
        return int(self.describe.pair.last_weight.shape[-1])

    @property
    def n_powers(self) -> int:
        """Units of the column network."""
        return int(self.describe.column.last_weight.shape[-1])

    @property
    def n_numbers(self) -> int:
        """Numbers that describe a row here."""
        return 3 * self.n_units + 2 * N_ROW_FEATURES + self.n_powers

    @property
    def has_long_background(self) -> bool:
        """Whether unlabelled rows are related to apart from the labelled ones."""
        return self.context.n_background > N_NEIGHBOURS

    @cached_property
    def constants(self) -> ChunkConstants:
        """What depends on the task alone."""
        context, describe = self.context, self.describe
        support, others = (part[0, 0] for part in context.scaled_rows)
        lengths = context.squared_lengths[0, 0]
        n_single = context.n_labelled if self.has_long_background else len(others)
        from_center = torch.cat([others[:n_single], context.anomaly_direction[0, 0].T])
        from_origin = torch.cat([support, support.new_zeros(len(from_center) - len(support), support.shape[1])])
        of_labelled = describe.labelled_part[0, :, 0, :, 0].T.unsqueeze(2)
        of_row = describe.pair.weights[0][0, :N_PAIR_ROW_FEATURES].T.expand(len(of_labelled), -1, -1)
        background = slice(context.n_anomaly, None if self.has_long_background else context.n_anomaly)
        has_spread = context.n_background > 1
        mean, spread = context.background_features if has_spread else (lengths, lengths)
        return ChunkConstants(
            context.center[0, 0],
            float(context.n_columns),
            float(context.bandwidth),
            torch.stack([from_origin, from_center]),
            lengths[:n_single],
            context.support_lengths[0, :, 0],
            torch.cat([of_row, of_labelled], dim=2).contiguous(),
            others[background].T.contiguous(),
            lengths[background, 0],
            mean[0, 0] if has_spread else mean,
            spread[0, 0] if has_spread else spread,
        )

    def _relate(self, x: Tensor, memory: ChunkMemory) -> None:
        """Lengths, products and squared distances; see `RowView`."""
        task = self.constants
        torch.clamp(x.T, -MAX_ABS_VALUE, MAX_ABS_VALUE, out=memory.rows[0])
        torch.sub(memory.rows[0], task.center, out=memory.rows[1])
        torch.mul(memory.rows, memory.rows, out=memory.scratch)
        torch.sum(memory.scratch, 1, out=memory.squares).div_(task.n_columns).add_(MIN_SQUARE)
        torch.sqrt(memory.squares, out=memory.lengths)
        torch.bmm(task.factors, memory.rows, out=memory.products)
        squares = memory.squares[1] + task.squared_lengths
        torch.add(squares, memory.products[1, :-1], alpha=-2, out=memory.squared).sub_(MIN_SQUARE)
        memory.squared.masked_fill_(memory.squared < squares.mul_(ROUNDING_SHARE), MIN_SQUARE)

    def _fill_units(self, memory: ChunkMemory) -> None:
        """The units of the pair network for every labelled row; see `RowView.pair_features`."""
        pairs, K = memory.pairs.transpose(0, 1), self.context.n_labelled
        products = memory.products[:, :K]
        torch.mul(memory.lengths.unsqueeze(1), self.constants.support_lengths, out=pairs[:2])
        torch.div(products, pairs[:2], out=pairs[:2])
        torch.sqrt(memory.squared[:K], out=pairs[2])
        pairs[3:5] = products
        pairs[2:5] = signed_log1p(pairs[2:5])
        pairs[5:7] = memory.lengths.log1p().unsqueeze(1)
        torch.bmm(self.constants.pair_weights, memory.pairs, out=memory.units).clamp_min_(0)

    def _fill_features(self, memory: ChunkMemory, out: Tensor) -> None:
        """The features of the rows on a log scale; see `RowView.row_features`. out: [11, n]."""
        n_anomaly, K = self.context.n_anomaly, self.context.n_labelled
        distance = memory.squared.sqrt_()
        torch.amin(distance[n_anomaly:K], 0, out=out[0]).clamp_max_(MAX_ABS_VALUE)
        torch.mean(distance[n_anomaly:K], 0, out=out[1])
        out[2:4] = 0
        if n_anomaly > 0:
            torch.amin(distance[:n_anomaly], 0, out=out[2])
            torch.div(out[0], out[2] + MIN_RATIO_DISTANCE, out=out[3])
        out[4:6] = memory.lengths
        along = memory.products[1, -1]
        torch.abs(along, out=out[ALONG_ANOMALIES])
        if self.has_long_background:
            self._fill_long_background(memory, out[7:])
        else:
            background = distance[n_anomaly:]
            self._fill_background(background, background, 0, out[7:])
        out.log1p_()
        out[ALONG_ANOMALIES].copysign_(along)

    def _fill_long_background(self, memory: ChunkMemory, out: Tensor) -> None:
        """Distances to the background in bandwidths: to the nearest row, two soft minima, mean to the nearest ones."""
        task, squared = self.constants, memory.background
        own = memory.squares[1].unsqueeze(1)
        torch.addmm(task.background_lengths - MIN_SQUARE, memory.rows[1].T, task.background, alpha=-2, out=squared)
        distance = nearest_first(squared.add_(own), own, task.background_lengths)
        self._fill_background(distance, distance[:, :N_NEIGHBOURS], 1, out)

    def _fill_background(self, distance: Tensor, nearest: Tensor, dim: int, out: Tensor) -> None:
        """Of the distances, over the background in this dimension, and of the nearest among them."""
        bandwidth = self.constants.bandwidth
        torch.mean(nearest, dim, out=out[3]).div_(bandwidth)
        torch.amin(nearest, dim, out=out[0]).clamp_max_(MAX_ABS_VALUE).div_(bandwidth)
        fill_soft_minima(distance, dim, bandwidth, self.context.n_background, out[:3])

    def _standardise(self, features: Tensor, out: Tensor) -> None:
        """Features standardised by those of the background, 0 where that is a single row."""
        if self.context.n_background == 1:
            out.zero_()
            return
        torch.sub(features, self.constants.feature_mean, out=out).div_(self.constants.feature_spread)
        out.copy_(signed_log1p(out))
