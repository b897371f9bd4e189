"""From scores to decisions: thresholds for false-positive rates and the probability of an anomaly.

Both are learned on held-out tasks and need no more of a new task than its support. Scores are brought to a common
scale, v = asinh(a / scale), which is logarithmic for large scores of either sign. On it, the threshold for a rate is
linear in a few support-score statistics (quantile regression): mean and spread of its normal rows' scores, mean of its
anomalies', quantiles of the unlabelled rows', and the numbers of rows. The log-odds of an anomaly are piecewise linear
in v, with one slope up to the threshold for 10 % and another beyond it (logistic regression).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from oddshot.decisions.evidence import Evidence
from oddshot.decisions.held_out import HeldOutScores
from oddshot.errors import InputError, one_line

RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
DEFAULT_RATE = 0.05  # of normal rows that may be called anomalies
REFERENCE_RATE = RATES.index(0.1)  # the log-odds are piecewise linear in v, with their bend at this threshold
# 1, normal mean and spread, anomaly mean, unlabelled median and 90 %, logs of the three numbers of rows, one squared
N_FEATURES = 10
COUNTS, LOG_N_NORMAL, LOG_N_NORMAL_SQUARED = slice(6, 9), 6, 9
SCALE_SHARE = 0.3  # the scale, as a share of the median normal score
MIN_SLOPE = 0.02  # of the log-odds, so that probabilities grow with the score
MAX_LINEAR_LOG_ODDS = 5.0  # few held-out rows can prove larger ones: beyond, they grow logarithmically
MAX_SCALED_SCORE = 300.0  # of v; its sinh is still finite

FloatArray = NDArray[np.float64]


class Decision(ABC):
    """From the scores of one task to thresholds and probabilities."""

    @abstractmethod
    def threshold(self, rate: float | None = None) -> float:
        """The score above which this share of normal rows lies; without a rate, the default threshold."""

    @abstractmethod
    def rate(self, threshold: float) -> float | None:
        """The share of normal rows expected above a score, where it is known."""

    @abstractmethod
    def probability(self, scores: FloatArray) -> FloatArray | None:
        """The probability of an anomaly, if both kinds of rows were equally frequent, where known: [n] -> [n]."""


@dataclass(frozen=True)
class FixedThreshold(Decision):
    """The decision of a model without calibration."""

    value: float

    def threshold(self, rate: float | None = None) -> float:
        """Always the same."""
        return self.value

    def rate(self, threshold: float) -> None:
        """Not known."""

    def probability(self, scores: FloatArray) -> None:
        """Not known."""


@dataclass(frozen=True)
class CalibratedDecision(Decision):
    """scale: as in v = asinh(a / scale). thresholds: [RATES], on v, falling as rates grow.

    log_odds: constant, slope below and slope above the reference threshold.
    """

    scale: float
    thresholds: FloatArray
    log_odds: tuple[float, float, float]

    def threshold(self, rate: float | None = None) -> float:
        """The score above which this share of normal rows lies, by default DEFAULT_RATE."""
        quantile = _normal_quantiles((DEFAULT_RATE if rate is None else rate,))[0]
        v = np.interp(quantile, _normal_quantiles(RATES), self.thresholds)
        return float(self.scale * np.sinh(np.clip(v, -MAX_SCALED_SCORE, MAX_SCALED_SCORE)))

    def rate(self, threshold: float) -> float:
        """The inverse of `threshold`, within RATES."""
        v = np.arcsinh(threshold / self.scale)
        quantile = float(np.interp(v, self.thresholds[::-1], _normal_quantiles(RATES)[::-1]))
        return math.erfc(-quantile / math.sqrt(2)) / 2

    def probability(self, scores: FloatArray) -> FloatArray:
        """[n] -> [n]."""
        constant, below, above = self.log_odds
        e = np.arcsinh(scores / self.scale) - self.thresholds[REFERENCE_RATE]
        log_odds = constant + below * np.minimum(e, 0) + above * np.maximum(e, 0)
        linear = np.clip(log_odds, -MAX_LINEAR_LOG_ODDS, MAX_LINEAR_LOG_ODDS)
        beyond = np.sign(log_odds) * np.log1p(np.maximum(np.abs(log_odds) - MAX_LINEAR_LOG_ODDS, 0))
        return logistic(linear + beyond)


@dataclass(frozen=True)
class CalibrationCase:
    """Coefficients for supports of one kind.

    scale: as in v = asinh(a / scale). means: [N_FEATURES], which are subtracted from the features. smallest, largest:
    [N_FEATURES], over the held-out tasks; counts beyond are clipped to these. thresholds: [RATES, N_FEATURES],
    log_odds: [N_FEATURES + 2], of the features, then the slopes below and above the reference.
    """

    scale: float
    means: tuple[float, ...]
    smallest: tuple[float, ...]
    largest: tuple[float, ...]
    thresholds: tuple[tuple[float, ...], ...]
    log_odds: tuple[float, ...]

    def features(self, evidence: Evidence) -> FloatArray:
        """Centred features: [T, N_FEATURES]."""
        F = raw_features(evidence, self.scale)
        F[:, COUNTS] = np.clip(F[:, COUNTS], self.smallest[COUNTS], self.largest[COUNTS])
        F[:, 1:] -= self.means[1:]
        # Not only linear in log n, so that a rate holds for few, some and many normal rows.
        F[:, LOG_N_NORMAL_SQUARED] = F[:, LOG_N_NORMAL] ** 2
        return F

    def to_dict(self) -> dict[str, Any]:
        """By the names of model files."""
        return {
            "scale": self.scale,
            "usual": self.means,
            "least": self.smallest,
            "most": self.largest,
            "thresholds": self.thresholds,
            "odds": self.log_odds,
        }


@dataclass(frozen=True)
class Calibration:
    """What was learned on held-out tasks, for each kind of support that the method can work with."""

    cases: Mapping[str, CalibrationCase]

    def decide(self, evidence: Evidence) -> CalibratedDecision:
        """For a task, the only one of this evidence.

        Without a case for unlabelled rows that of supports without them is taken; any other missing kind is refused.
        """
        kind = evidence.support_kind
        case = self.cases.get(kind) or self.cases.get(kind.removesuffix(", unlabelled"))
        if case is None:
            raise InputError(f"the model has no calibration for a support of this kind ({kind})")
        F = case.features(evidence)[0]
        thresholds = np.maximum.accumulate((np.array(case.thresholds) @ F)[::-1])[::-1]
        constant, (below, above) = np.array(case.log_odds[:N_FEATURES]) @ F, case.log_odds[N_FEATURES:]
        return CalibratedDecision(case.scale, thresholds, (float(constant), below, above))

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON has."""
        return {name: case.to_dict() for name, case in self.cases.items()}

    @classmethod
    def from_dict(cls, data: Any) -> "Calibration":
        """From what `to_dict` gave, read from a file that may be damaged: ValueError, TypeError or KeyError if so."""
        if not isinstance(data, dict) or not all(isinstance(case, dict) for case in data.values()):
            raise TypeError(f"calibration is {str(data)[:40]!r}")
        return cls({str(name): _parse_case(case) for name, case in data.items()})


