"""A model that was read is tried on a few rows: numbers that a damaged or forged file holds may each be possible, and
give no score together."""

from contextlib import suppress

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.decisions.calibration import RATES, Calibration
from oddshot.decisions.evidence import gather_evidence
from oddshot.methods.contract import LabelledRows, Method, SupportError

N_NORMAL, N_ANOMALY, N_OTHERS = 5, 2, 5
MAX_COLUMNS = 8  # of tables of any width
QUERY_SIZES = (0.0, 1.0, 1e3)  # in standard deviations


@torch.no_grad()
def require_finite_scores(method: Method, calibration: Calibration | None, n_columns: int | None) -> None:
    """ValueError if scores, thresholds or probabilities of ordinary rows are not finite. n_columns: None for any."""
    if not method.is_learned:
        return
    generator = torch.Generator().manual_seed(0)
    n_rows = N_NORMAL + N_ANOMALY + N_OTHERS
    rows = torch.randn(1, 1, n_rows, n_columns or MAX_COLUMNS, generator=generator)
    normal, anomaly, others = rows.split([N_NORMAL, N_ANOMALY, N_OTHERS], dim=2)
    for support in (LabelledRows(normal, anomaly), LabelledRows(normal, anomaly[:, :, :0])):
        for unlabelled in (None, others) if method.uses_unlabelled else (None,):
            with suppress(SupportError):
                _require_finite(method, calibration, support, unlabelled)


def _require_finite(
    method: Method, calibration: Calibration | None, support: LabelledRows, unlabelled: Tensor | None
) -> None:
    score = method.adapt(support, unlabelled)
    queries = torch.cat([size * support.normal for size in QUERY_SIZES], dim=2)
    scores = score(queries).flatten().double().numpy()
    _require_all_finite(scores)
    if calibration is None:
        return
    evidence = gather_evidence(score, support, unlabelled)
    for part in (evidence.normal, evidence.anomaly, evidence.unlabelled):
        _require_all_finite(part)
    with np.errstate(all="ignore"):
        decision = calibration.decide(evidence)
        thresholds = np.array([decision.threshold(rate) for rate in RATES])
        _require_all_finite(np.append(thresholds, decision.probability(scores)))


def _require_all_finite(numbers: NDArray[np.float64]) -> None:
    if not np.isfinite(numbers).all():
        raise ValueError("it gives scores or thresholds that are not finite")
