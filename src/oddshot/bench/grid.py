"""The grid: which runs are wanted, which of them are missing, and running those."""

from collections.abc import Callable, Iterable, Iterator, Sequence
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


@dataclass(frozen=True)
class Grid:
    """Every dataset with every method on splits 0, 1, ..., all under the same settings."""

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
    """A dataset with a method: the configuration that its splits have in common, and whether it is trained."""

    dataset: str
    method: str
    config: str
    learned: bool


@dataclass(frozen=True)
class RunCounts:
    """How far the grid is."""

    total: int
    done: int
    failed: int

    @property
    def left(self) -> int:
        """Runs neither done nor failed."""
        return self.total - self.done - self.failed

    def __add__(self, other: "RunCounts") -> "RunCounts":
        return RunCounts(self.total + other.total, self.done + other.done, self.failed + other.failed)


class Engine(Protocol):
    """Runs jobs somewhere and hands their records over as they come, in any order."""

    def device(self, requested: str) -> str:
        """What `auto` means here; an InputError for one that cannot be used."""
        ...

    def run(self, jobs: Sequence[Job], datasets: Callable[[str], Dataset]) -> Iterator[list[RunRecord]]:
        """datasets: loads one by name, for engines that send rows along."""
        ...


def plan_runs(grid: Grid) -> list[PlannedRuns]:
    """Every dataset with every method. Reads each dataset once: a name or file that is wrong shows before any run."""
    lines = []
    for name in grid.datasets:
        rows = dataset_fingerprint(grid.source.load(name))
        for method in grid.methods:
            learned = is_learned(method, grid.settings.method_config(method))
            lines.append(
                PlannedRuns(name, find_method(method).name, describe_run(grid.settings, method, rows), learned)
            )
    return lines


def planned_keys(grid: Grid, lines: Iterable[PlannedRuns]) -> list[RunKey]:
    """The runs that the grid wants."""
    protocol = grid.settings.protocol
    return [
        RunKey(line.dataset, split, line.method, protocol, hash_config(line.config))
        for line in lines
        for split in range(grid.n_splits)
    ]


def make_jobs(grid: Grid, lines: Sequence[PlannedRuns], missing: set[RunKey], device: str) -> list[Job]:
    """Jobs for the missing runs: on a GPU all splits of a dataset train together, elsewhere each is a job of its own.

    Methods without training run on the CPU. The methods of a dataset follow each other: its tasks are built once.
    """
    groups: dict[tuple[str, tuple[int, ...]], list[Job]] = {}
    for line in lines:
        hashed, protocol = hash_config(line.config), grid.settings.protocol
        wanted = [
            split
            for split in range(grid.n_splits)
            if RunKey(line.dataset, split, line.method, protocol, hashed) in missing
        ]
        where = device if line.learned else "cpu"
        together = where.startswith("cuda")
        for splits in [tuple(wanted)] * bool(wanted) if together else [(split,) for split in wanted]:
            job = Job(line.dataset, line.method, splits, grid.settings, line.config, where, grid.source)
            groups.setdefault((line.dataset, splits), []).append(job)
    return [job for group in groups.values() for job in group]


def run_grid(
    grid: Grid,
    store: RunStore,
    engine: Engine,
    *,
    device: str = "auto",
    retry_failed: bool = False,
    on_start: Callable[[RunCounts, Sequence[RunKey]], None] | None = None,
    on_finish: Callable[[list[RunRecord], RunCounts], None] | None = None,
) -> RunCounts:
    """Run what the store does not have. Each run is in the store before `on_finish` hears of it."""
    device = engine.device(device)
    lines = plan_runs(grid)
    wanted, status = planned_keys(grid, lines), store.status()
    here = {key: status[key] for key in wanted if key in status and not (retry_failed and status[key] == "failed")}
    if on_start is not None:
        on_start(_tally(wanted, here), wanted)
    jobs = make_jobs(grid, lines, set(wanted) - set(here), device)
    for records in engine.run(jobs, grid.source.load):
        store.add(records)
        here |= {record.key: record.status for record in records}
        if on_finish is not None:
            on_finish(records, _tally(wanted, here))
    return _tally(wanted, here)


def _tally(wanted: Sequence[RunKey], here: dict[RunKey, str]) -> RunCounts:
    states = list(here.values())
    return RunCounts(len(wanted), states.count("done"), states.count("failed"))
