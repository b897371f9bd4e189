"""Running the field trial: what the store lacks is computed in worker processes and stored cell by cell."""

import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Thread

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

import oddshot
from oddshot.bench.field.episodes import FieldEpisode, draw_episode
from oddshot.bench.field.fleets import Fleet, fleet_scores
from oddshot.bench.field.opponents import (
    OPPONENTS,
    OPPONENTS_VERSION,
    Opponent,
    ScaledEpisode,
    installed_opponents,
    scale_episode,
    score_opponent,
)
from oddshot.bench.field.product import (
    PRODUCT,
    SHIPPED,
    flagged_rows,
    load_candidate,
    product_fingerprint,
    score_product,
)
from oddshot.bench.field.situations import Situation
from oddshot.bench.field.store import CellKey, CellRecord, FieldStore
from oddshot.bench.field.tables import FieldTable
from oddshot.bench.settings import code_version
from oddshot.errors import InputError

TRIAL_VERSION = 1
"""To be increased whenever the same situation, table and draw give other rows: stored results are then left out."""

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class TrialSettings:
    """What is run: draws of every situation, methods beside the detector, and the detector's model file, if any."""

    draws: int = 5
    methods: tuple[str, ...] = ()
    model_file: str | None = None

    def __post_init__(self) -> None:
        for name in self.methods:
            if name != PRODUCT and name not in OPPONENTS:
                raise InputError(f"--methods {name}: no such method; there are {', '.join([PRODUCT, *OPPONENTS])}")


@dataclass(frozen=True)
class CellJob:
    """Methods whose results on one table in one situation are missing. keys: one for each method."""

    situation: Situation
    table: FieldTable
    methods: tuple[str, ...]
    keys: tuple[CellKey, ...]
    settings: TrialSettings


def methods_of(situation: Situation, settings: TrialSettings) -> list[str]:
    """The detector and the simple methods that can do without what the situation lacks."""
    if situation.decisions:
        return [PRODUCT]
    names = settings.methods or (PRODUCT, *installed_opponents())
    if situation.n_training_tasks:
        names = (*names, SHIPPED)
    return [name for name in names if name in (PRODUCT, SHIPPED) or _can_take_part(OPPONENTS[name], situation)]


def _can_take_part(opponent: Opponent, situation: Situation) -> bool:
    if opponent.needs_anomaly and situation.n_anomaly == 0:
        return False
    return not opponent.needs_unlabelled or situation.n_unlabelled > 0


def cell_key(situation: Situation, table: FieldTable, method: str, settings: TrialSettings) -> CellKey:
    """Identity of a result. That of a simple method does not depend on the detector's code."""
    described = {
        "trial": TRIAL_VERSION,
        "situation": situation.description(),
        "table": _fingerprint(table),
        "draws": situation.n_draws(settings.draws),
        "method": _method_version(situation, method, settings),
        "version": oddshot.__version__,
    }
    text = json.dumps(described, sort_keys=True)
    return CellKey(situation.name, table.name, method, hashlib.sha256(text.encode()).hexdigest()[:16])


def _method_version(situation: Situation, method: str, settings: TrialSettings) -> str | int:
    if method not in (PRODUCT, SHIPPED):
        return OPPONENTS_VERSION
    return product_fingerprint(settings.model_file, training=situation.n_training_tasks > 0 and method == PRODUCT)


def trial_keys(
    situations: Sequence[Situation], tables: Sequence[FieldTable], settings: TrialSettings
) -> dict[CellKey, tuple[Situation, FieldTable]]:
    """All results of a trial, with the situation and the table of each."""
    pairs = [(situation, table) for situation in situations for table in tables if situation.suits(table)]
    return keys_of(pairs, settings)


def keys_of(
    pairs: Iterable[tuple[Situation, FieldTable]], settings: TrialSettings
) -> dict[CellKey, tuple[Situation, FieldTable]]:
    """The results of all methods for situations on tables or fleets."""
    return {
        cell_key(situation, table, method, settings): (situation, table)
        for situation, table in pairs
        for method in methods_of(situation, settings)
    }


