"""Distances to nearest neighbours, and their logarithm."""

import math

import torch
from torch import Tensor

from oddshot.model.relations import MAX_ABS_VALUE

MIN_DISTANCE = 1e-3  # added before the logarithm


def neighbour_distance(x: Tensor, reference: Tensor, k: int, is_itself: Tensor | None = None) -> Tensor:
    """Mean distance to the k nearest reference rows, root mean square over columns, in float64.

    x: [..., N, M], reference: [..., B, M] -> [..., N]. is_itself: [..., N, B], true for pairs that are left out.
    """
    x = x.clamp(-MAX_ABS_VALUE, MAX_ABS_VALUE)  # as in relations, so that squares stay finite in float32
    distance = torch.cdist(x, reference) / math.sqrt(x.shape[-1])
    if is_itself is not None:
        distance = distance.masked_fill(is_itself, math.inf)
    nearest = distance.amin(-1) if k == 1 else distance.topk(k, dim=-1, largest=False, sorted=False).values.mean(-1)
    return nearest.double()


def log_distance(distance: Tensor) -> Tensor:
    """log(d + MIN_DISTANCE), in float64."""
    return (distance.double() + MIN_DISTANCE).log()
