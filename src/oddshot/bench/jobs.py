"""One job of the grid: a method is trained, adapted and evaluated on one or several splits of a dataset."""

import dataclasses
import json
from datetime import UTC, datetime

import torch

from oddshot.bench.evaluation import SplitResults, evaluate_splits
from oddshot.bench.plugins import DatasetSource, load_plugin
from oddshot.bench.protocol import Split, build_split, split_seed
from oddshot.bench.record import RunRecord
from oddshot.bench.settings import RunSettings, code_version, dataset_fingerprint, hash_config
from oddshot.data.sources.catalogue import Dataset
from oddshot.methods import find_method
from oddshot.training.trainable import Trainable

MAX_MIXING_BYTES = 12 * 2**30  # GPU memory for the mixing matrices of splits that are trained in one batch


@dataclasses.dataclass(frozen=True)
class Job:
    """A method on some splits of a dataset, with everything that another process or machine needs to run it.

    config: configuration of the runs as JSON (`describe_run`), the same for all splits.
    """

    dataset: str
    method: str
    splits: tuple[int, ...]
    settings: RunSettings
    config: str
    device: str = "cpu"
    source: DatasetSource = dataclasses.field(default_factory=DatasetSource)


class _SplitCache:
    """Keeps the splits of the latest job, which the following jobs use with other methods."""

    def __init__(self) -> None:
        self.key: object = None
        self.splits: list[Split] = []

    def get(self, job: Job, dataset: Dataset | None) -> list[Split]:
        """The splits of the job. dataset: loaded from the job's source where it is None."""
        settings = job.settings
        fingerprint = json.loads(job.config)["data"]
        key = (
            job.dataset, fingerprint, job.splits,
            settings.protocol, settings.sizes, settings.n_training, settings.seed,
        )  # fmt: skip
        if self.key != key:
            self.key, self.splits = None, []  # free the previous splits before the new ones are built
            dataset = dataset or job.source.load(job.dataset)
            if dataset_fingerprint(dataset) != fingerprint:
                raise RuntimeError(f"the rows of {job.dataset} are not those that the bench started with")
            self.splits = [build_split(dataset, split, settings) for split in job.splits]
            self.key = key
        return self.splits


_split_cache = _SplitCache()


def run_job(job: Job, dataset: Dataset | None = None) -> list[RunRecord]:
    """Run all splits of a job. Returns one record for each; an exception becomes the reason of failed records.

    dataset: loaded from the job's source where it is None.
    """
    try:
        for plugin in job.source.plugins:
            load_plugin(plugin)
        splits = _split_cache.get(job, dataset)
        records: list[RunRecord] = []
        for group in _group_by_task_counts(splits):
            batch_size = _max_splits_per_batch(job, splits[group[0]])
            for start in range(0, len(group), batch_size):
                batch = group[start : start + batch_size]
                records += _run_batch(job, [job.splits[i] for i in batch], [splits[i] for i in batch])
        return sorted(records, key=lambda record: record.split)
    except Exception as error:
        lines = str(error).splitlines() or [""]
        return failed_records(job, f"{type(error).__name__}: {lines[0]}")


def failed_records(job: Job, reason: str) -> list[RunRecord]:
    """A failed record for every split of the job."""
    return [dataclasses.replace(_empty_record(job, split), status="failed", reason=reason) for split in job.splits]


def _run_batch(job: Job, numbers: list[int], splits: list[Split]) -> list[RunRecord]:
    """Run splits as replicas of one method; in two halves where the memory of the GPU does not suffice."""
    try:
        results = _run_replicas(job, numbers, splits)
    except torch.OutOfMemoryError:
        if len(splits) == 1:
            raise
    else:
        return [_make_record(job, number, results, replica) for replica, number in enumerate(numbers)]
    torch.cuda.empty_cache()
    half = len(splits) // 2
    return _run_batch(job, numbers[:half], splits[:half]) + _run_batch(job, numbers[half:], splits[half:])


def _run_replicas(job: Job, numbers: list[int], splits: list[Split]) -> SplitResults:
    method_type, config = find_method(job.method), job.settings.method_config(job.method)
    trainable = Trainable(method_type, splits[0].training.X.shape[1], config, len(splits))
    seeds = [split_seed(job.dataset, number, job.settings.seed) for number in numbers]
    return evaluate_splits(trainable, splits, seeds, job.settings, torch.device(job.device))


def _make_record(job: Job, split: int, results: SplitResults, replica: int) -> RunRecord:
    strict, half, history = results.auc_strict[replica], results.auc_half[replica], results.history
    n_replicas = len(results.auc_strict)
    record = dataclasses.replace(
        _empty_record(job, split),
        auc_strict=float(strict.mean()),
        auc_half=float(half.mean()),
        task_aucs=json.dumps({"strict": strict.round(6).tolist(), "half": half.round(6).tolist()}),
        adapt_seconds=results.adapt_seconds,
        together=n_replicas,
    )
    if history is None:
        return record
    return dataclasses.replace(
        record,
        valid_auc=history.best_auc[replica],
        train_seconds=history.seconds / n_replicas,
        epochs=history.epochs[replica],
        best_epoch=history.best_epoch[replica],
    )


def _empty_record(job: Job, split: int) -> RunRecord:
    """The record of a run that is done, without its results."""
    on_gpu = job.device.startswith("cuda") and torch.cuda.is_available()
    return RunRecord(
        dataset=job.dataset,
        split=split,
        method=job.method,
        protocol=job.settings.protocol,
        config_hash=hash_config(job.config),
        config=job.config,
        code_version=code_version(),
        seed=split_seed(job.dataset, split, job.settings.seed),
        status="done",
        device=torch.cuda.get_device_name(job.device) if on_gpu else job.device,
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _max_splits_per_batch(job: Job, split: Split) -> int:
    """How many splits are trained in one batch: a GPU holds the mixing matrices of all their training tasks."""
    training = split.training
    if not job.device.startswith("cuda") or job.settings.protocol == "published" or training.mixing is None:
        return len(job.splits)
    n_attributes: int = training.mixing.n_attributes
    return max(1, MAX_MIXING_BYTES // (4 * len(training) * n_attributes**2))


def _group_by_task_counts(splits: list[Split]) -> list[list[int]]:
    """Indices of splits, grouped by their numbers of tasks: only splits with equal numbers can be replicas."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for index, split in enumerate(splits):
        groups.setdefault(tuple(len(part) for part in split), []).append(index)
    return list(groups.values())
