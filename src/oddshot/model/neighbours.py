"""Distances to nearest neighbours, and their logarithm."""

import math

import torch
from torch import Tensor

from oddshot.model.relations import MAX_ABS_VALUE, ROUNDING_SHARE

MIN_DISTANCE = 1e-3  # added before the logarithm


def neighbour_distance(x: Tensor, reference: Tensor, k: int, is_itself: Tensor | None = None) -> Tensor:
    """Mean distance to the k nearest reference rows, root mean square over columns, in float64.

    x: [..., N, M], reference: [..., B, M] -> [..., N]. is_itself: [..., N, B], true for pairs that are left out.
    """
    distance = _distances(x.clamp(-MAX_ABS_VALUE, MAX_ABS_VALUE), reference)
    if is_itself is not None:
        distance = distance.masked_fill(is_itself, math.inf)
    nearest = distance.amin(-1) if k == 1 else distance.topk(k, dim=-1, largest=False, sorted=False).values.mean(-1)
    return nearest.double()


def _distances(x: Tensor, reference: Tensor) -> Tensor:
    """Root mean squared differences by one matrix product: [..., N, M], [..., B, M] -> [..., N, B]."""
    center = reference.mean(-2, keepdim=True)  # rows far from 0 would cost digits
    x, reference = x - center, reference - center
    squares = x.square().sum(-1).unsqueeze(-1) + reference.square().sum(-1).unsqueeze(-2)
    squared = torch.add(squares, x @ reference.mT, alpha=-2)
    # Equal rows have a distance of 0, not what rounding leaves of the difference of large numbers.
    squared = torch.where(squared < ROUNDING_SHARE * squares, 0.0, squared)
    return (squared / x.shape[-1]).sqrt()


def blend_logs(learned: Tensor, distance: Tensor, statistics: Tensor) -> Tensor:
    """z(log √a) + z(log d), standardised by mean and standard deviation of both: [..., N], [..., N], [..., 4]."""
    mean_a, std_a, mean_d, std_d = statistics.unsqueeze(-2).unbind(-1)
    return (log_distance(learned.clamp_min(0).sqrt()) - mean_a) / std_a + (log_distance(distance) - mean_d) / std_d


def log_distance(distance: Tensor) -> Tensor:
    """log(d + MIN_DISTANCE), in float64."""
    return (distance.double() + MIN_DISTANCE).log()
