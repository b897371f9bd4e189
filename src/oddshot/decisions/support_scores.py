"""Scores of the rows that tasks were adapted with: all that is known of a task's scores before other rows come."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from oddshot.methods.contract import Score
from oddshot.score.arrays import Array
from oddshot.score.rows import LabelledRows, spaced

MAX_SCORED_ROWS = 200  # of each kind: normal, anomalous, unlabelled

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class SupportScores:
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

    @classmethod
    def of(cls, score: Score, support: LabelledRows, unlabelled: Array | None = None) -> "SupportScores":
        """score: adapted to this support, [T, n, M] or a single task's [n, M], and these unlabelled rows."""
        others, own = support.normal[..., :0, :] if unlabelled is None else unlabelled, score.own()
        if own is not None:
            ends = [own.n_anomaly, own.scores.shape[-1] - own.n_unlabelled]
            anomaly, normal, of_others = np.split(own.scores, ends, axis=-1)
        else:
            parts = [rows[..., spaced(rows.shape[-2], MAX_SCORED_ROWS), :] for rows in (*support, others)]
            scores = score(np.concatenate(parts, axis=-2))
            ends = np.cumsum([rows.shape[-2] for rows in parts[:2]]).tolist()
            normal, anomaly, of_others = np.split(scores, ends, axis=-1)
        rows = np.concatenate([*support, others], axis=-2)
        n_columns = np.atleast_1d((rows.max(-2) > rows.min(-2)).sum(-1)).astype(np.float64)
        normal, anomaly, of_others = (np.atleast_2d(part).astype(np.float64) for part in (normal, anomaly, of_others))
        return cls(normal, anomaly, of_others, n_columns, own is not None, score.is_standardised)

    def standardised(self, scale: float) -> "SupportScores":
        """Scores that are not standardised as asinh(a / scale), which is logarithmic for large ones of either sign."""
        if self.is_standardised:
            return self
        normal, anomaly, unlabelled = (
            np.arcsinh(part / scale) for part in (self.normal, self.anomaly, self.unlabelled)
        )
        return replace(self, normal=normal, anomaly=anomaly, unlabelled=unlabelled, is_standardised=True)
