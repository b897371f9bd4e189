"""Support-score statistics that the calibration uses: all that is known of a task before other rows come."""

from dataclasses import dataclass

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
    these, else of at most MAX_SCORED_ROWS of each. n_unlabelled: rows adapted with.
    """

    normal: FloatArray
    anomaly: FloatArray
    unlabelled: FloatArray
    n_unlabelled: int

    @property
    def support_kind(self) -> str:
        """Which kind of support it is; each kind has a calibration of its own."""
        return support_kind(self.anomaly.shape[1], self.n_unlabelled)


def support_kind(n_anomaly: int, n_unlabelled: int) -> str:
    """The kind of a support: with anomalies or normal rows only, with or without unlabelled rows."""
    return ("anomalies" if n_anomaly else "normal only") + (", unlabelled" if n_unlabelled else "")


@torch.no_grad()
def gather_evidence(score: Score, support: LabelledRows, unlabelled: Tensor | None = None) -> Evidence:
    """score: of one replica, adapted to this support and these unlabelled rows, [1, T, U, M]."""
    n_unlabelled = 0 if unlabelled is None else unlabelled.shape[2]
    context = score.scored_context()
    scores = _to_numpy(context.scores)
    if scores.shape[1] > 0:
        ends = [context.n_anomaly, scores.shape[1] - context.n_unlabelled]
        anomaly, normal, others = np.split(scores, ends, axis=1)
    else:
        parts = [support.normal, support.anomaly, support.normal[:, :, :0] if unlabelled is None else unlabelled]
        some = [rows[:, :, _spaced(rows.shape[2], MAX_SCORED_ROWS)] for rows in parts]
        scores = _to_numpy(score(torch.cat(some, dim=2)))
        normal, anomaly, others = np.split(scores, np.cumsum([rows.shape[2] for rows in some[:2]]), axis=1)
    return Evidence(normal=normal, anomaly=anomaly, unlabelled=others, n_unlabelled=n_unlabelled)


def _spaced(n: int, max_rows: int) -> Tensor:
    """At most so many of n row numbers, evenly spaced."""
    return torch.arange(n) if n <= max_rows else torch.linspace(0, n - 1, max_rows).long()


def _to_numpy(values: Tensor) -> FloatArray:
    """The only replica's values, in float64."""
    out: FloatArray = values[0].double().cpu().numpy()
    return out