def logistic(log_odds: FloatArray) -> FloatArray:
    """The probabilities of these log-odds, however large: [n] -> [n]."""
    e = np.exp(-np.abs(log_odds))
    p: FloatArray = np.where(log_odds >= 0, 1.0, e) / (1.0 + e)
    return p


@lru_cache(maxsize=64)
def _normal_quantiles(rates: tuple[float, ...]) -> FloatArray:
    """Of the standard normal distribution: [n]."""
    quantiles: FloatArray = torch.special.ndtri(torch.tensor(rates, dtype=torch.float64)).numpy()
    return quantiles


def check_rate(rate: object) -> float | None:
    """A false-positive rate as given by a person, or None for none."""
    if rate is None:
        return None
    if not isinstance(rate, int | float | np.integer | np.floating) or not RATES[0] <= rate <= RATES[-1]:
        shown = one_line(rate)
        expected = f"a number from {RATES[0]} to {RATES[-1]}, such as 0.01 for 1 %"
        raise InputError(f"false_positive_rate is {shown}; it must be {expected}")
    return float(rate)


def learn_calibration(episodes: Sequence[HeldOutScores]) -> Calibration:
    """From episodes of every kind of support that the method can work with."""
    kinds = dict.fromkeys(part.evidence.support_kind for part in episodes)
    return Calibration({kind: _learn_case([e for e in episodes if e.evidence.support_kind == kind]) for kind in kinds})


def raw_features(evidence: Evidence, scale: float) -> FloatArray:
    """Features before centring and without the square, 0 where a support has no such rows: [T, N_FEATURES]."""

    def v(scores: FloatArray) -> FloatArray:
        out: FloatArray = np.arcsinh(scores / scale)
        return out

    parts = (evidence.normal, evidence.anomaly, evidence.unlabelled)
    has = [part.shape[1] > 0 for part in parts]
    F = np.zeros((len(evidence.normal), N_FEATURES))
    F[:, 0], F[:, 1], F[:, 2] = 1.0, v(evidence.normal).mean(1), v(evidence.normal).std(1)
    if has[1]:
        F[:, 3] = v(evidence.anomaly).mean(1)
    if has[2]:
        F[:, 4], F[:, 5] = np.quantile(v(evidence.unlabelled), [0.5, 0.9], axis=1)
    counts = (evidence.normal.shape[1], evidence.anomaly.shape[1], evidence.n_unlabelled)
    F[:, COUNTS] = np.log(np.maximum(counts, 1))
    return F


