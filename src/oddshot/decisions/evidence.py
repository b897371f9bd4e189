"""Scores of the rows that tasks were adapted with: all that is known of a task's scores before other rows come."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.methods.contract import LabelledRows, Score

MAX_SCORED_ROWS = 200  # of each kind: normal, anomalous, unlabelled

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """Of T adapted tasks with supports of the same size.

    normal: [T, n], anomaly: [T, a] and unlabelled: [T, u], scores of such rows: by leave-one-out where the method gives
    these (`is_leave_one_out`), else of at most MAX_SCORED_ROWS of each. n_columns: [T], of the columns that vary.
    is_standardised: whether scores have a scale of their own in each task, as in Score.is_standardised.
    """

    normal: FloatArray
    anomaly: FloatArray
    unlabelled: FloatArray
    n_columns: FloatArray
    is_leave_one_out: bool
    is_standardised: bool

    def standardised(self, scale: float) -> "Evidence":
        """Scores that are not standardised as asinh(a / scale), which is logarithmic for large ones of either sign."""
        if self.is_standardised:
            return self
        normal, anomaly, unlabelled = (
            np.arcsinh(part / scale) for part in (self.normal, self.anomaly, self.unlabelled)
        )
        return replace(self, normal=normal, anomaly=anomaly, unlabelled=unlabelled, is_standardised=True)


@torch.no_grad()
def gather_evidence(score: Score, support: LabelledRows, unlabelled: Tensor | None = None) -> Evidence:
    """score: of one replica, adapted to this support and these unlabelled rows, [1, T, U, M]."""
    context, others = score.scored_context(), support.normal[:, :, :0] if unlabelled is None else unlabelled
    scores = _to_numpy(context.scores)
    is_leave_one_out = scores.shape[1] > 0
    if is_leave_one_out:
        ends = [context.n_anomaly, scores.shape[1] - context.n_unlabelled]
        anomaly, normal, of_others = np.split(scores, ends, axis=1)
    else:
        parts = [support.normal, support.anomaly, others]
        some = [rows[:, :, _spaced(rows.shape[2], MAX_SCORED_ROWS)] for rows in parts]
        scores = _to_numpy(score(torch.cat(some, dim=2)))
        normal, anomaly, of_others = np.split(scores, np.cumsum([rows.shape[2] for rows in some[:2]]), axis=1)
    low, high = torch.aminmax(torch.cat([*support, others], dim=2), dim=2)
    n_columns = _to_numpy((high > low).sum(-1))
    return Evidence(normal, anomaly, of_others, n_columns, is_leave_one_out, score.is_standardised)


def _spaced(n: int, max_rows: int) -> Tensor:
    """At most so many of n row numbers, evenly spaced."""
    return torch.arange(n) if n <= max_rows else torch.linspace(0, n - 1, max_rows).long()


def _to_numpy(values: Tensor) -> FloatArray:
    """The only replica's values, in float64."""
    out: FloatArray = values[0].double().cpu().numpy()
    return out
