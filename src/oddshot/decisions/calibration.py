"""From scores to decisions: thresholds for false-positive rates and the probability of an anomaly.

From features of its support, a small network predicts the distribution of the scores of a task's normal rows; its own
normal rows count beside that prediction (`normal_scores`). A second network predicts the log-odds of an anomaly, which
are piecewise linear in the normal quantile of a score, with their bend at the threshold for 10 %. Both networks are
learned on held-out tasks with supports of all sizes (`learning`), and need no more of a new task than its support.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oddshot.decisions.features import N_FEATURES, support_features
from oddshot.decisions.normal_scores import (
    KNOTS,
    N_SHAPE,
    NormalScores,
    expected_quantiles,
    normal_quantile,
    normal_share_above,
)
from oddshot.decisions.support_scores import SupportScores
from oddshot.errors import InputError, one_line
from oddshot.score.arrays import Array, clip, namespace

RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
DEFAULT_RATE = 0.05  # of normal rows that may be called anomalies
REFERENCE_RATE = 0.1  # the log-odds are piecewise linear, with their bend at the threshold for this rate
N_ODDS = 3  # log-odds at the bend, slope below and slope above
MIN_SLOPE = 0.02  # of the log-odds, so that probabilities grow with the score
MAX_LINEAR_LOG_ODDS = 5.0  # few held-out rows can prove larger ones: beyond, they grow logarithmically
MAX_SCALED_SCORE = 300.0  # of asinh(a / scale); its sinh is still finite
MAX_ABS_INPUT = 6.0  # of a standardised feature

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
    """normal: the distribution of the normal rows' scores. log_odds: at the bend, slope below and slope above it."""

    normal: NormalScores
    log_odds: tuple[float, float, float]

    def threshold(self, rate: float | None = None) -> float:
        """The score above which this share of normal rows lies, by default DEFAULT_RATE."""
        return self.normal.score_at(_quantile(DEFAULT_RATE if rate is None else rate))

    def rate(self, threshold: float) -> float:
        """The inverse of `threshold`, within RATES."""
        share = float(normal_share_above(self.normal.quantile_of(np.array([threshold])))[0])
        return min(max(share, RATES[0]), RATES[-1])

    def probability(self, scores: FloatArray) -> FloatArray:
        """[n] -> [n]."""
        constant, below, above = self.log_odds
        e = self.normal.quantile_of(scores) - _quantile(REFERENCE_RATE)
        log_odds = constant + below * np.minimum(e, 0) + above * np.maximum(e, 0)
        linear = np.clip(log_odds, -MAX_LINEAR_LOG_ODDS, MAX_LINEAR_LOG_ODDS)
        beyond = np.sign(log_odds) * np.log1p(np.maximum(np.abs(log_odds) - MAX_LINEAR_LOG_ODDS, 0))
        return logistic(linear + beyond)

    def scale(self) -> tuple[float, float]:
        """Location and unit of scores that are 0 for a median normal row, and 1 at the default threshold."""
        median = self.threshold(0.5)
        return median, max(self.threshold() - median, np.finfo(np.float64).tiny)

    def rescaled(self, location: float, unit: float) -> "CalibratedDecision":
        """The same for scores (s − location) / unit."""
        return replace(self, normal=self.normal.rescaled(location, unit))


@dataclass(frozen=True)
class FeatureNetwork:
    """y = x W + b + tanh(x V + c) U, where x are standardised features.

    mean, spread: [D], of the features. W: [D, O], b: [O], V: [D, H], c: [H], U: [H, O].
    """

    mean: Array
    spread: Array
    W: Array
    b: Array
    V: Array
    c: Array
    U: Array

    def __call__(self, features: Array) -> Array:
        """[T, D] -> [T, O]."""
        x = clip((features - self.mean) / self.spread, -MAX_ABS_INPUT, MAX_ABS_INPUT)
        return x @ self.W + self.b + namespace(x).tanh(x @ self.V + self.c) @ self.U

    @classmethod
    def mean_of(cls, networks: Sequence["FeatureNetwork"]) -> "FeatureNetwork":
        """The network whose outputs are the means of those of several; these standardise features alike."""
        first = networks[0]
        W, b = (np.mean(parts, axis=0) for parts in zip(*((one.W, one.b) for one in networks), strict=True))
        V, c = (np.concatenate(parts, axis=-1) for parts in zip(*((one.V, one.c) for one in networks), strict=True))
        return cls(first.mean, first.spread, W, b, V, c, np.concatenate([one.U for one in networks]) / len(networks))

    def to_dict(self) -> dict[str, Any]:
        """In types that JSON has."""
        return {name: weights.tolist() for name, weights in vars(self).items()}

    @classmethod
    def from_dict(cls, data: Any, n_outputs: int) -> "FeatureNetwork":
        """ValueError, TypeError or KeyError for what is not such a network with so many outputs."""
        parts = {part.name: np.array(data[part.name], dtype=np.float64) for part in fields(cls)}
        D, H = N_FEATURES, parts["c"].size
        expected = {
            "mean": (D,),
            "spread": (D,),
            "W": (D, n_outputs),
            "b": (n_outputs,),
            "V": (D, H),
            "U": (H, n_outputs),
        }
        if any(parts[name].shape != shape for name, shape in expected.items()):
            raise ValueError("calibration: numbers of another shape")
        if not all(np.isfinite(part).all() for part in parts.values()) or not (parts["spread"] > 0).all():
            raise ValueError("calibration: expected finite numbers, and spreads above 0")
        return cls(**parts)


