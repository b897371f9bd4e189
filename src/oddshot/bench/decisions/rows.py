"""Which rows of a table a cell gives to `fit`, and which ones it tests: nested, so that cells can be compared."""

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oddshot.bench.decisions.grid import (
    ANOMALY_COUNTS,
    MAX_DRAWN_ONE_BY_ONE,
    NORMAL_COUNTS,
    UNLABELLED_COUNTS,
    DecisionCell,
)
from oddshot.bench.field.tables import FieldTable
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED

FloatArray = NDArray[np.float64]

MAX_TEST_NORMAL, MAX_TEST_ANOMALY = 300, 100
MIN_TEST_NORMAL, MIN_TEST_ANOMALY = 30, 5
NEAR_COPY_NOISE = 1e-6  # standard deviations of a column
# More rows than any cell takes are not needed.
MAX_NORMAL = NORMAL_COUNTS[-1] + UNLABELLED_COUNTS[-1] + MAX_TEST_NORMAL
MAX_ANOMALY = ANOMALY_COUNTS[-1] + UNLABELLED_COUNTS[-1] // 10 + MAX_TEST_ANOMALY


@dataclass(frozen=True)
class TableDraw:
    """Rows of a table in the random order of a draw, the same for all cells.

    normal: [n, M] and anomaly: [a, M]: cells take their labelled rows from the beginning, then unlabelled rows, and
    test rows from the end. coins: uniform numbers, one for each of the few unlabelled rows that are drawn one by one.
    normal_noise: [n, M], anomaly_noise: [a, M], what the near-copy of each row adds to it.
    """

    table: str
    source: str
    draw: int
    normal: FloatArray
    anomaly: FloatArray
    coins: FloatArray
    normal_noise: FloatArray
    anomaly_noise: FloatArray


@dataclass(frozen=True)
class GivenRows:
    """X: [n, M] and labels: [n] are given to `fit`. normal: [q, M] and anomaly: [r, M] are tested."""

    X: FloatArray
    labels: NDArray[np.int8]
    normal: FloatArray
    anomaly: FloatArray


def draw_table(table: FieldTable, draw: int) -> TableDraw:
    """The same table and number of the draw give the same order of rows."""
    rng = np.random.default_rng([zlib.crc32(table.name.encode()), draw])
    normal = table.X[rng.permutation(np.flatnonzero(table.y == NORMAL))[:MAX_NORMAL]]
    anomaly = table.X[rng.permutation(np.flatnonzero(table.y == ANOMALY))[:MAX_ANOMALY]]
    coins = rng.random(MAX_DRAWN_ONE_BY_ONE)
    spread = NEAR_COPY_NOISE * np.nanstd(table.X, axis=0)
    noise = [spread * rng.normal(size=rows.shape) for rows in (normal, anomaly)]
    return TableDraw(table.name, table.source, draw, normal, anomaly, coins, noise[0], noise[1])


def takes_part(cell: DecisionCell, drawn: TableDraw) -> bool:
    """Whether enough test rows are left, in every draw of the table."""
    spare_normal = len(drawn.normal) - cell.normal - cell.unlabelled
    spare_anomaly = len(drawn.anomaly) - cell.anomalies - cell.most_unlabelled_anomalies
    if cell.most_unlabelled_anomalies and cell.unlabelled > MAX_DRAWN_ONE_BY_ONE:
        spare_normal += cell.most_unlabelled_anomalies
    return spare_normal >= MIN_TEST_NORMAL and spare_anomaly >= MIN_TEST_ANOMALY


def unlabelled_anomalies(cell: DecisionCell, drawn: TableDraw) -> int:
    """How many unlabelled rows of the cell are anomalies in this draw."""
    if cell.contamination and cell.unlabelled <= MAX_DRAWN_ONE_BY_ONE:
        return int((drawn.coins[: cell.unlabelled] < cell.contamination / 100).sum())
    return cell.most_unlabelled_anomalies


def take_rows(cell: DecisionCell, drawn: TableDraw) -> GivenRows:
    """The rows of a cell in which the table takes part."""
    n_bad = unlabelled_anomalies(cell, drawn)
    n_good = cell.unlabelled - n_bad
    n_normal, n_anomaly = cell.normal + n_good, cell.anomalies + n_bad
    X = np.concatenate([drawn.normal[:n_normal], drawn.anomaly[:n_anomaly]])
    labels = np.repeat([NORMAL, UNLABELLED, ANOMALY, UNLABELLED], [cell.normal, n_good, cell.anomalies, n_bad])
    if cell.copies == "twice":
        X = np.concatenate([X, X])
    elif cell.copies == "near":
        noise = np.concatenate([drawn.normal_noise[:n_normal], drawn.anomaly_noise[:n_anomaly]])
        X = np.concatenate([X, X + noise])
    labels = np.tile(labels, len(X) // len(labels)).astype(np.int8)
    test_normal = drawn.normal[n_normal:][-MAX_TEST_NORMAL:]
    return GivenRows(X, labels, test_normal, drawn.anomaly[n_anomaly:][-MAX_TEST_ANOMALY:])
