"""Small fleets of labelled tasks and small models of them, for tests."""

import dataclasses
from functools import cache

import numpy as np
import pandas as pd

from oddshot import EpisodeSizes, Model, Task, TrainingConfig, meta_train
from oddshot.methods import find_method

SIZES = EpisodeSizes(3, 1, 5, 2)
SHORT = TrainingConfig(epochs=2, batch_size=4)
MIXED = ("temperature", "speed", "mode", "door", "seen")


def labels(n=40):
    """Every fifth row is an anomaly; the last one is unlabelled."""
    y = (np.arange(n) % 5 == 0).astype(np.int8)
    y[-1] = -1
    return y


def numbers(seed, n=40, width=3):
    """Rows [n, width] whose anomalies are off in the first column."""
    X = np.random.default_rng(seed).normal(size=(n, width))
    X[labels(n) == 1, 0] += 4
    return X


def mixed(seed, n=40):
    """A table with a column of every kind, some cells missing."""
    rng = np.random.default_rng(seed)
    X = numbers(seed, n, 2)
    X[rng.random(n) < 0.1, 1] = np.nan
    mode = np.array(["idle", "run", "stop"], dtype=object)[rng.integers(0, 3, n)]
    mode[rng.random(n) < 0.1] = None
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s")
    columns = (20 + 5 * X[:, 0], X[:, 1], mode, rng.random(n) < 0.5, seen)
    return pd.DataFrame(dict(zip(MIXED, columns, strict=True)))


def fleet(make=numbers, n_tasks=6, **settings):
    return [Task(f"machine{t}", make(t, **settings), labels()) for t in range(n_tasks)]


@cache
def small_model(method="eigen", make=numbers) -> Model:
    """Trained for two epochs: enough for its weights, its encoding and its threshold to be its own."""
    known = {field.name for field in dataclasses.fields(find_method(method).config_type)}
    settings = {"units": 16} if "units" in known else {}
    return meta_train(fleet(make), method=method, sizes=SIZES, training=SHORT, device="cpu", **settings)
