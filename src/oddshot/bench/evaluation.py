"""Evaluation of a method on splits of a dataset: training, adaptation to the target tasks, and their AUCs."""

import dataclasses
import time
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from oddshot.bench.protocol import Split
from oddshot.bench.settings import RunSettings
from oddshot.methods.contract import Method
from oddshot.score.auc import exact_auc
from oddshot.score.rows import LabelledRows
from oddshot.training import History, TrainingData, train, validation_episodes
from oddshot.training.trainable import Trainable
from oddshot.training.validation import of_replica

# NOTE[PAPER] the paper evaluates one episode for every target task. Where rows are drawn at random, at least this many
# are evaluated in all: Landmine has 4 target tasks.
MIN_TARGET_EPISODES = 50
TARGET_STREAM = 3  # random stream of the target episodes; training uses others

FloatArray = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class SplitResults:
    """Results on R splits with T target tasks each.

    auc_strict, auc_half: [R, T], AUC of every target task with ties as a loss and as a half. adapt_seconds: time to
    adapt to one task. history: None for a method without parameters.
    """

    auc_strict: FloatArray
    auc_half: FloatArray
    adapt_seconds: float
    history: History | None


def evaluate_splits(
    trainable: Trainable, splits: Sequence[Split], seeds: Sequence[int], settings: RunSettings, device: torch.device
) -> SplitResults:
    """Train a method with parameters, then adapt it to every target task and evaluate it on the task's queries.

    trainable: R replicas, one for each of the R splits and seeds.
    """
    history = None
    if trainable.is_learned:
        pools = [split.training for split in splits], [split.validation for split in splits]
        data = TrainingData(*pools, settings.sizes, settings.protocol)
        history = train(trainable, data, seeds, config=settings.training, device=device)
    else:
        trainable.initialise([torch.Generator().manual_seed(seed) for seed in seeds])
    streams = [np.random.SeedSequence([seed, TARGET_STREAM]) for seed in seeds]
    targets = [split.target for split in splits]
    support, query = validation_episodes(
        targets, settings.sizes, settings.protocol, device, streams, MIN_TARGET_EPISODES
    )
    return _evaluate_targets(trainable.all_trained(), (support, query), len(targets[0]), history)


def _evaluate_targets(
    methods: Sequence[Method], episodes: tuple[LabelledRows, LabelledRows], n_tasks: int, history: History | None
) -> SplitResults:
    """Adapt to episodes of the target tasks, [R, k · n_tasks, ...], supports and queries, and compute their AUCs."""
    seconds, scores = 0.0, []
    for replica, method in enumerate(methods):
        support, query = of_replica(episodes, replica)
        started = time.perf_counter()
        score = method.adapt(support)
        seconds += time.perf_counter() - started
        scores.append([score(part) for part in query])
    normal, anomaly = (np.stack(parts) for parts in zip(*scores, strict=True))  # [R, k · n_tasks, n]
    is_nan = np.isnan(normal).any(-1) | np.isnan(anomaly).any(-1)
    if is_nan.any():
        raise FloatingPointError(f"the scores of {int(is_nan.sum())} of {is_nan.size} target tasks are not numbers")

    def task_aucs(ties: float) -> FloatArray:
        """Mean over the k episodes of every task, [R, n_tasks]."""
        auc = exact_auc(normal, anomaly, ties=ties)
        return np.asarray(auc.reshape(len(auc), -1, n_tasks).mean(axis=1))

    return SplitResults(task_aucs(0.0), task_aucs(0.5), seconds / is_nan.size, history)
