"""From scores to decisions: thresholds for false-positive rates and the probability of an anomaly.

Both are learned on tasks that training has not seen, and need of a new task no more than its support. Scores are taken
on a scale on which those of all methods are alike, v = asinh(a / scale): logarithmic for large ones, whatever their
sign. On it, the threshold for a rate is linear in a few figures of the support (quantile regression): where its normal
rows lie and how far apart, where its anomalies lie, where unlabelled rows lie, and how many of each there are. The log
odds of an anomaly grow with v, with one slope up to the threshold for 10 % and another beyond it (logistic regression).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, ndtr, ndtri

from oddshot.decisions.evidence import Evidence
from oddshot.decisions.held_out import HeldOut
from oddshot.errors import InputError

RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
REFERENCE = RATES.index(0.1)  # the log odds are piecewise linear in v, with their bend at this threshold
# 1, normal mean and spread, anomaly mean, unlabelled median and 90 %, logs of the three numbers of rows, one squared
FEATURES = 10
COUNTS, N_NORMAL, SQUARED = slice(6, 9), 6, 9
SMALL = 0.3  # the scale, as a share of a usual normal score
STEEPNESS = 0.02  # the least slope of the log odds: probabilities grow with the score
SURE = 5.0  # log odds that few held-out rows can prove
FARTHEST = 300.0  # v stops here: sinh of it is still finite

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Decision:
    """One task's calibration. scale: as in v = asinh(a / scale). cuts: [RATES], thresholds on v, falling as rates grow.

    log_odds: constant, slope below and slope above the reference threshold.
    """

    scale: float
    cuts: Array
    log_odds: tuple[float, float, float]

    def threshold(self, rate: float | None = None) -> float:
        """The score above which so large a share of normal rows lies; without a rate, where the probability is 1/2."""
        if rate is None:
            constant, below, above = self.log_odds
            v = self.cuts[REFERENCE] - constant / (above if constant <= 0 else below)
        else:
            v = np.interp(ndtri(rate), ndtri(RATES), self.cuts)
        return float(self.scale * np.sinh(np.clip(v, -FARTHEST, FARTHEST)))

    def rate(self, threshold: float) -> float:
        """The share of normal rows expected above a score, within RATES: `threshold` the other way round."""
        v = np.arcsinh(threshold / self.scale)
        return float(ndtr(np.interp(v, self.cuts[::-1], ndtri(RATES)[::-1])))

    def probability(self, scores: Array) -> Array:
        """Of an anomaly, where normal and anomalous rows are met equally often: [n] -> [n]."""
        constant, below, above = self.log_odds
        e = np.arcsinh(scores / self.scale) - self.cuts[REFERENCE]
        log_odds = constant + below * np.minimum(e, 0) + above * np.maximum(e, 0)
        # Beyond 1 to 150 the odds of rows that lie farther out than any that was met grow no longer exponentially.
        bounded = np.sign(log_odds) * np.log1p(np.maximum(np.abs(log_odds) - SURE, 0))
        p: Array = expit(np.clip(log_odds, -SURE, SURE) + bounded)
        return p


@dataclass(frozen=True)
class Case:
    """Coefficients for supports of one kind.

    scale: as in v = asinh(a / scale). usual: [FEATURES], means of the features, from which they are measured. least,
    most: [FEATURES], as far as they were met; counts beyond are taken as these. thresholds: [RATES, FEATURES]. odds:
    [FEATURES + 2], those of the features, then the slopes below and above the reference.
    """

    scale: float
    usual: tuple[float, ...]
    least: tuple[float, ...]
    most: tuple[float, ...]
    thresholds: tuple[tuple[float, ...], ...]
    odds: tuple[float, ...]

    def features(self, evidence: Evidence) -> Array:
        """[T, FEATURES], measured from what is usual."""
        F = raw_features(evidence, self.scale)
        F[:, COUNTS] = np.clip(F[:, COUNTS], self.least[COUNTS], self.most[COUNTS])
        F[:, 1:] -= self.usual[1:]
        F[:, SQUARED] = F[:, N_NORMAL] ** 2  # a bend, so that a rate holds for few, some and many normal rows
        return F


@dataclass(frozen=True)
class Calibration:
    """What was learned on held-out tasks, for each kind of support that the method can work with."""

    cases: Mapping[str, Case]

    def decide(self, evidence: Evidence) -> Decision:
        """For a task (the only one of this evidence). A kind of support that was not met is refused."""
        case = self.cases.get(evidence.case) or self.cases.get(evidence.case.removesuffix(", unlabelled"))
        if case is None:
            raise InputError(f"the model has no calibration for a support of this kind ({evidence.case})")
        F = case.features(evidence)[0]
        cuts = np.maximum.accumulate((np.array(case.thresholds) @ F)[::-1])[::-1]
        constant, (below, above) = np.array(case.odds[:FEATURES]) @ F, case.odds[FEATURES:]
        return Decision(case.scale, cuts, (float(constant), below, above))

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON has."""
        return {name: asdict(case) for name, case in self.cases.items()}

    @classmethod
    def from_dict(cls, data: Any) -> "Calibration":
        """Back from to_dict by way of JSON, trusting nothing: a ValueError, TypeError or KeyError where it is not."""
        cases = {}
        for name, case in dict(data).items():
            thresholds = tuple(_numbers(row, FEATURES) for row in case["thresholds"])
            odds, (scale,) = _numbers(case["odds"], FEATURES + 2), _numbers([case["scale"]], 1)
            if len(thresholds) != len(RATES) or scale <= 0 or min(odds[FEATURES:]) <= 0:
                raise ValueError("calibration: expected a threshold a rate, a scale and slopes above 0")
            usual, least, most = (_numbers(case[part], FEATURES) for part in ("usual", "least", "most"))
            cases[str(name)] = Case(scale, usual, least, most, thresholds, odds)
        return cls(cases)


