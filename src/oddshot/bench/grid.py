"""The grid of runs: which runs it consists of, which of them a store lacks, and running those."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from oddshot.bench.jobs import Job
from oddshot.bench.plugins import DatasetSource
from oddshot.bench.record import RunKey, RunRecord
from oddshot.bench.settings import RunSettings, dataset_fingerprint, describe_run, hash_config, is_learned
from oddshot.bench.store import RunStore
from oddshot.data.sources.catalogue import Dataset
from oddshot.errors import InputError
from oddshot.methods import find_method

# Splits times attributes of one job on a GPU. Beyond that, training splits together takes as long as one after another,
# and `relative` has no memory for all of them.
MAX_JOB_ATTRIBUTES = 3000


@dataclass(frozen=True)
class Grid:
    """Every dataset with every method on splits 0 to n_splits - 1, all with the same settings."""

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    n_splits: int
    settings: RunSettings
    source: DatasetSource = field(default_factory=DatasetSource)

    def __post_init__(self) -> None:
        if not (self.datasets and self.methods) or self.n_splits < 1:
            raise InputError("nothing to run: expected at least one dataset, one method and one split")
        for method, setting, _ in self.settings.overrides:
            if method not in self.methods:
                raise InputError(f"--set {method}.{setting}: {method!r} is not among the methods of this run")


@dataclass(frozen=True)
class PlannedRuns:
    """The runs of one method on all splits of one dataset.

    config: their common configuration as JSON (`describe_run`). learned: whether the method is trained. n_attributes:
    of the dataset.
    """

    dataset: str
    method: str
    protocol: str
    n_splits: int
    config: str
    learned: bool
    n_attributes: int

    @property
    def keys(self) -> list[RunKey]:
        """The key of every split's run."""
        config_hash = hash_config(self.config)
        return [RunKey(self.dataset, split, self.method, self.protocol, config_hash) for split in range(self.n_splits)]


@dataclass(frozen=True)
class RunCounts:
    """Numbers of runs of a grid."""

    total: int
    done: int
    failed: int

    @property
    def left(self) -> int:
        """Number of runs that are neither done nor failed."""
        return self.total - self.done - self.failed


class Engine(Protocol):
    """Runs jobs on some machine."""

    def device(self, requested: str) -> str:
        """The device that `auto` stands for on this engine; an InputError for a device that cannot be used."""
        ...

    def run(self, jobs: Sequence[Job], load_dataset: Callable[[str], Dataset]) -> Iterator[list[RunRecord]]:
        """Yield the records of every job as it finishes, in any order.

        load_dataset: loads a dataset by name, for engines that send the rows to other machines.
        """
        ...


def plan_runs(grid: Grid) -> list[PlannedRuns]:
    """All runs of the grid. Loads every dataset once, so that a wrong name or file is reported before the first run."""
    planned = []
    for name in grid.datasets:
        dataset = grid.source.load(name)
        fingerprint = dataset_fingerprint(dataset)
        for method in grid.methods:
            planned.append(
                PlannedRuns(
                    name,
                    find_method(method).name,
                    grid.settings.protocol,
                    grid.n_splits,
                    config=describe_run(grid.settings, method, fingerprint),
                    learned=is_learned(method, grid.settings.method_config(method)),
                    n_attributes=dataset.X.shape[1],
                )
            )
    return planned


def planned_keys(planned: Iterable[PlannedRuns]) -> list[RunKey]:
    """The keys of all planned runs."""
    return [key for runs in planned for key in runs.keys]


def make_jobs(grid: Grid, planned: Sequence[PlannedRuns], missing: set[RunKey], device: str) -> list[Job]:
    """Jobs for the missing runs, ordered so that the tasks of a dataset's split are generated once for all methods.

    On a GPU one job trains all splits of a dataset, unless it is wide; on a CPU every split is a job. Methods without
    parameters always run on the CPU.
    """
    groups: dict[tuple[str, tuple[int, ...]], list[Job]] = {}
    for runs in planned:
        splits = [key.split for key in runs.keys if key in missing]
        job_device = device if runs.learned else "cpu"
        size = max(1, MAX_JOB_ATTRIBUTES // runs.n_attributes) if job_device.startswith("cuda") else 1
        for batch in (tuple(splits[i : i + size]) for i in range(0, len(splits), size)):
            job = Job(runs.dataset, runs.method, batch, grid.settings, runs.config, job_device, grid.source)
            groups.setdefault((runs.dataset, batch), []).append(job)
    return [job for group in groups.values() for job in group]


def run_grids(
    grids: Sequence[Grid],
    store: RunStore,
    engine: Engine,
    *,
    device: str = "auto",
    retry_failed: bool = False,
    on_start: Callable[[RunCounts, Sequence[RunKey]], None] | None = None,
    on_finish: Callable[[list[RunRecord], RunCounts], None] | None = None,
) -> RunCounts:
    """Run what the store lacks of the grids, at least one, which have the same source; a run of two grids once.

    on_start: called before the first job with the counts and the keys of all runs of the grids. on_finish: called after
    every job with its records, which are in the store by then, and the counts.
    """
    device = engine.device(device)
    plans = [(grid, plan_runs(grid)) for grid in grids]
    keys = list(dict.fromkeys(key for _, planned in plans for key in planned_keys(planned)))
    stored = store.status()
    status = {key: stored[key] for key in keys if key in stored and not (retry_failed and stored[key] == "failed")}
    if on_start is not None:
        on_start(_count_runs(keys, status), keys)
    missing, jobs = set(keys) - set(status), []
    for grid, planned in plans:
        jobs += make_jobs(grid, planned, missing, device)
        missing.difference_update(planned_keys(planned))
    for records in engine.run(jobs, grids[0].source.load):
        store.add(records)
        status |= {record.key: record.status for record in records}
        if on_finish is not None:
            on_finish(records, _count_runs(keys, status))
    return _count_runs(keys, status)


def _count_runs(keys: Sequence[RunKey], status: Mapping[RunKey, str]) -> RunCounts:
    states = list(status.values())
    return RunCounts(len(keys), states.count("done"), states.count("failed"))
