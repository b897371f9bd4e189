"""Scores of held-out tasks, from which the calibration is learned."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.decisions.evidence import Evidence, gather_evidence
from oddshot.methods.contract import LabelledRows, Method

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class HeldOutScores:
    """Of episodes of T held-out tasks: the supports' evidence, and scores of the queries.

    normal: [T, N], anomaly: [T, A].
    """

    evidence: Evidence
    normal: FloatArray
    anomaly: FloatArray


@torch.no_grad()
def score_held_out(
    method: Method, support: LabelledRows, query: LabelledRows, unlabelled: Tensor | None
) -> HeldOutScores:
    """Adapt to each support and score its queries. unlabelled: [1, T, U, M] or None."""
    score = method.adapt(support, unlabelled)
    evidence = gather_evidence(score, support, unlabelled)
    normal, anomaly = (score(rows)[0].double().cpu().numpy() for rows in query)
    return HeldOutScores(evidence, normal, anomaly)
