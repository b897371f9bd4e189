"""The training, validation and target tasks of a split of a dataset (Sec. 4.1)."""

import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oddshot.bench.settings import RunSettings
from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.data.episodes.splits import draw_split, leave_out
from oddshot.data.episodes.synthesis import mixed_tasks
from oddshot.data.sources.catalogue import Dataset, device_tasks
from oddshot.errors import InputError

DEFAULT_SPLIT_COUNTS = (400, 50, 50)  # training, validation and target tasks generated from one table


class Split(NamedTuple):
    """The tasks of one split."""

    training: TaskSet
    validation: TaskSet
    target: TaskSet


def split_seed(dataset: str, split: int, seed: int = 0) -> int:
    """Seed of a split's tasks, episodes and initial weights: the same for all methods, so that runs are paired."""
    entropy = [seed, zlib.crc32(dataset.encode()), split]
    return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> np.uint64(1))


def build_split(dataset: Dataset, split: int, settings: RunSettings | None = None) -> Split:
    """The tasks of one split; the same split number and seed always give the same tasks.

    A single table becomes many tasks by random linear maps of its attributes. A dataset with tasks of its own is
    z-scored task by task; its target tasks are drawn at random, or are those of one device.
    """
    settings = settings or RunSettings()
    seed = split_seed(dataset.name, split, settings.seed)
    if dataset.task is None:
        tasks = _generated_tasks(dataset, seed, settings.n_training)
    else:
        tasks = _own_tasks(dataset, split, seed, settings.n_training)
    for part in tasks:
        _check_row_counts(dataset.name, part, settings.sizes)
    return tasks


def z_score(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale every column to mean 0 and standard deviation 1; a constant column becomes 0. X: [n, M] -> [n, M]."""
    centred = X - X.mean(axis=0)
    spread = centred.std(axis=0)
    # Rounding gives a constant column of large numbers a standard deviation slightly above 0.
    varies = spread > 1e-12 * np.abs(X).max(axis=0)
    return np.where(varies, centred / np.where(varies, spread, 1.0), 0.0)


def _generated_tasks(dataset: Dataset, seed: int, n_training: int | None) -> Split:
    default, n_valid, n_target = dataset.card.splits or DEFAULT_SPLIT_COUNTS
    n_training = n_training or default
    # Training tasks come last, so that their number does not change the validation and target tasks.
    pool = mixed_tasks(dataset.X, dataset.y, n_target + n_valid + n_training, seed)
    target, validation, training = np.split(np.arange(len(pool)), [n_target, n_target + n_valid])
    return Split(pool.subset(training), pool.subset(validation), pool.subset(target))


def _own_tasks(dataset: Dataset, split: int, seed: int, n_training: int | None) -> Split:
    n_tasks = len(dataset.task_names)
    rng = np.random.default_rng(seed)
    devices = sorted({name.split("/")[0] for name in dataset.task_names if "/" in name})
    if dataset.card.device:
        training, validation, target = leave_out(n_tasks, device_tasks(dataset), rng)
    elif len(devices) > 1:
        # NOTE[PAPER] one table for all devices (a sample of N-BaIoT): they take turns as the target.
        device = devices[split % len(devices)]
        chosen = [i for i, name in enumerate(dataset.task_names) if name.split("/")[0] == device]
        training, validation, target = leave_out(n_tasks, np.array(chosen, dtype=np.int64), rng)
    else:
        training, validation, target = draw_split(n_tasks, _split_counts(dataset), rng)
    if n_training is not None:
        training = np.sort(rng.permutation(training)[:n_training])
    tasks = [dataset.task == number for number in range(n_tasks)]
    # NOTE[PAPER] scaling is not stated; the classical columns of Table 1 are near with each task z-scored.
    pool = TaskSet.from_tasks([(z_score(dataset.X[rows]), dataset.y[rows]) for rows in tasks])
    return Split(pool.subset(training), pool.subset(validation), pool.subset(target))


def _split_counts(dataset: Dataset) -> tuple[int, int, int]:
    """Numbers of training, validation and target tasks: the card's, or in the proportions of Landmine (23, 2, 4)."""
    if dataset.card.splits is not None:
        return dataset.card.splits
    n_tasks = len(dataset.task_names)
    n_valid, n_target = max(1, round(n_tasks * 2 / 29)), max(1, round(n_tasks * 4 / 29))
    if n_tasks < 3:
        raise InputError(f"{dataset.name}: {n_tasks} tasks; expected at least 3, one each to train, validate and test")
    return n_tasks - n_valid - n_target, n_valid, n_target


def _check_row_counts(name: str, tasks: TaskSet, sizes: EpisodeSizes) -> None:
    """Refuse tasks with fewer rows than an episode needs; the `published` protocol would index beyond their rows."""
    for word, counts, needed in (
        ("normal", tasks.normal_count, sizes.normal),
        ("anomalous", tasks.anomaly_count, sizes.anomaly),
    ):
        if counts.min() < needed:
            raise InputError(f"{name}: a task has {counts.min()} {word} rows; an episode needs {needed}")
