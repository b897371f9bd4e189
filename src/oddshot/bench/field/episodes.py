"""Episodes of the field trial: the rows and labels given to fit, and the rows to be ranked."""

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oddshot.bench.field.situations import (
    MAX_SCORED_ANOMALY,
    MAX_SCORED_NORMAL,
    MIN_SCORED_ANOMALY,
    Situation,
    unlabelled_anomalies,
    unlabelled_rows,
)
from oddshot.bench.field.synthetic import make_task
from oddshot.bench.field.tables import FieldTable
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class FieldEpisode:
    """What a user gives to `fit` and wants ranked.

    X: [n, M] and labels: [n], 0, 1 or -1, are given to fit. scored: [q, M], the rows to be ranked; is_anomaly: [q],
    which nobody sees. positions: [q], the place of each scored row in X, or None where they are not in X.
    """

    X: FloatArray
    labels: NDArray[np.int8]
    scored: FloatArray
    is_anomaly: NDArray[np.bool_]
    positions: IntArray | None = None


def draw_episode(situation: Situation, table: FieldTable, draw: int) -> FieldEpisode:
    """The same table and number of the draw give the same order of rows in every situation."""
    rng = np.random.default_rng([zlib.crc32(table.name.encode()), draw])
    if situation.column_kind:
        # A situation of its own kind of columns draws from a stream of its own.
        rng = np.random.default_rng([zlib.crc32(f"{table.name}, {situation.name}".encode()), draw])
        return _draw_synthetic(situation, rng)
    normal = rng.permutation(np.flatnonzero(table.y == NORMAL))
    anomaly = rng.permutation(np.flatnonzero(table.y == ANOMALY))
    if situation.table_rows:
        return _whole_table(situation, table, normal, anomaly, rng)
    return _rows_apart(situation, table.X, normal, anomaly)


def _rows_apart(situation: Situation, X: FloatArray, normal: IntArray, anomaly: IntArray) -> FieldEpisode:
    """Labelled, unlabelled and scored rows are different rows. normal, anomaly: row numbers in random order."""
    labelled = [normal[: situation.n_normal], anomaly[: situation.n_anomaly]]
    normal, anomaly = normal[situation.n_normal :], anomaly[situation.n_anomaly :]
    n_bad = unlabelled_anomalies(situation, len(normal), len(anomaly))
    contaminated = situation.contamination is not None
    n_rows = situation.n_unlabelled if contaminated else unlabelled_rows(situation, len(normal) + len(anomaly))
    n_good = n_rows - n_bad
    unlabelled = np.concatenate([normal[:n_good], anomaly[:n_bad]])
    scored = [normal[n_good:][:MAX_SCORED_NORMAL], anomaly[n_bad:][:MAX_SCORED_ANOMALY]]
    given = np.concatenate([*labelled, unlabelled])
    labels = np.repeat([NORMAL, ANOMALY, UNLABELLED], [*map(len, labelled), len(unlabelled)])
    is_anomaly = np.repeat([False, True], [*map(len, scored)])
    return FieldEpisode(X[given], labels.astype(np.int8), X[np.concatenate(scored)], is_anomaly)


def _whole_table(
    situation: Situation, table: FieldTable, normal: IntArray, anomaly: IntArray, rng: np.random.Generator
) -> FieldEpisode:
    """A table cut to `table_rows` rows at its own share of anomalies, all of them given to fit in random order."""
    share = len(anomaly) / len(table.y)
    n_anomaly = max(round(situation.table_rows * share), situation.n_anomaly + MIN_SCORED_ANOMALY)
    n_normal = situation.table_rows - n_anomaly
    rows = np.concatenate([normal[:n_normal], anomaly[:n_anomaly]])
    labels = np.full(len(rows), UNLABELLED, np.int8)
    labels[: situation.n_normal] = NORMAL
    labels[n_normal : n_normal + situation.n_anomaly] = ANOMALY
    order = rng.permutation(len(rows))
    rows, labels = rows[order], labels[order]
    positions = np.flatnonzero(labels == UNLABELLED)
    scored = rows[positions]
    return FieldEpisode(table.X[rows], labels, table.X[scored], table.y[scored] == ANOMALY, positions)


def _draw_synthetic(situation: Situation, rng: np.random.Generator) -> FieldEpisode:
    """Rows made for this draw."""
    n_bad = round(situation.n_unlabelled * (situation.contamination or 0.0))
    counts = situation.n_normal + situation.n_unlabelled + MAX_SCORED_NORMAL
    n_anomaly = situation.n_anomaly + n_bad + MAX_SCORED_ANOMALY
    normal, anomaly = make_task(
        situation.column_kind, situation.anomaly_kind, situation.n_columns, (counts, n_anomaly), rng
    )
    normal = normal[: situation.n_normal + situation.n_unlabelled - n_bad + MAX_SCORED_NORMAL]
    X = np.concatenate([normal, anomaly])
    return _rows_apart(situation, X, np.arange(len(normal)), len(normal) + np.arange(len(anomaly)))
