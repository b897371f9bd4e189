"""Distances of rows to the many rows of a background, computed in place, without gradients."""

import math

import torch
from torch import Tensor

MAX_ABS_VALUE = 1e9  # larger values are clipped, so that their squares stay finite in float32
MIN_SQUARE = 1e-6  # added to mean squares before their root, whose gradient stays finite at 0
ROUNDING_SHARE = 1e-6  # a squared distance below this share of the squares it was computed from is rounding error
N_NEIGHBOURS = 10  # background rows whose mean distance is a feature


def nearest_first(squared: Tensor, own: Tensor, others: Tensor) -> Tensor:
    """Distances with the N_NEIGHBOURS smallest of each row first, in the place of squared ones: [n, B].

    own: [n, 1] and others: [B], the squares that they were computed from.
    """
    least = ROUNDING_SHARE * (own + others.max())
    if bool((squared.amin(1, keepdim=True) < least).any()):
        squared.masked_fill_(squared < ROUNDING_SHARE * (own + others), MIN_SQUARE)
    return smallest_first(squared, N_NEIGHBOURS).sqrt_()


def smallest_first(values: Tensor, k: int) -> Tensor:
    """Numbers that are not negative, in place with the k smallest over the last dimension first: [..., B]."""
    # They have the order of their bits: partition is faster on these, and both are faster than topk.
    bits = values.view(torch.int32 if values.dtype == torch.float32 else torch.int64)
    bits.numpy().partition(k - 1, axis=-1)
    return values


def fill_soft_minima(distance: Tensor, dim: int, bandwidth: float, count: Tensor | int, out: Tensor) -> None:
    """Two soft minima in bandwidths; see `RowView`. distance: over the background in dimension `dim`, it is lost.

    count: [n], or the same number for all rows, of the background rows that each is related to. out: [3, n], at first
    the distance to the nearest one, which is brought to bandwidths too.
    """
    # Powers of 2 are much faster than those of e. The nearest distance is multiplied as all are: no power is above 1.
    factor = 1 / (math.log(2) * bandwidth)
    closeness = distance.mul_(-factor).add_((out[0] * factor).unsqueeze(dim)).exp2_()
    torch.sum(closeness, dim, out=out[1])
    torch.sum(closeness.square_().square_(), dim, out=out[2])
    logs = out[1:].clamp_min_(MIN_SQUARE).div_(count).log_()
    logs[1].div_(4)
    torch.sub(out[0].div_(bandwidth), logs, out=logs)
