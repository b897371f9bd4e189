"""Descriptions of many rows of one task, a chunk at a time, in memory that every chunk uses again.

They have the numbers of `Describer` without those that are the same for all rows of the task and those that are looked
up. New memory for every step would cost more than most steps do. The rows of the chunk are last,
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
from oddshot.model.description import N_PAIR_ROW_FEATURES, Describer
from oddshot.model.relations import MIN_RATIO_DISTANCE, N_ROW_FEATURES, TaskContext

ALONG_ANOMALIES = 6  # the only row feature that may be below 0


class ChunkMemory(NamedTuple):
    """For a chunk of n rows. The first two, [2, M, n]: rows from the origin and from the centre, and their squares.

    squares, lengths: [2, n]. products: [2, P + 1, n], with the labelled rows from the origin and with P context rows
    from the centre, at last with the direction of the anomalies. squared: [P, n], distances. pairs: [K, 8, n], of each
    labelled row, and units: [U, n], of one of them. background: [n, B], distances to a background of many rows; else
    [n, 0]. description: [D, n].
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

    pair_weights: [K, U, 8], the pair network's first layer with the part of each labelled row; cosines are multiplied
    with those of the first two numbers divided by its length. background: [M, B] and their squared lengths, [B].
    feature_scale, feature_shift: [11, 1], which standardise features by the background's own.
    """

    center: Tensor
    n_columns: float
    bandwidth: float
    factors: Tensor
    squared_lengths: Tensor
    pair_weights: Tensor
    background: Tensor
    background_lengths: Tensor
    feature_scale: Tensor
    feature_shift: Tensor


@dataclass(frozen=True, eq=False)
class ChunkDescriber:
    """Describes chunks of rows of the only task of `describe`, which has two columns or more."""

    describe: Describer

    def make_memory(self, n: int) -> ChunkMemory:
        """Memory for n rows."""
        (_, P, M), K, U = self.constants.factors.shape, self.context.n_labelled, self.n_units
        shapes = [(2, M, n), (2, M, n), (2, n), (2, n), (2, P, n), (P - 1, n), (K, N_PAIR_ROW_FEATURES + 1, n)]
        shapes += [(U, n), (n, self.constants.background.shape[1]), (self.n_numbers, n)]
        memory = ChunkMemory(*(self.context.rows.new_empty(shape) for shape in shapes))
        memory.pairs[:, N_PAIR_ROW_FEATURES] = 1  # with which the part of the labelled row is multiplied
        return memory

    @cached_property
    def numbers_per_row(self) -> int:
        """How many numbers the memory has for one row."""
        return sum(part.numel() for part in self.make_memory(1))

    def __call__(self, x: Tensor, memory: ChunkMemory) -> Tensor:
        """x: [n, M] -> [D, n].

        Sum over the normal rows, over the anomalies, and maximum over the normal rows of the pair units; features of
        the row, on a log scale and standardised.
        """
        U, F = self.n_units, N_ROW_FEATURES
        normal_sum, anomaly_sum, largest, features, standardised = memory.description.split([U, U, U, F, F])
        self._relate(x, memory)
        self._fill_pairs(memory)
        self._sum_units(memory, slice(self.context.n_anomaly), anomaly_sum)
        self._sum_units(memory, slice(self.context.n_anomaly, None), normal_sum, largest)
        self._fill_features(memory, features)
        self._standardise(features, standardised)
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
    def n_numbers(self) -> int:
        """Numbers that describe a row here."""
        return 3 * self.n_units + 2 * N_ROW_FEATURES

    @property
    def has_long_background(self) -> bool:
        """Whether unlabelled rows are related to apart from the labelled ones."""
        return self.context.n_background > N_NEIGHBOURS

    @cached_property
    def constants(self) -> ChunkConstants:
        """What depends on the task alone."""
        context = self.context
        support, others = (part[0, 0] for part in context.scaled_rows)
        lengths = context.squared_lengths[0, 0]
        n_single = context.n_labelled if self.has_long_background else len(others)
        from_center = torch.cat([others[:n_single], context.anomaly_direction[0, 0].T])
        from_origin = torch.cat([support, support.new_zeros(len(from_center) - len(support), support.shape[1])])
        background = slice(context.n_anomaly, None if self.has_long_background else context.n_anomaly)
        scale = shift = lengths
        if context.n_background > 1:
            mean, spread = (part[0, 0] for part in context.background_features)
            scale, shift = 1 / spread, -mean / spread
        return ChunkConstants(
            context.center[0, 0],
            float(context.n_columns),
            float(context.bandwidth),
            torch.stack([from_origin, from_center]),
            lengths[:n_single],
            self._pair_weights(),
            others[background].T.contiguous(),
            lengths[background, 0],
            scale,
            shift,
        )

    def _pair_weights(self) -> Tensor:
        """The weights of the pair units for each labelled row: [K, U, 8]."""
        describe = self.describe
        of_labelled = describe.labelled_part[0, :, 0, :, 0].T.unsqueeze(2)
        of_row = describe.pair.weights[0][0, :N_PAIR_ROW_FEATURES].T.expand(len(of_labelled), -1, -1)
        lengths = self.context.support_lengths[0, :, 0].permute(1, 2, 0)  # [K, 1, 2]
        return torch.cat([of_row[:, :, :2] / lengths, of_row[:, :, 2:], of_labelled], dim=2)

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

    def _fill_pairs(self, memory: ChunkMemory) -> None:
        """The features of the rows with every labelled row; see `RowView.pair_features`."""
        pairs, K = memory.pairs.transpose(0, 1), self.context.n_labelled
        products = memory.products[:, :K]
        torch.div(products, memory.lengths.unsqueeze(1), out=pairs[:2])
        torch.sqrt(memory.squared[:K], out=pairs[2])
        torch.abs(products, out=pairs[3:5])
        pairs[2:5].log1p_()
        pairs[3:5].copysign_(products)
        pairs[5:7] = memory.lengths.log1p().unsqueeze(1)

    def _sum_units(self, memory: ChunkMemory, rows: slice, out: Tensor, largest: Tensor | None = None) -> None:
        """The pair units added up over some labelled rows, 0 without any, and their maximum: [U, n] each."""
        labelled = list(zip(self.constants.pair_weights[rows], memory.pairs[rows], strict=True))
        if not labelled:
            out.zero_()
        for k, (weights, pairs) in enumerate(labelled):
            units = torch.mm(weights, pairs, out=memory.units if k > 0 else out).clamp_min_(0)
            if k > 0:
                out.add_(units)
            if largest is not None:
                torch.maximum(largest, units, out=largest) if k > 0 else largest.copy_(units)

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
        torch.amin(nearest, dim, out=out[0]).clamp_max_(MAX_ABS_VALUE)
        fill_soft_minima(distance, dim, bandwidth, self.context.n_background, out[:3])

    def _standardise(self, features: Tensor, out: Tensor) -> None:
        """Features standardised by those of the background, 0 where that is a single row."""
        if self.context.n_background == 1:
            out.zero_()
            return
        torch.addcmul(self.constants.feature_shift, features, self.constants.feature_scale, out=out)
        torch.copysign(out.abs().log1p_(), out, out=out)
