"""One table and draw: the detector is fitted once for every cell, and its decisions on the test rows are counted."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oddshot.bench.decisions.grid import RATES, DecisionCell
from oddshot.bench.decisions.rows import GivenRows, TableDraw, take_rows, takes_part
from oddshot.bench.field.cells import auc_of
from oddshot.bench.field.product import load_candidate
from oddshot.detector import FewShotDetector
from oddshot.methods.contract import SupportError

if TYPE_CHECKING:
    from oddshot.storage.model_file import Model

FloatArray = NDArray[np.float64]

N_BINS = 10
N_VALUES = 2 * len(RATES) + 1 + 3 * N_BINS
"""Numbers measured in a cell: shares of normal rows flagged and of anomalies found at each rate, AUC, bins."""


@dataclass(frozen=True)
class DecisionJob:
    """All cells of a table and draw. model_file: None for the model that ships."""

    drawn: TableDraw
    cells: tuple[DecisionCell, ...]
    model_file: str | None = None


@dataclass(frozen=True)
class MeasuredDraw:
    """values: [cells, N_VALUES] of a table and draw, NaN in the cells that were not measured."""

    table: str
    source: str
    draw: int
    values: NDArray[np.float32]


def measure_draw(job: DecisionJob) -> MeasuredDraw:
    """Fit and count in every cell in which the table takes part, and for which the model's method has enough labels.

    Some methods that a fleet may be given cannot do without a labelled anomaly.
    """
    model = load_candidate(job.model_file)
    values = np.full((len(job.cells), N_VALUES), np.nan, np.float32)
    for number, cell in enumerate(job.cells):
        if not takes_part(cell, job.drawn):
            continue
        try:
            values[number] = measure_cell(take_rows(cell, job.drawn), model)
        except SupportError:
            if cell.anomalies:
                raise
    return MeasuredDraw(job.drawn.table, job.drawn.source, job.drawn.draw, values)


def measure_cell(rows: GivenRows, model: "Model | None") -> FloatArray:
    """What one fit gives for the test rows: [N_VALUES]. Thresholds of all rates come from the same fit."""
    is_anomaly = np.repeat([False, True], [len(rows.normal), len(rows.anomaly)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = FewShotDetector(model).fit(rows.X, rows.labels)
        scores = detector.score_samples(np.concatenate([rows.normal, rows.anomaly]))
        thresholds = np.array([detector.set_params(false_positive_rate=rate).threshold_ for rate in RATES])
        probabilities = detector.task_.decision.probability(scores)
    assert probabilities is not None  # the runner refuses models without calibration
    flagged = scores[:, None] > thresholds
    shares = [flagged[~is_anomaly].mean(0), flagged[is_anomaly].mean(0)]
    bins = reliability(probabilities, is_anomaly)
    return np.concatenate([*shares, [auc_of(scores, is_anomaly)], bins.ravel()])


def reliability(probabilities: FloatArray, is_anomaly: NDArray[np.bool_]) -> FloatArray:
    """Weight, sum of probabilities and sum of anomalies in equal bins of the probability: [3, N_BINS].

    probabilities, is_anomaly: [q]. Normal rows and anomalies weigh a half each in total.
    """
    weights = np.where(is_anomaly, 0.5 / is_anomaly.sum(), 0.5 / (~is_anomaly).sum())
    numbers = np.minimum((probabilities * N_BINS).astype(int), N_BINS - 1)
    sums = [np.bincount(numbers, weights * what, N_BINS) for what in (1.0, probabilities, is_anomaly)]
    return np.stack(sums)


def job_cost(job: DecisionJob) -> float:
    """Roughly, how long a job takes: the cells in which the table takes part, and their rows times columns."""
    width = 100 + job.drawn.normal.shape[1]
    return float(
        sum(width * (200 + c.normal + c.anomalies + c.unlabelled) for c in job.cells if takes_part(c, job.drawn))
    )
