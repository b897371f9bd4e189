"""Scores made by hand, and models of a fleet whose tasks drift."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from oddshot import EpisodeSizes, Task
from oddshot.decisions.support_scores import SupportScores
from oddshot.methods.contract import Score
from tests.fleets import labels


def make_scores(normal, anomaly=None, unlabelled=None, n_columns=3, **changes):
    """[T, n] and so on; what is left out is empty."""
    normal = np.array(normal, dtype=np.float64)
    empty = np.empty((len(normal), 0))
    parts = [empty if part is None else np.array(part, dtype=np.float64) for part in (anomaly, unlabelled)]
    kind = {"is_leave_one_out": True, "is_standardised": True} | changes
    return SupportScores(normal, *parts, np.full(len(normal), float(n_columns)), **kind)


def one_task(scores, t):
    """Those of one of the tasks."""
    parts = ("normal", "anomaly", "unlabelled", "n_columns")
    return replace(scores, **{name: getattr(scores, name)[t : t + 1] for name in parts})


class SumScore(Score):
    """The sum of a row's columns, in float32 as a method may have it."""

    def __call__(self, x):
        return x.sum(-1).astype(np.float32)


def drifting(t, n=60):
    """A fleet whose tasks differ in where they lie; the anomalies are off in the first column."""
    rng = np.random.default_rng([7, t])
    X = rng.normal(size=(n, 3))
    X[labels(n) == 1, 0] += 4
    return X + rng.normal(size=3)


@cache
def fleet_model(method):
    pytest.importorskip("torch")
    from oddshot import TrainingConfig, meta_train

    tasks = [Task(f"machine{t}", drifting(t), labels(60)) for t in range(160)]
    training = TrainingConfig(epochs=6, batch_size=30)
    return meta_train(
        tasks[:80], validation=tasks[80:], method=method, sizes=EpisodeSizes(5, 1, 15, 4), training=training,
        device="cpu", progress=False, units=16,
    )  # fmt: skip
