"""What the support of a task tells of its scores, before any other row is met."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.methods.contract import LabelledRows, ScoreFunction

MOST_SCORED = 200  # rows of each kind whose scores are looked at

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """Of T adapted tasks with supports of the same size.

    normal: [T, n], anomaly: [T, a] and unlabelled: [T, u], scores of such rows, at most MOST_SCORED of each.
    representation: [T, H], the task representation r where the method has one. n_unlabelled: rows adapted with.
    """

    normal: Scores
    anomaly: Scores
    unlabelled: Scores
    representation: Scores | None
    n_unlabelled: int

    @property
    def case(self) -> str:
        """Which kind of support it is; each has a calibration of its own."""
        return case_name(self.anomaly.shape[1], self.n_unlabelled)


def case_name(n_anomaly: int, n_unlabelled: int) -> str:
    """The kind of a support."""
    return ("anomalies" if n_anomaly else "normal only") + (", unlabelled" if n_unlabelled else "")


@torch.no_grad()
def gather_evidence(score: ScoreFunction, support: LabelledRows, unlabelled: Tensor | None = None) -> Evidence:
    """score: what a method gave for this support, of one replica, and these unlabelled rows, [1, T, u, M]."""
    # A row in the support scores lower than one that is not. Held out in turn they would not, but the thresholds were
    # no better for it (results/universal/DECISIONS.md), and adaptation would cost several times as much.
    parts = [support.normal, support.anomaly, support.normal[:, :, :0] if unlabelled is None else unlabelled]
    some = [rows[:, :, _spaced(rows.shape[2], MOST_SCORED)] for rows in parts]
    scores = _numpy(score(torch.cat(some, dim=2)))
    normal, anomaly, others = np.split(scores, np.cumsum([rows.shape[2] for rows in some[:2]]), axis=1)
    r = representation_of(score)
    return Evidence(
        normal=normal,
        anomaly=anomaly,
        unlabelled=others,
        representation=None if r is None else _numpy(r),
        n_unlabelled=0 if unlabelled is None else unlabelled.shape[2],
    )


def representation_of(score: ScoreFunction) -> Tensor | None:
    """The task representation r that a score function was made with, [R, T, H]."""
    r = getattr(getattr(score, "distance", score), "r", None)
    return r if isinstance(r, Tensor) else None


def _spaced(n: int, most: int) -> Tensor:
    """At most so many of n row numbers, evenly spaced."""
    return torch.arange(n) if n <= most else torch.linspace(0, n - 1, most).long()


def _numpy(values: Tensor) -> Scores:
    """The only replica's, in float64."""
    out: Scores = values[0].double().cpu().numpy()
    return out
