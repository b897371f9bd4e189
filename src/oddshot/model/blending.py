"""Distances of several kinds on one scale: the logarithm, standardised by the rows of the task."""

import torch
from torch import Tensor

MIN_DISTANCE = 1e-3  # added before the logarithm
MIN_LOG_SPREAD = 0.05  # where all rows are nearly alike


def log_statistics(distance: Tensor) -> Tensor:
    """Mean and standard deviation of the logarithms of all that are finite, in float64: [..., N] -> [..., 2]."""
    logs, is_known = _log(distance), distance.isfinite()
    n = is_known.sum(-1).clamp_min(1)
    mean = torch.where(is_known, logs, 0.0).sum(-1) / n
    variance = torch.where(is_known, logs - mean.unsqueeze(-1), 0.0).square().sum(-1) / n
    return torch.stack([mean, variance.sqrt().clamp_min(MIN_LOG_SPREAD)], dim=-1)


def standardised_log(distance: Tensor, statistics: Tensor) -> Tensor:
    """z(log d) in float64, 0 for infinite distances. distance: [..., N], statistics: [..., 2] -> [..., N]."""
    mean, spread = statistics.unsqueeze(-2).unbind(-1)
    return torch.where(distance.isfinite(), (_log(distance) - mean) / spread, 0.0)


def _log(distance: Tensor) -> Tensor:
    return (distance.double() + MIN_DISTANCE).log()
