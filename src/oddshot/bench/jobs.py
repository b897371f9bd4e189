"""One job of the grid: a method on one or several splits of a dataset, trained, adapted and scored."""

import dataclasses
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import torch
from numpy.typing import NDArray

from oddshot.bench.plugins import DatasetSource, load_plugin
from oddshot.bench.protocol import Split, build_split, split_seed
from oddshot.bench.record import RunRecord
from oddshot.bench.settings import RunSettings, code_version, dataset_fingerprint, hash_config
from oddshot.data.sources.catalogue import Dataset
from oddshot.methods import find_method
from oddshot.methods.contract import LabelledRows, Method
from oddshot.model.auc import exact_auc
from oddshot.training import History, train, validation_episodes

# NOTE[PAPER] one episode a target task there; here at least 50 in all where rows are drawn: Landmine has 4 of them.
MIN_TARGET_EPISODES = 50
MAX_MIXING_BYTES = 12 * 2**30
TARGET_STREAM = 3  # apart from the streams that training draws from


@dataclasses.dataclass(frozen=True)
class Job:
    """A method on some splits of a dataset; all that another process or machine needs to run it.

    config: of the run as JSON (settings.describe_run), the same for all its splits.
    """

    dataset: str
    method: str
    splits: tuple[int, ...]
    settings: RunSettings
    config: str
    device: str = "cpu"
    source: DatasetSource = dataclasses.field(default_factory=DatasetSource)


@dataclasses.dataclass(frozen=True)
class SplitResults:
    """What R splits gave. strict, half: [R, T], AUC of every target task. adapt_seconds: for one task."""

    strict: NDArray[np.float64]
    half: NDArray[np.float64]
    adapt_seconds: float
    history: History | None


class _Latest:
    """The tasks built last: one dataset's splits serve method after method, and no more than one is kept."""

    def __init__(self) -> None:
        self.key: object = None
        self.splits: list[Split] = []

    def splits_of(self, job: Job, dataset: Dataset | None) -> list[Split]:
        s = job.settings
        rows = json.loads(job.config)["data"]
        key = (job.dataset, rows, job.splits, s.protocol, s.sizes, s.n_training, s.seed)
        if self.key != key:
            self.key, self.splits = None, []  # the old ones go before the new ones come
            dataset = dataset or job.source.load(job.dataset)
            if dataset_fingerprint(dataset) != rows:
                raise RuntimeError(f"the rows of {job.dataset} are not those that the bench started with")
            self.splits = [build_split(dataset, split, s) for split in job.splits]
            self.key = key
        return self.splits


_latest = _Latest()


def run_job(job: Job, dataset: Dataset | None = None) -> list[RunRecord]:
    """A record a split. Whatever goes wrong becomes the reason of a failed one: the other jobs go on."""
    try:
        for plugin in job.source.plugins:
            load_plugin(plugin)
        splits = _latest.splits_of(job, dataset)
        records: list[RunRecord] = []
        for places in _alike(splits):
            step = _at_once(job, [splits[i] for i in places])
            for start in range(0, len(places), step):
                some = places[start : start + step]
                records += _run_together(job, [job.splits[i] for i in some], [splits[i] for i in some])
        return sorted(records, key=lambda record: record.split)
    except Exception as error:
        lines = str(error).splitlines() or [""]
        return failed_records(job, f"{type(error).__name__}: {lines[0]}")


def failed_records(job: Job, reason: str) -> list[RunRecord]:
    """The job's runs, failed."""
    return [dataclasses.replace(_blank(job, split), status="failed", reason=reason) for split in job.splits]


def evaluate_splits(
    method: Method, parts: Sequence[Split], seeds: Sequence[int], settings: RunSettings, device: torch.device
) -> SplitResults:
    """Train where there is something to train, then adapt to every target task and score its queries.

    method: R replicas; parts, seeds: R.
    """
    history = None
    if next(method.parameters(), None) is not None:
        history = train(
            method, [part.training for part in parts], [part.validation for part in parts], seeds,
            config=settings.training, sizes=settings.sizes, rule=settings.protocol, device=device,
        )  # fmt: skip
    else:
        method.initialise([torch.Generator().manual_seed(seed) for seed in seeds])
    streams = [np.random.SeedSequence([seed, TARGET_STREAM]) for seed in seeds]
    targets = [part.target for part in parts]
    support, query = validation_episodes(
        targets, settings.sizes, settings.protocol, device, streams, MIN_TARGET_EPISODES
    )
    return _assess(method, support, query, len(targets[0]), history)


