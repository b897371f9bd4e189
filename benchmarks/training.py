"""A whole training, an epoch of it: against the straightforward reference, and method against method (Table 3)."""

import time
from itertools import pairwise

import numpy as np
import torch

from benchmarks.reference import Reference, train_step
from benchmarks.timing import Verdict, best_seconds
from oddshot.data.episodes.sampling import TaskSet
from oddshot.data.episodes.synthesis import mixed_tasks
from oddshot.methods import find_method
from oddshot.training import EpochProgress, TrainingConfig, TrainingData, train
from oddshot.training.trainable import Trainable

M, N_ROWS, TASKS, VALIDATION, EPOCHS = 21, 500, 400, 50, 4
REFERENCE_TASKS = 20  # of an epoch's: the rest takes as long for each
LABELS = (np.arange(N_ROWS) % 10 == 0).astype(np.int8)


def epoch_seconds(method: str, pools: tuple[TaskSet, TaskSet]) -> float:
    """The shortest of a few epochs, validation included."""
    ends = [time.process_time()]

    def on_epoch(progress: EpochProgress) -> None:
        ends.append(time.process_time())

    kind = find_method(method)
    network = Trainable(kind, M, kind.config_type())
    config = TrainingConfig(epochs=EPOCHS, patience=EPOCHS)
    train(network, TrainingData([pools[0]], [pools[1]]), [0], config=config, on_epoch=on_epoch)
    return min(end - start for start, end in pairwise(ends[1:]))


def reference_seconds() -> float:
    """An epoch of the reference, from a few of its tasks and without validation."""
    rng = np.random.default_rng(0)
    X, matrices = rng.normal(size=(N_ROWS, M)), rng.uniform(-1, 1, size=(REFERENCE_TASKS, M, M))

    def step() -> None:
        model = Reference(M)  # anew: after a step the J × J problem may have no finite gradient any more
        train_step(model, torch.optim.Adam(model.parameters()), X, LABELS, matrices, rng)

    return best_seconds(step, repeats=2) * TASKS / REFERENCE_TASKS


def run() -> list[Verdict]:
    pool = mixed_tasks(np.random.default_rng(0).normal(size=(N_ROWS, M)), LABELS, TASKS + VALIDATION, seed=0)
    pools = pool.subset(np.arange(TASKS)), pool.subset(np.arange(TASKS, TASKS + VALIDATION))
    rounds = [[epoch_seconds(name, pools) for name in ("eigen", "ssvdd", "maml")] for _ in range(2)]
    eigen, ssvdd, maml = np.min(rounds, axis=0).tolist()
    faster = reference_seconds() / eigen
    what = f"training epoch, {TASKS} tasks, M = {M}"
    of_few = f"its time for {REFERENCE_TASKS} tasks scaled"
    return [
        Verdict(f"{what}: times faster than a loop over tasks with J×J eigh, {of_few}", faster, 20.0, faster >= 20.0),
        Verdict(f"{what}: times SSVDD's", eigen / ssvdd, 2.5, eigen / ssvdd <= 2.5),
        Verdict(f"{what}: MAML's, times ours", maml / eigen, 10.0, maml / eigen <= 10.0),
    ]
