"""Area under the ROC curve of anomaly scores: exact (Eq. 8) and smooth (Eq. 9)."""

import torch
from torch import Tensor


def exact_auc(normal: Tensor, anomaly: Tensor, *, ties: float = 0.5) -> Tensor:
    """Share of (anomaly, normal) pairs in which the anomaly has the higher score; a tie counts as `ties`.

    normal: [..., N], anomaly: [..., A]. Returns [...]. Eq. 8 is ties=0; the standard AUC is ties=0.5.
    """
    ordered = normal.sort(-1).values.contiguous()
    anomaly = anomaly.contiguous()
    below = torch.searchsorted(ordered, anomaly).double()
    not_above = torch.searchsorted(ordered, anomaly, right=True).double()
    n_lower = below + ties * (not_above - below)
    return n_lower.mean(-1) / normal.shape[-1]


def smooth_auc(normal: Tensor, anomaly: Tensor) -> Tensor:
    """Mean sigmoid of the score differences over all (anomaly, normal) pairs (Eq. 9).

    normal: [..., N], anomaly: [..., A]. Returns [...].
    """
    return torch.sigmoid(anomaly.unsqueeze(-1) - normal.unsqueeze(-2)).mean((-2, -1))


def smooth_auc_gradient(normal: Tensor, anomaly: Tensor) -> tuple[Tensor, Tensor]:
    """Derivatives of the smooth AUC with respect to the scores, themselves differentiable: [..., N] and [..., A]."""
    smoothed = torch.sigmoid(anomaly.unsqueeze(-1) - normal.unsqueeze(-2))
    slope = smoothed * (1 - smoothed) / (normal.shape[-1] * anomaly.shape[-1])
    return -slope.sum(-2), slope.sum(-1)
