"""Distances of several kinds on one scale: the logarithm, standardised by the rows of the task."""

import math

import torch
from torch import Tensor

MIN_DISTANCE = 1e-3  # added before the logarithm
# What is known of the standard deviation of the logarithms before any row: as much as so many rows tell.
PRIOR_ROWS, PRIOR_SPREAD = 20, 0.35


def log_statistics(distance: Tensor) -> Tensor:
    """Mean and standard deviation of the logarithms of all that are finite, in float64: [..., N] -> [..., 2].

    Few rows hardly tell the standard deviation: it is shrunk towards a usual value.
    """
    logs, is_unknown = _log(distance), distance == math.inf
    n = (~is_unknown).sum(-1)
    mean = logs.masked_fill(is_unknown, 0.0).sum(-1) / n.clamp_min(1)
    squares = (logs - mean.unsqueeze(-1)).masked_fill(is_unknown, 0.0).square().sum(-1)
    return torch.stack([mean, ((squares + PRIOR_ROWS * PRIOR_SPREAD**2) / (n + PRIOR_ROWS)).sqrt()], dim=-1)


def standardised_log(distance: Tensor, statistics: Tensor) -> Tensor:
    """z(log d) in float64, 0 for infinite distances. distance: [..., N], statistics: [..., 2] -> [..., N]."""
    mean, spread = statistics.unsqueeze(-2).unbind(-1)
    return _log(distance).sub_(mean).div_(spread).nan_to_num_(0.0, 0.0, 0.0)


def _log(distance: Tensor) -> Tensor:
    return (distance.double() + MIN_DISTANCE).log()
