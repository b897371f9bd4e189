"""Scores of held-out tasks: what calibration and familiarity are learned from."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from oddshot.decisions.evidence import Evidence, gather_evidence
from oddshot.methods.contract import LabelledRows, Method

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HeldOut:
    """Episodes of T held-out tasks: the supports' evidence, and scores of other rows, normal [T, N], anomaly [T, A]."""

    evidence: Evidence
    normal: Array
    anomaly: Array


@torch.no_grad()
def score_episodes(
    method: Method, support: LabelledRows, unlabelled: torch.Tensor | None, query: LabelledRows
) -> HeldOut:
    """What the supports of tasks tell of their scores, and the scores of their queries."""
    score = method.adapt_with(support, unlabelled)
    evidence = gather_evidence(score, support, unlabelled)
    normal, anomaly = (score(rows)[0].double().cpu().numpy() for rows in query)
    return HeldOut(evidence, normal, anomaly)
