"""Scores of held-out tasks, from which the calibration is learned."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oddshot.decisions.support_scores import SupportScores
from oddshot.methods.contract import Method
from oddshot.score.arrays import Array
from oddshot.score.rows import LabelledRows

# The largest numbers of rows; all below are as likely on a logarithmic scale, and a quarter of the tasks have none of
# those that may be missing.
MAX_NORMAL, MAX_ANOMALY, MAX_UNLABELLED = 1000, 200, 1000
MISSING_SHARE = 0.25
MAX_CONTAMINATION = 0.4  # share of anomalies among unlabelled rows

FloatArray = NDArray[np.float64]


class SupportSizes(NamedTuple):
    """Numbers of rows that a task is adapted with."""

    normal: int
    anomaly: int
    unlabelled: int


@dataclass(frozen=True)
class HeldOutScores:
    """Of episodes of T held-out tasks: scores of the supports and of the queries.

    normal: [T, N], anomaly: [T, A].
    """

    support: SupportScores
    normal: FloatArray
    anomaly: FloatArray

    def standardised(self, scale: float) -> "HeldOutScores":
        """As in SupportScores.standardised."""
        if self.support.is_standardised:
            return self
        normal, anomaly = (np.arcsinh(part / scale) for part in (self.normal, self.anomaly))
        return HeldOutScores(self.support.standardised(scale), normal, anomaly)


def score_held_out(
    method: Method, support: LabelledRows, query: LabelledRows, unlabelled: Array | None
) -> HeldOutScores:
    """Adapt to each support and score its queries, in NumPy: [T, n, M]. unlabelled: [T, u, M] or None."""
    score = method.adapt(support, unlabelled)
    normal, anomaly = (score(rows) for rows in query)
    return HeldOutScores(SupportScores.of(score, support, unlabelled), normal, anomaly)


def draw_support_sizes(
    rng: np.random.Generator,
    most_normal: int = MAX_NORMAL,
    most_anomaly: int = MAX_ANOMALY,
    most_unlabelled: int = MAX_UNLABELLED,
) -> SupportSizes:
    """Random sizes of a support, up to these or to what calibrations are learned for."""
    anomaly, unlabelled = (
        0 if most == 0 or rng.random() < MISSING_SHARE else _log_uniform(rng, most)
        for most in (min(most_anomaly, MAX_ANOMALY), min(most_unlabelled, MAX_UNLABELLED))
    )
    return SupportSizes(_log_uniform(rng, min(most_normal, MAX_NORMAL)), anomaly, unlabelled)


def _log_uniform(rng: np.random.Generator, most: int) -> int:
    """A number from 1 to this, all equally likely on a logarithmic scale."""
    return round(math.exp(rng.uniform(0.0, math.log(most))))
