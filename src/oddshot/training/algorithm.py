"""Algorithm 1: training of a method on episodes of many tasks."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from oddshot.data.episodes.sampling import EpisodeSizes, SamplingRule, TaskSet
from oddshot.methods.contract import Method
from oddshot.methods.hyperparameters import require_at_least, require_positive
from oddshot.training.batches import MIN_VALIDATION_EPISODES, Episodes, validation_episodes
from oddshot.training.ranks import Ranks
from oddshot.training.replicas import TrainedReplicas
from oddshot.training.stepping import Stepper
from oddshot.training.trainable import Trainable
from oddshot.training.validation import EarlyStopping, Validator


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of training; the defaults are the paper's, except for `patience`, which it does not state.

    Parameters
    ----------
    learning_rate : float, default=1e-3
        Learning rate of Adam.
    batch_size : int, default=256
        Number of tasks in one optimisation step.
    epochs : int, default=1000
        Largest number of passes over the training tasks.
    patience : int, default=50
        Training stops after this many epochs without a better validation AUC.

    Raises
    ------
    InputError
        If a number is too small.

    Examples
    --------
    >>> from oddshot import TrainingConfig
    >>> TrainingConfig(epochs=100)
    TrainingConfig(learning_rate=0.001, batch_size=256, epochs=100, patience=50)
    >>> TrainingConfig(epochs=0)
    Traceback (most recent call last):
        ...
    oddshot.errors.InputError: epochs is 0; it must be at least 1
    """

    learning_rate: float = 1e-3
    batch_size: int = 256
    epochs: int = 1000
    patience: int = 50

    def __post_init__(self) -> None:
        require_positive(self, "learning_rate")
        require_at_least(self, batch_size=1, epochs=1, patience=1)


@dataclass(frozen=True)
class EpochProgress:
    """The state of training after an epoch.

    loss, valid_auc: means over the replicas that are still trained. best_auc: mean over all. epochs_since_best: the
    smallest number of epochs since the best one, over replicas that are still trained.
    """

    epoch: int
    loss: float
    valid_auc: float
    best_auc: float
    epochs_since_best: int


@dataclass(frozen=True)
class History:
    """A summary of training, with one value for each replica.

    epochs: epochs until it stopped. best_epoch, best_auc: the epoch of its best weights and their validation AUC.
    seconds: duration of the whole training.
    """

    epochs: list[int]
    best_epoch: list[int]
    best_auc: list[float]
    seconds: float


@dataclass(frozen=True)
class TrainingData:
    """Training and validation tasks of R replicas, one task set for each, and how episodes are sampled from them.

    n_folds: if it is not 0, the first n_folds replicas are the folds of a cross-validation, and all replicas keep the
    weights of the epoch with the best mean AUC of the folds. min_validation_episodes: of each replica.
    """

    training: Sequence[TaskSet]
    validation: Sequence[TaskSet]
    sizes: EpisodeSizes = field(default_factory=EpisodeSizes)
    rule: SamplingRule = "resampled"
    n_folds: int = 0
    min_validation_episodes: int = MIN_VALIDATION_EPISODES


@torch.enable_grad()  # also if the caller has disabled gradients
def train(
    trainable: Trainable,
    data: TrainingData,
    seeds: Sequence[int],
    *,
    config: TrainingConfig | None = None,
    device: torch.device | str = "cpu",
    on_epoch: Callable[[EpochProgress], bool | None] | None = None,
    ranks: Ranks | None = None,
    start: Method | None = None,
) -> History:
    """Train R replicas in place, each on its own tasks and from its own seed, and restore the best weights of each.

    on_epoch: called after each epoch; training ends where it returns True. ranks: processes that all call this function
    with the same arguments and share the work; all end with the same weights. start: a trained method with one replica,
    from whose weights all replicas are trained further.
    """
    config, ranks, started = config or TrainingConfig(), ranks or Ranks(), time.perf_counter()
    device = torch.device(device)
    streams = [np.random.SeedSequence(seed).spawn(5) for seed in seeds]
    trainable.initialise([_torch_generator(stream[0]) for stream in streams], start)
    trainable.to(device)
    rngs = [np.random.default_rng(stream[1]) for stream in streams]
    dropout_generator = _torch_generator(streams[0][3], device)
    row_generator = _torch_generator(streams[0][4], device) if device.type == "cuda" else None
    episodes = Episodes(data.training, data.sizes, data.rule, device, row_generator)
    if start is None:
        _fix_center(trainable, episodes, rngs)
    validation_streams = [stream[2] for stream in streams]
    held_out = validation_episodes(
        data.validation, data.sizes, data.rule, device, validation_streams, data.min_validation_episodes
    )
    trainable.noise, stopping = dropout_generator, EarlyStopping(trainable, config.patience)
    trained = TrainedReplicas(
        trainable,
        episodes,
        rngs,
        held_out,
        Stepper(trainable, config.learning_rate, dropout_generator, ranks),
        Validator(trainable, *held_out, data.n_folds),
    )
    # The initial weights may turn out to be the best.
    stopping.update(0, ranks.broadcast(trained.validate()), trained.trainable)
    for epoch in range(1, config.epochs + 1 if trainable.is_learned else 1):
        loss = trained.train_epoch(config.batch_size)
        auc = ranks.broadcast(trained.validate())  # so that all processes stop at the same epoch
        stopping.update(epoch, auc, trained.trainable)
        if on_epoch is not None:
            best_auc = float(stopping.best_auc.mean())
            state = EpochProgress(epoch, float(loss), float(auc.mean()), best_auc, stopping.epochs_since_best)
            if on_epoch(state):
                break
        if stopping.all_stopped:
            break
        trained = trained.without_stopped(stopping, epoch)
    stopping.restore_best()
    trainable.noise = None
    seconds = time.perf_counter() - started
    return History(stopping.stopped_at.tolist(), stopping.best_epoch.tolist(), stopping.best_auc.tolist(), seconds)


def _fix_center(trainable: Trainable, episodes: Episodes, rngs: Sequence[np.random.Generator]) -> None:
    """Fix the centre c from one episode of every training task (Alg. 1, line 2)."""
    support, query = episodes.draw(episodes.all_tasks, rngs)
    trainable.fix_center(support, torch.cat([support.normal, query.normal], dim=2))


def _torch_generator(stream: np.random.SeedSequence, device: torch.device | str = "cpu") -> torch.Generator:
    return torch.Generator(device).manual_seed(int(stream.generate_state(1, np.uint64)[0] >> np.uint64(1)))