@dataclass(frozen=True)
class Calibration:
    """What was learned on held-out tasks.

    shape: predicts the distribution of normal scores, [N_SHAPE] numbers; odds: the log-odds, [N_ODDS]. scale: scores
    that are not standardised are taken as asinh(a / scale), which is logarithmic for large ones of either sign.
    """

    shape: FeatureNetwork
    odds: FeatureNetwork
    scale: float

    def decide(self, support: SupportScores) -> CalibratedDecision:
        """For a task, the only one of these."""
        features, (normal,) = self.distributions(support.standardised(self.scale))
        constant, below, above = log_odds_of(self.odds(features))[0].tolist()
        if not support.is_standardised:
            limit = MAX_SCALED_SCORE
            normal = replace(normal, scores=self.scale * np.sinh(np.clip(normal.scores, -limit, limit)))
        return CalibratedDecision(normal, (constant, below, above))

    def distributions(self, support: SupportScores) -> tuple[FloatArray, list[NormalScores]]:
        """Features [T, D], and the distribution of normal scores of each task. support: standardised."""
        features, location, spread = support_features(support)
        predicted = expected_quantiles(self.shape(features), KNOTS)
        expected = location[:, None] + spread[:, None] * predicted
        own = support.normal
        if not support.is_leave_one_out:  # rows that a method has seen score lower than new ones, or as low
            expected, own = np.maximum(expected, own.min(1, keepdims=True)), own[:, :0]
        return features, [NormalScores.combine(*one) for one in zip(expected, own, strict=True)]

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON has."""
        return {"shape": self.shape.to_dict(), "odds": self.odds.to_dict(), "scale": self.scale}

    @classmethod
    def from_dict(cls, data: Any) -> "Calibration":
        """From what `to_dict` gave, read from a file that may be damaged: ValueError, TypeError or KeyError if so."""
        if not isinstance(data, dict) or not all(isinstance(data[name], Mapping) for name in ("shape", "odds")):
            raise TypeError(f"calibration is {str(data)[:40]!r}")
        scale = data["scale"]
        if not isinstance(scale, float) or not math.isfinite(scale) or scale <= 0:
            raise ValueError("calibration: the scale is not a number above 0")
        shape, odds = (FeatureNetwork.from_dict(data[name], n) for name, n in (("shape", N_SHAPE), ("odds", N_ODDS)))
        return cls(shape, odds, scale)


def log_odds_of(outputs: Array) -> Array:
    """Log-odds at the bend and slopes, at least MIN_SLOPE, from what the network gives: [T, N_ODDS] -> [T, N_ODDS]."""
    xp, slopes = namespace(outputs), outputs[:, 1:]
    zero = xp.zeros_like(slopes)
    softplus = xp.log1p(xp.exp(-xp.abs(slopes))) + xp.maximum(slopes, zero)
    return xp.concat([outputs[:, :1], MIN_SLOPE + softplus], axis=1)


def logistic(log_odds: FloatArray) -> FloatArray:
    """The probabilities of these log-odds, however large: [n] -> [n]."""
    e = np.exp(-np.abs(log_odds))
    p: FloatArray = np.where(log_odds >= 0, 1.0, e) / (1.0 + e)
    return p


def check_rate(rate: object) -> float | None:
    """A false-positive rate as given by a person, or None for none."""
    if rate is None:
        return None
    if not isinstance(rate, int | float | np.integer | np.floating) or not RATES[0] <= rate <= RATES[-1]:
        shown = one_line(rate)
        expected = f"a number from {RATES[0]} to {RATES[-1]}, such as 0.01 for 1 %"
        raise InputError(f"false_positive_rate is {shown}; it must be {expected}", "false_positive_rate")
    return float(rate)


def _quantile(rate: float) -> float:
    return float(normal_quantile(np.array([rate]))[0])
