"""Distances to nearest neighbours as parts of a score."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from oddshot.model.background import MAX_ABS_VALUE, ROUNDING_SHARE, smallest_first
from oddshot.model.blending import standardised_log

MIN_SPREAD = 0.1  # of a compressed column: where all rows known are alike, another value is far from them


class NeighbourDistance(NamedTuple):
    """The mean distance d to the k nearest reference rows, as w z(log d).

    reference: [R, T, B, M]. statistics: [R, T, 2], of the logarithms of the background's leave-one-out distances.
    """

    reference: Tensor
    k: int
    statistics: Tensor
    weight: float

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M], compressed -> [R, T, N]."""
        return self.standardise(mean_distance(x, self.reference, self.k))

    def standardise(self, distance: Tensor) -> Tensor:
        """w z(log d): [R, T, N] -> [R, T, N]."""
        return self.weight * standardised_log(distance, self.statistics)


class NeighbourScore(NamedTuple):
    """The sum of several distances. spread: [R, T, 1, M], of the background's columns when compressed."""

    spread: Tensor
    distances: Sequence[NeighbourDistance]

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M] -> [R, T, N] in float64."""
        compressed = compress(x) / self.spread
        return torch.stack([distance(compressed) for distance in self.distances]).sum(0)

    def divided(self, unit: float) -> "NeighbourScore":
        """The sum divided by a unit."""
        return NeighbourScore(self.spread, [d._replace(weight=d.weight / unit) for d in self.distances])

    def of_only_task(self) -> "NeighbourScore":
        """The same for x: [N, M]."""
        distances = [d._replace(reference=d.reference[0, 0], statistics=d.statistics[0, 0]) for d in self.distances]
        return NeighbourScore(self.spread[0, 0], distances)


def compress(x: Tensor) -> Tensor:
    """Values beyond a standard deviation become logarithms: in heavy-tailed columns, the tails would count alone."""
    x = x.clamp(-MAX_ABS_VALUE, MAX_ABS_VALUE)
    squares = x.square()
    # asinh |x| = log(1 + |x| + x² / (1 + √(1 + x²))): torch's own asinh takes ten times as long.
    return squares.div((squares + 1).sqrt_().add_(1)).add_(x.abs()).log1p_().copysign_(x)


def column_spread(rows: Tensor) -> Tensor:
    """The standard deviation of each column, by which differences are divided: [..., N, M] -> [..., 1, M].

    Smaller where columns are constant, so that the mean of squared differences is that over the columns that vary.
    """
    share = (rows != rows[..., :1, :]).any(-2, keepdim=True).to(rows.dtype).mean(-1, keepdim=True)
    spread: Tensor = rows.std(-2, correction=0, keepdim=True).clamp_min(MIN_SPREAD)
    return spread * torch.where(share > 0, share, 1.0).sqrt()


def mean_distance(x: Tensor, reference: Tensor, k: int, is_itself: Tensor | None = None) -> Tensor:
    """Mean distance to the k nearest reference rows, root mean square over columns, in float64.

    x: [..., N, M], reference: [..., B, M] -> [..., N]. is_itself: [..., N, B], true for pairs that are left out.
    """
    squared = _squared_distances(x, reference)
    if is_itself is not None:
        squared.masked_fill_(is_itself, math.inf)
    return _smallest(squared, k).sqrt_().mean(-1).double()


def _smallest(values: Tensor, k: int) -> Tensor:
    """The k smallest, in any order: [..., B] -> [..., k]."""
    if k == 1:
        return values.amin(-1, keepdim=True)
    if values.is_cuda:
        return values.topk(k, dim=-1, largest=False, sorted=False).values
    return smallest_first(values, k)[..., :k]


def _squared_distances(x: Tensor, reference: Tensor) -> Tensor:
    """Mean squared differences by one matrix product: [..., N, M], [..., B, M] -> [..., N, B]."""
    if x.shape[-1] == 1:  # many rows of one column lie so near that products would leave rounding errors only
        return (x - reference.mT).square_()
    center = reference.mean(-2, keepdim=True)  # rows far from 0 would cost digits
    x, reference = x - center, reference - center
    own, others = x.square().sum(-1).unsqueeze(-1), reference.square().sum(-1).unsqueeze(-2)
    squared = (x @ reference.mT).mul_(-2).add_(own).add_(others)
    # Equal rows have a distance of 0, not what rounding leaves of the difference of large numbers.
    if bool((squared.amin(-1, keepdim=True) < ROUNDING_SHARE * (own + others.amax(-1, keepdim=True))).any()):
        squared.masked_fill_(squared < ROUNDING_SHARE * (own + others), 0.0)
    return squared.div_(x.shape[-1])