def missing_jobs(
    keys: dict[CellKey, tuple[Situation, FieldTable]], stored: Sequence[CellRecord], settings: TrialSettings
) -> list[CellJob]:
    """Jobs for the results that the store lacks, or that failed, slow situations first."""
    done = {record.key for record in stored if not record.error}
    wanted: dict[tuple[str, str], list[CellKey]] = {}
    for key in keys:
        if key not in done:
            wanted.setdefault((key.situation, key.table), []).append(key)
    jobs = []
    for missing in wanted.values():
        situation, table = keys[missing[0]]
        jobs.append(CellJob(situation, table, tuple(key.method for key in missing), tuple(missing), settings))
    return sorted(jobs, key=lambda job: -_relative_cost(job.situation))


def _relative_cost(situation: Situation) -> int:
    """Roughly in rows; the longest jobs come first, so that no worker waits for another at the end."""
    return situation.table_rows + situation.n_columns + 1000 * situation.n_training_tasks


def run_trial(
    store: FieldStore, jobs: Sequence[CellJob], workers: int, on_finish: Callable[[list[CellRecord]], None]
) -> None:
    """Run jobs in worker processes, and store each result as soon as it is there."""
    for records in _run_jobs(jobs, workers):
        store.add(records)
        on_finish(records)


def _run_jobs(jobs: Sequence[CellJob], workers: int) -> Iterator[list[CellRecord]]:
    """Yield the records of every job as it finishes."""
    if workers == 1:
        _prepare_worker(0)
        yield from map(run_cell, jobs)
        return
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", n_jobs=workers, inner_max_num_threads=1):
        parallel = Parallel(return_as="generator_unordered", pre_dispatch="2*n_jobs")
        yield from parallel(delayed(_run_in_worker)(job, os.getpid()) for job in jobs)


def _run_in_worker(job: CellJob, parent: int) -> list[CellRecord]:
    _prepare_worker(parent)
    return run_cell(job)


@functools.cache
def _prepare_worker(parent: int) -> None:
    """One torch thread; where there is a parent process, end with it."""
    import torch

    torch.set_num_threads(1)
    if parent:
        Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


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
    if job.situation.decisions:
        values = [_shares(flagged_rows(episode, model), episode.is_anomaly) for episode in episodes]
        return {name: float(np.mean([value[name] for value in values])) for name in values[0]}
    aucs = []
    for episode, opponent_episode in zip(episodes, scaled, strict=True):
        scores = score_product(episode, model) if method == PRODUCT else score_opponent(method, opponent_episode)
        aucs.append(auc_of(scores, episode.is_anomaly))
    return {"auc": float(np.mean(aucs))}


def _shares(flagged: dict[str, NDArray[np.bool_]], is_anomaly: NDArray[np.bool_]) -> dict[str, float]:
    """Shares of normal rows flagged and of anomalies found, at every rate."""
    shares = {}
    for rate, rows in flagged.items():
        shares[f"flagged, {rate}"] = float(rows[~is_anomaly].mean())
        shares[f"found, {rate}"] = float(rows[is_anomaly].mean())
    return shares


def auc_of(scores: FloatArray, is_anomaly: NDArray[np.bool_]) -> float:
    """Area under the ROC curve, ties as a half. scores, is_anomaly: [q]."""
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite")
    n_anomaly = int(is_anomaly.sum())
    ranks = rankdata(scores)[is_anomaly].sum()
    return float((ranks - n_anomaly * (n_anomaly + 1) / 2) / (n_anomaly * (len(scores) - n_anomaly)))


_FINGERPRINTS: dict[int, str] = {}


def _fingerprint(table: FieldTable) -> str:
    """The table's fingerprint, computed once."""
    if id(table) not in _FINGERPRINTS:
        _FINGERPRINTS[id(table)] = table.fingerprint()
    return _FINGERPRINTS[id(table)]
