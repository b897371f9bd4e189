"""A scan of rankings: supports, unlabelled rows, widths and kinds of columns, against the nearest normal row."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from oddshot import FewShotDetector
from tests.hostile.log import TrialLog

FloatArray = NDArray[np.float64]
KINDS = ("normal", "heavy-tailed", "skewed", "binary", "mostly zero", "whole numbers", "one constant", "correlated")
N_NORMAL_QUERIES, N_ANOMALOUS_QUERIES = 150, 75
BACKWARDS, SIMPLE_IS_RIGHT = 0.5, 0.7  # AUC below which a ranking is backwards where the simple method's is above


class Situation(NamedTuple):
    """What one try is made of."""

    kind: str
    width: int
    n_normal: int
    n_anomaly: int
    n_unlabelled: int
    rate: float  # of anomalies among the unlabelled rows
    is_cluster: bool  # one kind of anomaly instead of scattered ones


def draw_situation(rng: np.random.Generator) -> Situation:
    n_unlabelled = int(rng.choice([0, 0, 1, 10, 100, 200, 1000]))
    width = int(np.exp(rng.uniform(0, np.log(500 if n_unlabelled < 500 else 50))).round())
    n_normal, n_anomaly = int(rng.integers(1, 31)), int(rng.choice([0, 0, 1, 1, 2, 5, 10]))
    return Situation(
        str(rng.choice(KINDS)), width, n_normal, n_anomaly, n_unlabelled, rng.uniform(0, 0.3), bool(rng.random() < 0.5)
    )


def try_rankings(log: TrialLog, seed: int, n: int) -> None:
    with log.door("rankings") as attempt:
        for k in range(n):
            rng = np.random.default_rng([seed, k])
            situation = draw_situation(rng)
            attempt(f"seed {seed}, {k}: {situation}", lambda s=situation, r=rng: _rank(s, r))


def _rank(situation: Situation, rng: np.random.Generator) -> None:
    rows = _Rows(situation, rng)
    n_hidden = int(rng.binomial(situation.n_unlabelled, situation.rate))
    support = rows.normal(situation.n_normal)
    parts = [support, rows.anomalous(situation.n_anomaly)]
    parts += [rows.normal(situation.n_unlabelled - n_hidden), rows.anomalous(n_hidden)]
    labels = np.repeat([0, 1, -1, -1], [len(part) for part in parts])
    queries = np.concatenate([rows.normal(N_NORMAL_QUERIES), rows.anomalous(N_ANOMALOUS_QUERIES)])
    truth = np.repeat([0, 1], [N_NORMAL_QUERIES, N_ANOMALOUS_QUERIES])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = FewShotDetector().fit(np.concatenate(parts), labels)
        scores = detector.score_samples(queries)
        probabilities = detector.predict_proba(queries)
    assert np.isfinite(scores).all(), "scores that are not finite"
    assert np.isfinite(probabilities).all(), "probabilities that are not finite"
    ours, simple = roc_auc_score(truth, scores), roc_auc_score(truth, nearest_normal(support, queries))
    assert ours >= BACKWARDS or simple <= SIMPLE_IS_RIGHT, f"AUC {ours:.3f}, nearest normal row {simple:.3f}"


def nearest_normal(normal: FloatArray, queries: FloatArray) -> FloatArray:
    """Distance to the nearest normal row, in standard deviations of the normal rows where they have any."""
    spread = normal.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0) if len(normal) > 1 else np.ones(normal.shape[1])
    distances = np.abs((queries[:, None] - normal[None]) / scale)
    nearest: FloatArray = np.sqrt(np.square(distances).mean(axis=2)).min(axis=1)
    return nearest


class _Rows:
    """Draws normal and anomalous rows of one table."""

    def __init__(self, situation: Situation, rng: np.random.Generator) -> None:
        self.kind, self.width, self.is_cluster, self.rng = situation.kind, situation.width, situation.is_cluster, rng
        self.unit = 10.0 ** rng.uniform(-6, 6, self.width)
        self.mixing = np.eye(self.width) + rng.normal(size=(self.width, self.width)) / np.sqrt(self.width)
        self.share = rng.uniform(0.02, 0.4, self.width)
        self.direction = rng.choice([-1.0, 1.0], self.width) * (rng.random(self.width) < max(0.3, 1 / self.width))
        self.direction[rng.integers(self.width)] = 1.0

    def normal(self, n: int) -> FloatArray:
        return self._finished(self._base(n))

    def anomalous(self, n: int) -> FloatArray:
        base = self._base(n)
        if self.kind in ("binary", "mostly zero"):
            moved = np.where(self.direction != 0, self.direction, 0) if self.is_cluster else self._scattered(n)
            base = np.where(moved != 0, np.maximum(1.0, 4.0 * (self.kind == "mostly zero")) - base * (base <= 1), base)
        else:
            base = base + 4.0 * (self.direction if self.is_cluster else self._scattered(n))
        return self._finished(base)

    def _scattered(self, n: int) -> FloatArray:
        is_moved = self.rng.random((n, self.width)) < max(0.3, 1 / self.width)
        is_moved[np.arange(n), self.rng.integers(0, self.width, n)] = True
        return self.rng.choice([-1.0, 1.0], (n, self.width)) * is_moved

    def _base(self, n: int) -> FloatArray:
        rng, shape = self.rng, (n, self.width)
        values: FloatArray
        if self.kind == "heavy-tailed":
            values = rng.standard_t(3, shape) / np.sqrt(3)
        elif self.kind == "binary":
            values = (rng.random(shape) < self.share).astype(float)
        elif self.kind == "mostly zero":
            values = rng.exponential(size=shape) * (rng.random(shape) < self.share)
        elif self.kind == "correlated":
            values = rng.normal(size=shape) @ self.mixing
        else:
            values = rng.normal(size=shape)
        return values

    def _finished(self, base: FloatArray) -> FloatArray:
        if self.kind == "skewed":
            base = np.exp(base)
        if self.kind == "whole numbers":
            base = np.round(5 * base)
        if self.kind == "one constant" and self.width > 1:
            base = np.concatenate([np.zeros((len(base), 1)), base[:, 1:]], axis=1)
        return base * self.unit