@torch.no_grad()
def _assess(
    method: Method, support: LabelledRows, query: LabelledRows, n_tasks: int, history: History | None
) -> SplitResults:
    """support, query: [R, T·k, ...], the T target tasks k times over."""
    method.eval()
    started = _clock(support.normal.device)
    score = method.adapt(support)
    seconds = _clock(support.normal.device) - started
    normal, anomaly = score(query.normal), score(query.anomaly)
    wrong = normal.isnan().any(-1) | anomaly.isnan().any(-1)
    if wrong.any():
        raise FloatingPointError(f"the scores of {int(wrong.sum())} of {wrong.numel()} target tasks are not numbers")

    def by_task(ties: float) -> NDArray[np.float64]:
        auc = exact_auc(normal, anomaly, ties=ties).cpu().numpy()
        return np.asarray(auc.reshape(len(auc), -1, n_tasks).mean(axis=1))

    return SplitResults(by_task(0.0), by_task(0.5), seconds / wrong.numel(), history)


def _run_together(job: Job, numbers: list[int], parts: list[Split]) -> list[RunRecord]:
    """Splits with equal numbers of tasks as replicas of one method; halves of them where the GPU's memory is short."""
    try:
        result = _run_replicas(job, numbers, parts)
    except torch.OutOfMemoryError:
        if len(parts) == 1:
            raise
    else:
        return [_record(job, number, result, place) for place, number in enumerate(numbers)]
    torch.cuda.empty_cache()
    half = len(parts) // 2
    return _run_together(job, numbers[:half], parts[:half]) + _run_together(job, numbers[half:], parts[half:])


def _run_replicas(job: Job, numbers: list[int], parts: list[Split]) -> SplitResults:
    kind, config = find_method(job.method), job.settings.method_config(job.method)
    method = kind(parts[0].training.X.shape[1], config, len(parts))
    seeds = [split_seed(job.dataset, number, job.settings.seed) for number in numbers]
    return evaluate_splits(method, parts, seeds, job.settings, torch.device(job.device))


def _record(job: Job, split: int, result: SplitResults, place: int) -> RunRecord:
    strict, half, history = result.strict[place], result.half[place], result.history
    blank = dataclasses.replace(
        _blank(job, split),
        auc_strict=float(strict.mean()),
        auc_half=float(half.mean()),
        task_aucs=json.dumps({"strict": strict.round(6).tolist(), "half": half.round(6).tolist()}),
        adapt_seconds=result.adapt_seconds,
        together=len(result.strict),
    )
    if history is None:
        return blank
    return dataclasses.replace(
        blank,
        valid_auc=history.best_auc[place],
        train_seconds=history.seconds / len(result.strict),
        epochs=history.epochs[place],
        best_epoch=history.best_epoch[place],
    )


def _blank(job: Job, split: int) -> RunRecord:
    on_gpu = job.device.startswith("cuda") and torch.cuda.is_available()
    device = torch.cuda.get_device_name(job.device) if on_gpu else job.device
    return RunRecord(
        job.dataset, split, job.method, job.settings.protocol, hash_config(job.config), job.config, code_version(),
        split_seed(job.dataset, split, job.settings.seed), "done", device=device,
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )  # fmt: skip


def _at_once(job: Job, parts: list[Split]) -> int:
    """How many splits train together: on a GPU the mixing matrices of all their training tasks lie in its memory."""
    training = parts[0].training
    if not job.device.startswith("cuda") or job.settings.protocol == "published" or training.mixing is None:
        return len(parts)
    n_attributes: int = training.mixing.n_attributes
    return max(1, MAX_MIXING_BYTES // (4 * len(training) * n_attributes**2))


def _alike(splits: list[Split]) -> list[list[int]]:
    """Places of splits with equal numbers of tasks: only those can be replicas."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, parts in enumerate(splits):
        groups.setdefault(tuple(len(part) for part in parts), []).append(place)
    return list(groups.values())


def _clock(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
