"""Distances of several kinds on one scale: the logarithm, standardised by the rows of the task."""

import math

import torch
from torch import Tensor

MIN_DISTANCE = 1e-3  # added before the logarithm
# What is known of the standard deviation of the logarithms before any row: as much as so many rows tell.
PRIOR_ROWS, PRIOR_SPREAD = 20, 0.35


def standardise_own(distance: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the logarithms of all that are finite, [..., 2], and z(log d): [..., N].

    Both in float64. Few rows hardly tell the standard deviation: it is shrunk towards a usual value.
    """
    logs, is_unknown = _log(distance), distance == math.inf
    n = (~is_unknown).sum(-1, keepdim=True)
    mean = logs.masked_fill(is_unknown, 0.0).sum(-1, keepdim=True) / n.clamp_min(1)
    deviation = (logs - mean).masked_fill_(is_unknown, 0.0)
    squares = deviation.square().sum(-1, keepdim=True)
    spread = ((squares + PRIOR_ROWS * PRIOR_SPREAD**2) / (n + PRIOR_ROWS)).sqrt()
    return torch.cat([mean, spread], dim=-1), deviation / spread


def standardised_log(distance: Tensor, statistics: Tensor) -> Tensor:
    """z(log d) in float64, 0 for infinite distances. distance: [..., N], statistics: [..., 2] -> [..., N]."""
    mean, spread = statistics.unsqueeze(-2).unbind(-1)
    return _log(distance).sub_(mean).div_(spread).nan_to_num_(0.0, 0.0, 0.0)


def _log(distance: Tensor) -> Tensor:
    return (distance.double() + MIN_DISTANCE).log()
