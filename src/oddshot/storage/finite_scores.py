"""A model that was read is tried on a few rows: numbers that a damaged or forged file holds may each be possible, and
give no score together."""

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from oddshot.decisions.calibration import RATES, Calibration
from oddshot.decisions.support_scores import SupportScores
from oddshot.methods.contract import Method, SupportError
from oddshot.score.rows import LabelledRows

N_NORMAL, N_ANOMALY, N_OTHERS = 5, 2, 5
MAX_COLUMNS = 8  # of tables of any width
QUERY_SIZES = (0.0, 1.0, 1e3)  # in standard deviations

EncodedRows = NDArray[np.float32]


def require_finite_scores(method: Method, calibration: Calibration | None, n_columns: int | None) -> None:
    """ValueError if scores, thresholds or probabilities of ordinary rows are not finite. n_columns: None for any."""
    if not method.is_learned:
        return
    size = N_NORMAL + N_ANOMALY + N_OTHERS, n_columns or MAX_COLUMNS
    rows = np.random.default_rng(0).normal(size=size).astype(np.float32)
    normal, anomaly, others = np.split(rows, [N_NORMAL, N_NORMAL + N_ANOMALY])
    for support in (LabelledRows(normal, anomaly), LabelledRows(normal, anomaly[:0])):
        for unlabelled in (None, others) if method.uses_unlabelled else (None,):
            with suppress(SupportError), np.errstate(all="ignore"):
                _require_finite(method, calibration, support, unlabelled)


def _require_finite(
    method: Method, calibration: Calibration | None, support: LabelledRows, unlabelled: EncodedRows | None
) -> None:
    try:
        score = method.adapt(support, unlabelled)
    except np.linalg.LinAlgError:
        raise ValueError("it gives scores or thresholds that are not finite") from None
    scores = score(np.concatenate([np.float32(size) * support.normal for size in QUERY_SIZES]))
    _require_all_finite(scores)
    if calibration is None:
        return
    known = SupportScores.of(score, support, unlabelled)
    for part in (known.normal, known.anomaly, known.unlabelled):
        _require_all_finite(part)
    decision = calibration.decide(known)
    thresholds = np.array([decision.threshold(rate) for rate in RATES])
    _require_all_finite(np.append(thresholds, decision.probability(scores)))


def _require_all_finite(numbers: NDArray[np.float64]) -> None:
    if not np.isfinite(numbers).all():
        raise ValueError("it gives scores or thresholds that are not finite")
