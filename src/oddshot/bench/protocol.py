"""From a dataset and a split's number to training, validation and target tasks (Sec. 4.1)."""

import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oddshot.bench.settings import RunSettings
from oddshot.data.episodes.mixing import Ints
from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.data.episodes.splits import draw_split, leave_out
from oddshot.data.episodes.synthesis import mixed_tasks
from oddshot.data.sources.catalogue import Dataset, device_tasks
from oddshot.errors import InputError


class Split(NamedTuple):
    """The tasks of one split."""

    training: TaskSet
    validation: TaskSet
    target: TaskSet


def split_seed(dataset: str, split: int, seed: int = 0) -> int:
    """One seed for a split: its tasks, rows, initial weights. The same for every method, so that runs are paired."""
    entropy = [seed, zlib.crc32(dataset.encode()), split]
    return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> np.uint64(1))


def build_split(dataset: Dataset, split: int, settings: RunSettings | None = None) -> Split:
    """The tasks of split number `split`; the same number and seed give the same tasks, wherever they are asked for.

    One table becomes many tasks by mixing, with the card's counts; tasks of their own are z-scored each and drawn, or
    with several devices those of one are the target.
    """
    settings = settings or RunSettings()
    seed = split_seed(dataset.name, split, settings.seed)
    if dataset.task is None:
        parts = _mixed(dataset, seed, settings.n_training)
    else:
        parts = _own_tasks(dataset, split, seed, settings.n_training)
    for part in parts:
        _check_rows(dataset.name, part, settings.sizes)
    return parts


def z_score(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean 0 and standard deviation 1 a column; a constant column is 0. X: [n, M]."""
    centred = X - X.mean(axis=0)
    spread = centred.std(axis=0)
    # Rounding leaves a constant column of large numbers a spread that is not quite 0.
    varies = spread > 1e-12 * np.abs(X).max(axis=0)
    return np.where(varies, centred / np.where(varies, spread, 1.0), 0.0)


def _mixed(dataset: Dataset, seed: int, n_training: int | None) -> Split:
    usual, n_valid, n_target = dataset.card.splits or (400, 50, 50)
    n_training = n_training or usual
    # Training tasks come last: fewer or more of them leave the others as they are.
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
        training, validation, target = draw_split(n_tasks, _counts(dataset), rng)
    if n_training is not None:
        training = np.sort(rng.permutation(training)[:n_training])
    tasks = [dataset.task == number for number in range(n_tasks)]
    # NOTE[PAPER] scaling is not stated; the classical columns of Table 1 are near with each task z-scored.
    pool = TaskSet.of([(z_score(dataset.X[rows]), dataset.y[rows]) for rows in tasks])
    return Split(pool.subset(training), pool.subset(validation), pool.subset(target))


def _counts(dataset: Dataset) -> tuple[int, int, int]:
    """The card's, or in Landmine's proportions: 2 of 29 tasks validate, 4 are the target."""
    if dataset.card.splits is not None:
        return dataset.card.splits
    n_tasks = len(dataset.task_names)
    n_valid, n_target = max(1, round(n_tasks * 2 / 29)), max(1, round(n_tasks * 4 / 29))
    if n_tasks < 3:
        raise InputError(f"{dataset.name}: {n_tasks} tasks; expected at least 3, one each to train, validate and test")
    return n_tasks - n_valid - n_target, n_valid, n_target


def _check_rows(name: str, pool: TaskSet, sizes: EpisodeSizes) -> None:
    """The first rows are taken unseen under `published`: a task too small for them must not reach that point."""
    groups: list[tuple[str, Ints, int]] = [
        ("normal", pool.normal_count, sizes.normal),
        ("anomalous", pool.anomaly_count, sizes.anomaly),
    ]
    for word, count, needed in groups:
        if count.min() < needed:
            raise InputError(f"{name}: a task has {count.min()} {word} rows; an episode needs {needed}")
