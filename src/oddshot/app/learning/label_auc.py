"""How well scores rank the labelled rows: the AUC with its interval, and whether two sets of scores differ.

The interval is Newcombe's (2006, method 5): all AUCs from which the one seen lies at most 1.96 standard errors, where
the standard error is that of Hanley and McNeil (1982) at the supposed AUC. Unlike one at the AUC seen it is not 0 where
every pair is ranked right, which with few labels is common.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm, rankdata

from oddshot.data.task import ANOMALY, NORMAL

MIN_ANOMALIES, MIN_NORMAL = 2, 5  # with fewer labels an interval covers nearly everything
CONFIDENCE = 0.95
N_PERMUTATIONS = 2000
SIGNIFICANCE_LEVEL = 0.05
_INSIDE = 1e-9

FloatArray = NDArray[np.float64]
LabelArray = NDArray[np.int8]


@dataclass(frozen=True)
class LabelAuc:
    """The share of pairs of a normal row and an anomaly that are ranked right, a tie as half, with its interval."""

    n_normal: int
    n_anomaly: int
    auc: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """For the page."""
        return {"pairs": self.n_normal * self.n_anomaly, "auc": self.auc, "low": self.low, "high": self.high}


def missing_labels(labels: LabelArray) -> tuple[int, int]:
    """How many more normal rows and anomalies have to be labelled before there is an AUC to speak of."""
    return (
        max(0, MIN_NORMAL - int((labels == NORMAL).sum())),
        max(0, MIN_ANOMALIES - int((labels == ANOMALY).sum())),
    )


def describe_missing(labels: LabelArray) -> str:
    """One sentence: which labels are missing for an AUC."""
    normal, anomaly = missing_labels(labels)
    parts = [
        f"{n} more {one if n == 1 else many}"
        for n, one, many in ((normal, "normal row", "normal rows"), (anomaly, "anomaly", "anomalies"))
        if n > 0
    ]
    return f"Label {' and '.join(parts)} to see how well the ranking does"


def label_auc(scores: FloatArray, labels: LabelArray) -> LabelAuc:
    """scores, labels: [m], of the labelled rows; both labels occur."""
    n_normal, n_anomaly = int((labels == NORMAL).sum()), int((labels == ANOMALY).sum())
    auc = float(_aucs(rankdata(scores)[None], labels)[0])
    low, high = auc_interval(auc, n_normal, n_anomaly)
    return LabelAuc(n_normal, n_anomaly, auc, low, high)


def auc_interval(auc: float, n_normal: int, n_anomaly: int) -> tuple[float, float]:
    """The ends of the interval of an AUC that was computed from these numbers of rows."""
    z = float(norm.ppf((1 + CONFIDENCE) / 2))
    n_star = (n_normal + n_anomaly) / 2 - 1

    def beyond(supposed: float) -> float:
        spread = 1 + n_star * (1 - supposed) / (2 - supposed) + n_star * supposed / (1 + supposed)
        variance = supposed * (1 - supposed) * spread / (n_normal * n_anomaly)
        return (auc - supposed) ** 2 - z**2 * variance

    return _root(beyond, 0.0, auc), _root(beyond, 1.0, auc)


def permutation_p_value(a: FloatArray, b: FloatArray, labels: LabelArray, rng: np.random.Generator) -> float:
    """The two-sided p-value of a difference in AUC between two sets of scores of the same labelled rows, [m].

    As Bandos et al. (2005): if the two were equally good, each row's two ranks could be exchanged.
    """
    ranks = np.stack([rankdata(a), rankdata(b)])
    difference = abs(float(np.subtract(*_aucs(ranks, labels))))
    is_exchanged = rng.random((N_PERMUTATIONS, len(labels))) < 0.5
    first = rankdata(np.where(is_exchanged, ranks[1], ranks[0]), axis=1)
    second = rankdata(np.where(is_exchanged, ranks[0], ranks[1]), axis=1)
    permuted = np.abs(_aucs(first, labels) - _aucs(second, labels))
    return float((1 + (permuted >= difference - 1e-12).sum()) / (1 + N_PERMUTATIONS))


def _aucs(ranks: FloatArray, labels: LabelArray) -> FloatArray:
    """The AUC of each line of ranks from 1 to m, the mean of them where scores are equal: [k, m] -> [k]."""
    is_anomaly = labels == ANOMALY
    n_anomaly = int(is_anomaly.sum())
    n_pairs = n_anomaly * (len(labels) - n_anomaly)
    out: FloatArray = (ranks[:, is_anomaly].sum(1) - n_anomaly * (n_anomaly + 1) / 2) / n_pairs
    return out


def _root(beyond: Callable[[float], float], end: float, auc: float) -> float:
    """Where `beyond` changes its sign between an end and the AUC; the end itself where the AUC is at it."""
    inside = min(max(auc, _INSIDE), 1 - _INSIDE)  # at 0 and 1 it is 0
    return end if auc == end else float(brentq(beyond, end, inside))
