"""Running the field trial: what the store lacks is computed in worker processes and stored cell by cell."""

from collections.abc import Callable, Sequence

from oddshot.bench.field.cells import CellJob, run_cell
from oddshot.bench.field.keys import TrialSettings
from oddshot.bench.field.situations import Situation
from oddshot.bench.field.store import CellKey, CellRecord, FieldStore
from oddshot.bench.field.tables import FieldTable
from oddshot.bench.field.workers import run_in_workers


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
    for records in run_in_workers(run_cell, jobs, workers):
        store.add(records)
        on_finish(records)