def _learn_case(episodes: Sequence[HeldOutScores]) -> CalibrationCase:
    sizes = np.abs(np.concatenate([part.normal.ravel() for part in episodes]))
    scale = SCALE_SHARE * float(np.median(sizes)) or float(sizes.mean()) or 1.0
    raw = np.concatenate([raw_features(part.evidence, scale) for part in episodes])
    blank = CalibrationCase(scale, _floats(raw.mean(0)), _floats(raw.min(0)), _floats(raw.max(0)), (), ())
    features = [blank.features(part.evidence) for part in episodes]

    def rows(scores: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Features and v of all these queries, [T, n] an episode: [N, N_FEATURES], [N]."""
        F = [np.repeat(of_tasks, part.shape[1], 0) for of_tasks, part in zip(features, scores, strict=True)]
        return np.concatenate(F), np.concatenate([np.arcsinh(part / scale).ravel() for part in scores])

    (F, v), (G, w) = rows([part.normal for part in episodes]), rows([part.anomaly for part in episodes])
    thresholds = np.array([fit_quantile(F, v, 1 - rate) for rate in RATES])
    both, y = np.concatenate([F, G]), np.repeat([0.0, 1.0], [len(F), len(G)])
    log_odds = fit_log_odds(both, np.concatenate([v, w]) - both @ thresholds[REFERENCE_RATE], y)
    return replace(blank, thresholds=tuple(map(_floats, thresholds)), log_odds=_floats(log_odds))


def _parse_case(case: dict[str, Any]) -> CalibrationCase:
    thresholds = tuple(_numbers(row, N_FEATURES) for row in case["thresholds"])
    log_odds, (scale,) = _numbers(case["odds"], N_FEATURES + 2), _numbers([case["scale"]], 1)
    if len(thresholds) != len(RATES) or scale <= 0 or min(log_odds[N_FEATURES:]) <= 0:
        raise ValueError("calibration: expected a threshold a rate, a scale and slopes above 0")
    means, smallest, largest = (_numbers(case[part], N_FEATURES) for part in ("usual", "least", "most"))
    return CalibrationCase(scale, means, smallest, largest, thresholds, log_odds)


def fit_quantile(F: FloatArray, v: FloatArray, level: float, penalty: float = 1e-3) -> FloatArray:
    """Coefficients c for which F c is the quantile of v at this level: least pinball loss. F: [N, D], v: [N] -> [D].

    F[:, 0] is 1. The loss is smoothed over a hundredth of the spread of v, and the constant then set so that
    the share of v above F c is what it should be. Coefficients are held back by a penalty in units of the spreads.
    """
    from scipy.optimize import minimize  # here: SciPy takes long to import, and scoring does without
    from scipy.special import expit

    spread = F.std(0)
    used = np.flatnonzero(spread > 1e-9)
    X = F[:, used] / spread[used]
    width = max(float(np.subtract(*np.quantile(v, [0.75, 0.25]))), 1e-9)
    y, start = v / width, np.zeros(len(used) + 1)
    start[0] = np.quantile(y, level)
    for smoothing in (0.3, 0.05, 0.01):

        def loss(c: FloatArray, h: float = smoothing) -> tuple[float, FloatArray]:
            residual = y - c[0] - X @ c[1:]
            value = float((level * residual + h * np.logaddexp(0.0, -residual / h)).mean())
            slope = expit(-residual / h) - level
            gradient = np.append(slope.mean(), X.T @ slope / len(y) + 2 * penalty * c[1:])
            return value + penalty * float(c[1:] @ c[1:]), gradient

        start = minimize(loss, start, jac=True, method="BFGS").x
    out = np.zeros(F.shape[1])
    out[used] = start[1:] * width / spread[used]
    out[0] = np.quantile(v - F @ out, level, method="higher")
    return out


def fit_log_odds(F: FloatArray, e: FloatArray, y: FloatArray, penalty: float = 1e-3) -> FloatArray:
    """Logistic regression, both classes weighing the same, on F [N, D] and on e below and above 0 [N]: [D + 2].

    F[:, 0] is 1. The slopes on e are at least MIN_SLOPE.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    X = np.column_stack([F, np.minimum(e, 0), np.maximum(e, 0)])
    spread = np.where(X.std(0) > 1e-9, X.std(0), 1.0)
    X = X / spread
    weight = np.where(y > 0, 0.5 / max(y.sum(), 1), 0.5 / max((1 - y).sum(), 1))
    held = np.append(0.0, np.ones(X.shape[1] - 1))

    def loss(c: FloatArray) -> tuple[float, FloatArray]:
        z = X @ c
        value = float(weight @ (np.logaddexp(0, z) - y * z)) + penalty * float(held @ c**2)
        return value, X.T @ (weight * (expit(z) - y)) + 2 * penalty * held * c

    least = MIN_SLOPE * spread[-2:]
    start = np.append(np.zeros(F.shape[1]), np.maximum(least, 1.0))
    bounds = [(None, None)] * F.shape[1] + [(low, None) for low in least]
    found: FloatArray = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}).x
    return found / spread


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _numbers(values: Any, count: int) -> tuple[float, ...]:
    if len(values) != count or not all(isinstance(value, float | int) and math.isfinite(value) for value in values):
        raise ValueError(f"calibration: expected {count} numbers")
    return tuple(float(value) for value in values)
