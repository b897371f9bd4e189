"""Synthetic tables of the field trial: columns of several distributions, anomalies scattered or of one fault."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Chosen so that the nearest labelled normal row separates most anomalies: the task can be done.
SHIFT_IN_SPREADS = 4.0
N_MIXTURE_CLUSTERS = 3
CLUSTER_SPREAD = 0.5  # of the rows of one fault, relative to that of normal rows
REAL_KINDS = ("gaussian", "t2", "lognormal")


class SyntheticTask(NamedTuple):
    """Rows of a synthetic table. normal: [N, M], anomaly: [A, M]."""

    normal: FloatArray
    anomaly: FloatArray


def make_task(
    column_kind: str, anomaly_kind: str, n_columns: int, sizes: tuple[int, int], rng: np.random.Generator
) -> SyntheticTask:
    """Draw the rows of a table.

    anomaly_kind: `cluster`, all anomalies shifted alike in every column; `scattered`, each in a few columns of its own;
    `tenth`, all alike in a tenth of the columns. sizes: numbers of normal and of anomalous rows.
    """
    n_normal, n_anomaly = sizes
    rows = _draw_columns(column_kind, n_normal + n_anomaly, n_columns, rng)
    normal, anomaly = rows[:n_normal], rows[n_normal:]
    shifted = _choose_columns(anomaly_kind, n_anomaly, n_columns, rng)
    if anomaly_kind == "cluster":  # one fault gives much the same values every time
        typical = np.median(normal, axis=0)
        anomaly = typical + CLUSTER_SPREAD * (anomaly - typical) if column_kind in REAL_KINDS else anomaly
    if column_kind in ("binary", "mostly-zero"):
        anomaly = _replace_values(column_kind, anomaly, shifted, rng)
    else:
        anomaly = anomaly + shifted * _shifts(column_kind, anomaly_kind, (n_anomaly, n_columns), rng)
    return SyntheticTask(normal, anomaly)


def _draw_columns(kind: str, n: int, n_columns: int, rng: np.random.Generator) -> FloatArray:
    """Rows of the normal distribution of the table, [n, n_columns]."""
    shape = (n, n_columns)
    if kind == "gaussian":
        return rng.normal(size=shape)
    if kind == "t2":
        return rng.standard_t(2, size=shape)
    if kind == "lognormal":
        return rng.lognormal(size=shape)
    if kind == "binary":
        frequency = rng.uniform(0.02, 0.3, n_columns)
        frequency = np.where(rng.random(n_columns) < 0.5, frequency, 1 - frequency)
        return (rng.random(shape) < frequency).astype(np.float64)
    if kind == "mostly-zero":
        return rng.lognormal(size=shape) * (rng.random(shape) < rng.uniform(0.02, 0.3, n_columns))
    assert kind == "mixture", kind
    centres = rng.normal(size=(N_MIXTURE_CLUSTERS, n_columns)) * 2
    rows: FloatArray = centres[rng.integers(N_MIXTURE_CLUSTERS, size=n)] + rng.normal(size=shape)
    return rows


def _choose_columns(anomaly_kind: str, n: int, n_columns: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which columns of which anomalies differ, [n, n_columns]."""
    if anomaly_kind == "cluster":
        return np.ones((n, n_columns), dtype=bool)
    if anomaly_kind == "tenth":
        columns = rng.permutation(n_columns) < max(1, n_columns // 10)
        return np.broadcast_to(columns, (n, n_columns))
    n_shifted = rng.integers(2, 6, size=(n, 1))
    ranks = rng.random((n, n_columns)).argsort(1).argsort(1)
    chosen: NDArray[np.bool_] = ranks < n_shifted
    return chosen


def _shifts(kind: str, anomaly_kind: str, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    """How far each value of each anomaly is moved, [n, n_columns]: alike in all rows unless they are scattered."""
    rows = shape[0] if anomaly_kind == "scattered" else 1
    signs = rng.choice([-1.0, 1.0], size=(rows, shape[1]))
    size = SHIFT_IN_SPREADS * (0.5 if anomaly_kind == "cluster" else 1.0)
    spread = {"gaussian": 1.0, "mixture": 1.0, "t2": 2.0, "lognormal": 1.5}[kind]
    if kind == "lognormal":
        signs = np.abs(signs)  # a value below 0 would tell at once
    return np.broadcast_to(signs * size * spread, shape)


def _replace_values(kind: str, rows: FloatArray, shifted: NDArray[np.bool_], rng: np.random.Generator) -> FloatArray:
    """Binary values are flipped, values that are mostly zero become positive; in a cluster in half of the columns."""
    if shifted.all():
        shifted = np.broadcast_to(rng.random(rows.shape[1]) < 0.5, rows.shape)
    values = 1 - rows if kind == "binary" else rng.lognormal(mean=1.0, size=rows.shape)
    return np.where(shifted, values, rows)