def check_rate(rate: object) -> float | None:
    """A false-positive rate as given by a person, or None for none."""
    if rate is None:
        return None
    known = isinstance(rate, int | float | np.number) and RATES[0] <= float(rate) <= RATES[-1]
    if not known:
        raise InputError(f"false_positive_rate is {rate!r}; it must be a number from {RATES[0]} to {RATES[-1]}")
    return float(rate)  # type: ignore[arg-type]


def learn_calibration(episodes: Sequence[HeldOut]) -> Calibration:
    """From episodes of every kind of support that the method can work with."""
    kinds = dict.fromkeys(part.evidence.case for part in episodes)
    return Calibration({kind: _learn_case([e for e in episodes if e.evidence.case == kind]) for kind in kinds})


def raw_features(evidence: Evidence, scale: float) -> Array:
    """[T, FEATURES], 0 where a support has no such rows; the square comes later."""

    def v(scores: Array) -> Array:
        out: Array = np.arcsinh(scores / scale)
        return out

    parts = (evidence.normal, evidence.anomaly, evidence.unlabelled)
    has = [part.shape[1] > 0 for part in parts]
    F = np.zeros((len(evidence.normal), FEATURES))
    F[:, 0], F[:, 1], F[:, 2] = 1.0, v(evidence.normal).mean(1), v(evidence.normal).std(1)
    if has[1]:
        F[:, 3] = v(evidence.anomaly).mean(1)
    if has[2]:
        F[:, 4], F[:, 5] = np.quantile(v(evidence.unlabelled), [0.5, 0.9], axis=1)
    counts = (evidence.normal.shape[1], evidence.anomaly.shape[1], evidence.n_unlabelled)
    F[:, COUNTS] = np.log(np.maximum(counts, 1))
    return F


def _learn_case(episodes: Sequence[HeldOut]) -> Case:
    sizes = np.abs(np.concatenate([part.normal.ravel() for part in episodes]))
    scale = SMALL * float(np.median(sizes)) or float(sizes.mean()) or 1.0
    raw = np.concatenate([raw_features(part.evidence, scale) for part in episodes])
    blank = Case(scale, _plain(raw.mean(0)), _plain(raw.min(0)), _plain(raw.max(0)), (), ())

    def rows(label: str) -> tuple[Array, Array]:
        """Features and v of all queries with this label: [N, FEATURES], [N]."""
        scores: list[Array] = [getattr(part, label) for part in episodes]
        F = [np.repeat(blank.features(p.evidence), s.shape[1], 0) for p, s in zip(episodes, scores, strict=True)]
        return np.concatenate(F), np.concatenate([np.arcsinh(s / scale).ravel() for s in scores])

    (F, v), (G, w) = rows("normal"), rows("anomaly")
    thresholds = np.array([fit_quantile(F, v, 1 - rate) for rate in RATES])
    both, y = np.concatenate([F, G]), np.repeat([0.0, 1.0], [len(F), len(G)])
    odds = fit_odds(both, np.concatenate([v, w]) - both @ thresholds[REFERENCE], y)
    return replace(blank, thresholds=tuple(map(_plain, thresholds)), odds=_plain(odds))


def fit_quantile(F: Array, v: Array, level: float, penalty: float = 1e-3) -> Array:
    """Coefficients c for which F c is the quantile of v at this level: least pinball loss. F: [N, D], v: [N] -> [D].

    F[:, 0] is 1. The loss is smoothed over a hundredth of the spread of v, and the constant then set so that
    the share of v above F c is what it should be. Coefficients are held back by a penalty in units of the spreads.
    """
    spread = F.std(0)
    used = np.flatnonzero(spread > 1e-9)
    X = F[:, used] / spread[used]
    width = max(float(np.subtract(*np.quantile(v, [0.75, 0.25]))), 1e-9)
    y, start = v / width, np.zeros(len(used) + 1)
    start[0] = np.quantile(y, level)
    for smoothing in (0.3, 0.05, 0.01):

        def loss(c: Array, h: float = smoothing) -> tuple[float, Array]:
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


def fit_odds(F: Array, e: Array, y: Array, penalty: float = 1e-3) -> Array:
    """Logistic regression, both classes weighing the same, on F [N, D] and on e below and above 0 [N]: [D + 2].

    F[:, 0] is 1. The slopes on e are at least STEEPNESS.
    """
    X = np.column_stack([F, np.minimum(e, 0), np.maximum(e, 0)])
    spread = np.where(X.std(0) > 1e-9, X.std(0), 1.0)
    X = X / spread
    weight = np.where(y > 0, 0.5 / max(y.sum(), 1), 0.5 / max((1 - y).sum(), 1))
    held = np.append(0.0, np.ones(X.shape[1] - 1))

    def loss(c: Array) -> tuple[float, Array]:
        z = X @ c
        value = float(weight @ (np.logaddexp(0, z) - y * z)) + penalty * float(held @ c**2)
        return value, X.T @ (weight * (expit(z) - y)) + 2 * penalty * held * c

    least = STEEPNESS * spread[-2:]
    start = np.append(np.zeros(F.shape[1]), np.maximum(least, 1.0))
    bounds = [(None, None)] * F.shape[1] + [(low, None) for low in least]
    found: Array = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}).x
    return found / spread


def _plain(values: Array) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


def _numbers(values: Any, count: int) -> tuple[float, ...]:
    if len(values) != count or not all(isinstance(value, float | int) and math.isfinite(value) for value in values):
        raise ValueError(f"calibration: expected {count} numbers")
    return tuple(float(value) for value in values)
