"""Algorithm 1: episodes in, trained weights out."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

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


@dataclass(frozen=True)
class TrainingData:
    """Tasks of R replicas, one task set each, to train on and to validate on, and how episodes are drawn from them."""

    training: Sequence[TaskSet]
    validation: Sequence[TaskSet]
    sizes: EpisodeSizes = field(default_factory=EpisodeSizes)
    rule: SamplingRule = "resampled"


@torch.enable_grad()  # whoever calls it
def train(
    method: Method,
    data: TrainingData,
    seeds: Sequence[int],
    *,
    config: TrainingConfig | None = None,
    device: torch.device | str = "cpu",
    on_epoch: Callable[[Progress], None] | None = None,
    ranks: Ranks | None = None,
    start: Method | None = None,
) -> History:
    """Train R replicas in place, each on its own tasks and from its own seed, and leave each at its best weights.

    ranks: processes that all call this with the same arguments and share the work; each ends with the same weights.
    start: a trained method of one replica, from whose weights all replicas continue.
    """
    config, ranks, started = config or TrainingConfig(), ranks or Ranks(), time.perf_counter()
    device = torch.device(device)
    streams = [np.random.SeedSequence(seed).spawn(5) for seed in seeds]
    method.initialise([_torch_generator(stream[0]) for stream in streams], start)
    method.to(device)
    rngs = [np.random.default_rng(stream[1]) for stream in streams]
    noise = _torch_generator(streams[0][3], device)
    row_noise = _torch_generator(streams[0][4], device) if device.type == "cuda" else None
    with method.being_trained(noise):
        episodes = Episodes(data.training, data.sizes, data.rule, device, row_noise)
        if start is None:
            _fix_center(method, episodes, rngs)
        held_out = validation_episodes(data.validation, data.sizes, data.rule, device, [s[2] for s in streams])
        validate, best = Validator(method, *held_out), BestWeights(method, config.patience)
        best.update(0, ranks.agree(validate()))  # training may only make it worse: the initial weights count too
        step = Stepper(method, config.learning_rate, noise, ranks)
        for epoch in range(1, config.epochs + 1 if method.is_learned else 1):
            loss = _train_epoch(method, episodes, rngs, step, config.batch_size)
            auc = ranks.agree(validate())
            best.update(epoch, auc)
            if on_epoch is not None:
                on_epoch(Progress(epoch, float(loss), float(auc.mean()), float(best.best_auc.mean()), best.waited))
            if best.all_stopped:
                break
        best.restore()
    method.eval()
    seconds = time.perf_counter() - started
    return History(best.stopped_at.tolist(), best.best_epoch.tolist(), best.best_auc.tolist(), seconds)


def _fix_center(method: Method, episodes: Episodes, rngs: Sequence[np.random.Generator]) -> None:
    """The centre c from one episode of every training task (Alg. 1, line 2)."""
    method.eval()
    support, query = episodes.draw(episodes.all_tasks, rngs)
    method.fix_center(support, torch.cat([support.normal, query.normal], dim=2))


def _train_epoch(
    method: Method, episodes: Episodes, rngs: Sequence[np.random.Generator], step: Stepper, batch_size: int
) -> Tensor:
    """One pass over the training tasks in equal batches of at most `batch_size`. Returns the mean loss."""
    # NOTE[PAPER] Algorithm 1 takes one task a step; its experiments say "batch size 256", read here as tasks.
    method.train()
    orders = [rng.permutation(tasks) for tasks, rng in zip(episodes.all_tasks, rngs, strict=True)]
    n_batches = -(-len(orders[0]) // batch_size)
    batches = zip(*(np.array_split(order, n_batches) for order in orders), strict=True)
    return torch.stack([step(*episodes.draw(batch, rngs)).mean() for batch in batches]).mean()


def _torch_generator(stream: np.random.SeedSequence, device: torch.device | str = "cpu") -> torch.Generator:
    return torch.Generator(device).manual_seed(int(stream.generate_state(1, np.uint64)[0] >> np.uint64(1)))
