"""One cell of the field trial: the methods on all draws of a situation on a table."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from oddshot.bench.field.episodes import FieldEpisode, draw_episode
from oddshot.bench.field.fleets import Fleet, fleet_scores
from oddshot.bench.field.keys import TrialSettings
from oddshot.bench.field.opponents import ScaledEpisode, scale_episode, score_opponent
from oddshot.bench.field.product import PRODUCT, load_candidate, score_product
from oddshot.bench.field.situations import Situation
from oddshot.bench.field.store import CellKey, CellRecord
from oddshot.bench.field.tables import FieldTable
from oddshot.bench.settings import code_version

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class CellJob:
    """Methods whose results on one table in one situation are missing. keys: one for each method."""

    situation: Situation
    table: FieldTable
    methods: tuple[str, ...]
    keys: tuple[CellKey, ...]
    settings: TrialSettings


def run_cell(job: CellJob) -> list[CellRecord]:
    """Draw the episodes of a situation on a table, and measure each method on all of them."""
    n_draws = job.situation.n_draws(job.settings.draws)
    if isinstance(job.table, Fleet):
        return _run_fleet(job, job.table, n_draws)
    episodes = [draw_episode(job.situation, job.table, draw) for draw in range(n_draws)]
    scaled = [scale_episode(episode) for episode in episodes]
    records = []
    for method, key in zip(job.methods, job.keys, strict=True):
        started, error, metrics = time.perf_counter(), "", dict[str, float | None]()
        try:
            metrics |= _measure(method, job, episodes, scaled)
        except Exception as failure:  # the other cells go on; the reason is reported
            error = _describe_failure(failure)
            metrics = {"auc": None}
        seconds = time.perf_counter() - started
        records += [
            CellRecord(*key, metric, value, n_draws, seconds, error, code_version())
            for metric, value in metrics.items()
        ]
    return records


def _run_fleet(job: CellJob, fleet: Fleet, n_draws: int) -> list[CellRecord]:
    """Train on the first tasks of a fleet, and measure each method on all targets."""
    records = []
    for method, key in zip(job.methods, job.keys, strict=True):
        started, value, error = time.perf_counter(), None, ""
        try:
            scored = fleet_scores(job.situation, fleet, method, n_draws)
            value = float(np.mean([auc_of(*pair) for pair in scored]))
        except Exception as failure:
            error = _describe_failure(failure)
        seconds = time.perf_counter() - started
        records.append(CellRecord(*key, "auc", value, n_draws, seconds, error, code_version()))
    return records


def _describe_failure(failure: Exception) -> str:
    return f"{type(failure).__name__}: {(str(failure).splitlines() or [''])[0]}"


def _measure(
    method: str, job: CellJob, episodes: Sequence[FieldEpisode], scaled: Sequence[ScaledEpisode]
) -> dict[str, float]:
    """Mean of each metric over the episodes."""
    model = load_candidate(job.settings.model_file) if method == PRODUCT else None
    aucs = []
    for episode, opponent_episode in zip(episodes, scaled, strict=True):
        scores = score_product(episode, model) if method == PRODUCT else score_opponent(method, opponent_episode)
        aucs.append(auc_of(scores, episode.is_anomaly))
    return {"auc": float(np.mean(aucs))}


def auc_of(scores: FloatArray, is_anomaly: NDArray[np.bool_]) -> float:
    """Area under the ROC curve, ties as a half. scores, is_anomaly: [q]."""
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite")
    n_anomaly = int(is_anomaly.sum())
    ranks = rankdata(scores)[is_anomaly].sum()
    return float((ranks - n_anomaly * (n_anomaly + 1) / 2) / (n_anomaly * (len(scores) - n_anomaly)))
