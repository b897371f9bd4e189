"""Fleets, tables and supports, always the same, made with nothing of the package but its public names."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from oddshot import EpisodeSizes, Task

SIZES = EpisodeSizes(3, 1, 5, 2)
SHORT = {"epochs": 2, "batch_size": 4}  # of a training
Maker = Callable[..., Any]


def labels(n: int = 40) -> Any:
    """Every fifth row is an anomaly; the last one is unlabelled."""
    y = (np.arange(n) % 5 == 0).astype(np.int8)
    y[-1] = -1
    return y


def numbers(seed: int, n: int = 40, width: int = 3) -> Any:
    """Rows [n, width] whose anomalies are off in the first column."""
    X = np.random.default_rng(seed).normal(size=(n, width))
    X[labels(n) == 1, 0] += 4
    return X


def mixed(seed: int, n: int = 40) -> pd.DataFrame:
    """A table with a column of every kind, some cells missing."""
    rng = np.random.default_rng(seed)
    X = numbers(seed, n, 2)
    X[rng.random(n) < 0.1, 1] = np.nan
    mode = np.array(["idle", "run", "stop"], dtype=object)[rng.integers(0, 3, n)]
    mode[rng.random(n) < 0.1] = None
    seen = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s")
    door = rng.random(n) < 0.5
    return pd.DataFrame({"temperature": 20 + 5 * X[:, 0], "speed": X[:, 1], "mode": mode, "door": door, "seen": seen})


def labelled(seed: int, n: int = 40) -> pd.DataFrame:
    """A mixed table with its labels in the column `fault`; an unlabelled row is empty there."""
    y = pd.Series(labels(n)).astype(object).where(labels(n) >= 0, None)
    return mixed(seed, n).assign(fault=y)


def fleet(make: Maker = numbers) -> list[Task]:
    """Six machines."""
    return [Task(f"machine{t}", make(t), labels()) for t in range(6)]


def support(rows: Any, normal: int, anomaly: int, unlabelled: int = 0) -> tuple[Any, Any]:
    """The first so many rows of each kind, and then others without their labels: X and y."""
    y = labels(len(rows))
    kinds = [np.flatnonzero(y == 0)[:normal], np.flatnonzero(y == 1)[:anomaly]]
    others = np.setdiff1d(np.arange(len(rows)), np.concatenate(kinds))[:unlabelled]
    assert len(others) == unlabelled
    chosen = np.concatenate([*kinds, others])
    X = rows.iloc[chosen].reset_index(drop=True) if isinstance(rows, pd.DataFrame) else rows[chosen]
    return X, np.repeat(np.array([0, 1, -1], np.int8), [normal, anomaly, unlabelled])
