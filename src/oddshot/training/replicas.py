"""The replicas that are still trained: their weights, tasks and optimiser. Those that have stopped are left out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from oddshot.score.rows import LabelledRows
from oddshot.training.batches import Episodes
from oddshot.training.stepping import Stepper
from oddshot.training.trainable import Trainable
from oddshot.training.validation import EarlyStopping, Validator

MAX_SHARE_RUNNING = 0.75  # of the replicas, for the others to be left out
MIN_CUDA_EPOCH = 200  # on CUDA, steps are then captured anew, which takes as long as dozens of epochs of a fast method


@dataclass(frozen=True, eq=False)
class TrainedReplicas:
    """R replicas that are trained together. rngs: of each replica. held_out: support and query of its validation."""

    trainable: Trainable
    episodes: Episodes
    rngs: Sequence[np.random.Generator]
    held_out: tuple[LabelledRows, LabelledRows]
    step: Stepper
    validate: Validator

    def train_epoch(self, batch_size: int) -> Tensor:
        """One pass over the training tasks in batches of equal size, at most `batch_size`. Returns the mean loss."""
        # NOTE[PAPER] Algorithm 1 takes one task a step; its experiments say "batch size 256", read here as tasks.
        orders = [rng.permutation(tasks) for tasks, rng in zip(self.episodes.all_tasks, self.rngs, strict=True)]
        n_batches = -(-len(orders[0]) // batch_size)
        batches = zip(*(np.array_split(order, n_batches) for order in orders), strict=True)
        losses = [self.step(*self.episodes.draw(batch, self.rngs)).mean() for batch in batches]
        return torch.stack(losses).mean()

    def without_stopped(self, stopping: EarlyStopping, epoch: int) -> "TrainedReplicas":
        """Only the replicas that still run, if enough have stopped for that to save time; else all of them."""
        running = stopping.running
        is_too_early = self.trainable.device.type == "cuda" and epoch < MIN_CUDA_EPOCH
        if is_too_early or len(running) > MAX_SHARE_RUNNING * self.trainable.replicas:
            return self
        stopping.keep(running)
        return self._subset(running.to(self.trainable.device))

    def _subset(self, which: Tensor) -> "TrainedReplicas":
        trainable = self.trainable.subset(which)
        support, query = (LabelledRows(*(part[which] for part in rows)) for rows in self.held_out)
        return replace(
            self,
            trainable=trainable,
            episodes=self.episodes.subset(which),
            rngs=[self.rngs[r] for r in which.tolist()],
            held_out=(support, query),
            step=self.step.subset(trainable, which),
            validate=Validator(trainable, support, query),
        )
