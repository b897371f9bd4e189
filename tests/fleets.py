"""Small fleets of labelled tasks and small models of them, for tests.

The models are files in tests/models, so that tests need neither torch nor the time of a training. To write them again:
`python -m tests.fleets`.
"""

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from oddshot import EpisodeSizes, Model, Task, load_model
from oddshot.methods import find_method, method_names

SIZES = EpisodeSizes(3, 1, 5, 2)
MODELS = Path(__file__).with_name("models")
MIXED = ("temperature", "speed", "mode", "door", "seen")


def __getattr__(name: str) -> Any:
    """SHORT, a short training, which alone needs torch."""
    if name != "SHORT":
        raise AttributeError(name)
    from oddshot import TrainingConfig

    return TrainingConfig(epochs=2, batch_size=4)


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
    """A model that was trained as `train_small_model` does it."""
    file = MODELS / f"{method}-{make.__name__}.safetensors"
    return load_model(file) if file.exists() else train_small_model(method, make)


def train_small_model(method="eigen", make=numbers) -> Model:
    """Trained for two epochs: enough for its weights, its encoding and its threshold to be its own."""
    from oddshot import meta_train

    known = {field.name for field in dataclasses.fields(find_method(method).config_type)}
    settings = {"units": 16} if "units" in known else {}
    short = __getattr__("SHORT")
    return meta_train(fleet(make), method=method, sizes=SIZES, training=short, device="cpu", progress=False, **settings)


def write_small_models() -> None:
    """Of all methods that need no other package."""
    MODELS.mkdir(exist_ok=True)
    names = [name for name in method_names() if not name.startswith("relative-")]
    for name in names:
        if name not in ("catboost", "xgboost"):
            train_small_model(name).save(MODELS / f"{name}-numbers.safetensors")
    for name in ("eigen", "wonn", "woanomaly", "lr", "relative"):
        train_small_model(name, mixed).save(MODELS / f"{name}-mixed.safetensors")


if __name__ == "__main__":
    write_small_models()
