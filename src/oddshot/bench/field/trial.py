"""Running the field trial: what the store lacks is computed in worker processes and stored cell by cell."""

import os
from collections.abc import Callable, Iterator, Sequence

from oddshot.bench.field.cells import CellJob, run_cell
from oddshot.bench.field.keys import TrialSettings
from oddshot.bench.field.situations import Situation
from oddshot.bench.field.store import CellKey, CellRecord, FieldStore
from oddshot.bench.field.tables import FieldTable
from oddshot.bench.field.workers import prepare_worker


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
        prepare_worker(0)
        yield from map(run_cell, jobs)
        return
    from joblib import Parallel, delayed, parallel_config

    # Without memory maps, whose files would be left behind by a process that is killed.
    with parallel_config(backend="loky", n_jobs=workers, inner_max_num_threads=1, max_nbytes=None):
        parallel = Parallel(return_as="generator_unordered", pre_dispatch="2*n_jobs")
        yield from parallel(delayed(_run_in_worker)(job, os.getpid()) for job in jobs)


def _run_in_worker(job: CellJob, parent: int) -> list[CellRecord]:
    prepare_worker(parent)
    return run_cell(job)
