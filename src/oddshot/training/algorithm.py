"""Algorithm 1: episodes in, trained weights out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from oddshot.data.episodes.mixing import IntArray
from oddshot.data.episodes.sampling import EpisodeSizes, SamplingRule, TaskSet
from oddshot.errors import InputError
from oddshot.methods.contract import Method
from oddshot.training.batches import Episodes, validation_episodes
from oddshot.training.ranks import Ranks
from oddshot.training.stepping import Stepper
from oddshot.training.validation import BestWeights, Validator


@dataclass(frozen=True)
class TrainingConfig:
    """How to train; the paper's values, and what it leaves open (patience)."""

    learning_rate: float = 1e-3
    batch_size: int = 256  # tasks
    epochs: int = 1000
    patience: int = 50  # epochs without a better validation AUC

    def __post_init__(self) -> None:
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate is {self.learning_rate}; it must be above 0")
        for name in ("batch_size", "epochs", "patience"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")


@dataclass(frozen=True)
class Progress:
    """What is known after an epoch: means over the replicas."""

    epoch: int
    loss: float
    valid_auc: float
    best_auc: float
    waited: int  # epochs since the last replica improved


@dataclass(frozen=True)
class History:
    """How training went, a value a replica: epochs until it stopped, its best epoch and validation AUC there."""

    epochs: list[int]
    best_epoch: list[int]
    best_auc: list[float]
    seconds: float


@torch.enable_grad()  # whoever calls it
def train(
    method: Method,
    training: Sequence[TaskSet],
    validation: Sequence[TaskSet],
    seeds: Sequence[int],
    *,
    config: TrainingConfig | None = None,
    sizes: EpisodeSizes | None = None,
    rule: SamplingRule = "resampled",
    device: torch.device | str = "cpu",
    on_epoch: Callable[[Progress], None] | None = None,
    ranks: Ranks | None = None,
    start: Method | None = None,
) -> History:
    """Train R replicas in place, each on its own tasks and from its own seed, and leave each at its best weights.

    ranks: processes that all call this with the same arguments and share the work; each ends with the same weights.
    start: a trained method of one replica, from whose weights all go on (`Method.start_from`).
    """
    config, sizes, started = config or TrainingConfig(), sizes or EpisodeSizes(), time.perf_counter()
    ranks = ranks or Ranks()
    streams = [np.random.SeedSequence(seed).spawn(5) for seed in seeds]
    method.initialise([_torch_generator(stream[0]) for stream in streams])
    method.to(device)
    device = torch.device(device)
    draw_rngs = [np.random.default_rng(stream[1]) for stream in streams]
    noise = _torch_generator(streams[0][3], device)
    method.set_noise(noise)

    row_noise = _torch_generator(streams[0][4], device) if device.type == "cuda" else None
    episodes = Episodes(training, sizes, rule, device, row_noise)
    everyone = [np.arange(len(pool)) for pool in training]
    method.eval()
    if start is None:
        support, query = episodes.draw(everyone, draw_rngs)
        method.fix_center(support, torch.cat([support.normal, query.normal], dim=2))
    else:
        method.start_from(start)

    held_out = validation_episodes(validation, sizes, rule, device, [stream[2] for stream in streams])
    validate = Validator(method, *held_out)
    keeper = BestWeights(method, config.patience)
    keeper.update(
        0, ranks.agree(validate())
    )  # training may only make it worse: the initial weights are a candidate too
    step = Stepper(method, config.learning_rate, noise, ranks)
    for epoch in range(1, config.epochs + 1 if step.learns else 1):
        loss = _train_epoch(method, episodes, everyone, draw_rngs, step, config.batch_size)
        auc = ranks.agree(validate())
        keeper.update(epoch, auc)
        if on_epoch is not None:
            on_epoch(Progress(epoch, float(loss), float(auc.mean()), float(keeper.best_auc.mean()), keeper.waited))
        if keeper.all_stopped:
            break
    keeper.restore()
    method.set_noise(None)
    method.eval()
    return History(
        keeper.stopped_at.tolist(), keeper.best_epoch.tolist(), keeper.best_auc.tolist(), time.perf_counter() - started
    )


def _train_epoch(
    method: Method,
    episodes: Episodes,
    everyone: Sequence[IntArray],
    rngs: Sequence[np.random.Generator],
    step: Stepper,
    batch_size: int,
) -> Tensor:
    """One pass over the training tasks in equal batches of at most `batch_size`. Returns the mean loss."""
    # NOTE[PAPER] Algorithm 1 takes one task a step; its experiments say "batch size 256", read here as tasks.
    method.train()
    orders = [rng.permutation(tasks) for tasks, rng in zip(everyone, rngs, strict=True)]
    n_batches = -(-len(orders[0]) // batch_size)
    batches = zip(*(np.array_split(order, n_batches) for order in orders), strict=True)
    return torch.stack([step(*episodes.draw(batch, rngs)).mean() for batch in batches]).mean()


def _torch_generator(stream: np.random.SeedSequence, device: torch.device | str = "cpu") -> torch.Generator:
    return torch.Generator(device).manual_seed(int(stream.generate_state(1, np.uint64)[0] >> np.uint64(1)))
