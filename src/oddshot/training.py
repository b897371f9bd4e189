"""Algorithm 1: episodes in, trained weights out. Here the NumPy data meets the torch model."""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from oddshot.data.episodes import Episode, EpisodeSizes, Ints, Rule, TaskSet, draw_episode
from oddshot.errors import InputError
from oddshot.methods.contract import Method, Rows
from oddshot.model.auc import exact_auc


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


class Episodes:
    """The rows of the tasks of R replicas on one device, and episodes of them as tensors."""

    def __init__(self, pools: Sequence[TaskSet], sizes: EpisodeSizes, rule: Rule, device: torch.device) -> None:
        blocks = list({id(pool.X): pool.X for pool in pools}.values())
        starts = np.cumsum([0] + [len(block) for block in blocks])
        self.first_row = [int(starts[next(i for i, b in enumerate(blocks) if b is pool.X)]) for pool in pools]
        self.X = torch.from_numpy(np.concatenate(blocks)).to(device)
        self.pools, self.sizes, self.rule = pools, sizes, rule

    def draw(self, tasks: Sequence[Ints], rngs: Sequence[np.random.Generator]) -> tuple[Rows, Rows]:
        """Support and query of one episode a task. tasks: R arrays [T] of task numbers."""
        drawn = [
            draw_episode(pool, chosen, self.sizes, self.rule, rng)
            for pool, chosen, rng in zip(self.pools, tasks, rngs, strict=True)
        ]
        stacked = [np.stack(group) + np.reshape(self.first_row, (-1, 1, 1)) for group in zip(*drawn, strict=True)]
        episode = Episode(*stacked)
        rows = self.X[torch.from_numpy(np.concatenate(episode, axis=2)).to(self.X.device)]
        mixing = self._mixing(tasks)
        if mixing is not None:
            rows = rows @ mixing
        parts = rows.split([part.shape[2] for part in episode], dim=2)
        return Rows(parts[0], parts[1]), Rows(parts[2], parts[3])

    def _mixing(self, tasks: Sequence[Ints]) -> Tensor | None:
        """[R, T, M, M], or None where the tasks have rows of their own."""
        matrices = [pool.mixing(chosen) for pool, chosen in zip(self.pools, tasks, strict=True) if pool.mixing]
        return torch.from_numpy(np.stack(matrices)).to(self.X.device) if matrices else None


def train(
    method: Method,
    training: Sequence[TaskSet],
    validation: Sequence[TaskSet],
    seeds: Sequence[int],
    *,
    config: TrainingConfig | None = None,
    sizes: EpisodeSizes | None = None,
    rule: Rule = "resampled",
    device: torch.device | str = "cpu",
    on_epoch: Callable[[Progress], None] | None = None,
) -> History:
    """Train R replicas in place, each on its own tasks and from its own seed, and leave each at its best weights."""
    config, sizes, started = config or TrainingConfig(), sizes or EpisodeSizes(), time.perf_counter()
    streams = [np.random.SeedSequence(seed).spawn(4) for seed in seeds]
    method.initialise([_torch_generator(stream[0]) for stream in streams])
    method.to(device)
    device = torch.device(device)
    draw_rngs = [np.random.default_rng(stream[1]) for stream in streams]
    method.set_noise(_torch_generator(streams[0][3], device))

    episodes = Episodes(training, sizes, rule, device)
    everyone = [np.arange(len(pool)) for pool in training]
    method.eval()
    support, query = episodes.draw(everyone, draw_rngs)
    method.fix_center(support, torch.cat([support.normal, query.normal], dim=2))

    held_out = validation_episodes(validation, sizes, rule, device, [stream[2] for stream in streams])
    keeper = _BestWeights(method, config.patience)
    parameters = list(method.parameters())
    if not parameters:
        keeper.update(0, evaluate(method, *held_out)[1].mean(-1))
    optimizer = torch.optim.Adam(parameters or [torch.empty(0)], lr=config.learning_rate)
    for epoch in range(1, config.epochs + 1 if parameters else 1):
        loss = _train_epoch(method, episodes, everyone, draw_rngs, optimizer, config.batch_size)
        auc = evaluate(method, *held_out)[1].mean(-1)
        keeper.update(epoch, auc)
        if on_epoch is not None:
            on_epoch(Progress(epoch, loss, float(auc.mean()), float(keeper.best_auc.mean()), keeper.waited))
        if keeper.all_stopped:
            break
    keeper.restore()
    method.set_noise(None)
    method.eval()
    return History(
        keeper.stopped_at.tolist(), keeper.best_epoch.tolist(), keeper.best_auc.tolist(), time.perf_counter() - started
    )


def validation_episodes(
    pools: Sequence[TaskSet],
    sizes: EpisodeSizes,
    rule: Rule,
    device: torch.device,
    streams: Sequence[np.random.SeedSequence],
    least: int = 64,
) -> tuple[Rows, Rows]:
    """Fixed episodes, at least `least` in all: several a task where there are few tasks and rows are drawn."""
    repeats = 1 if rule == "published" else -(-least // len(pools[0]))
    tasks = [np.tile(np.arange(len(pool)), repeats) for pool in pools]
    return Episodes(pools, sizes, rule, device).draw(tasks, [np.random.default_rng(stream) for stream in streams])


@torch.no_grad()
def evaluate(method: Method, support: Rows, query: Rows) -> tuple[Tensor, Tensor]:
    """AUC of every task, [R, T] each: strict (Eq. 8), and with ties as a half."""
    method.eval()
    score = method.adapt(support)
    normal, anomaly = score(query.normal), score(query.anomaly)
    return exact_auc(normal, anomaly, ties=0.0), exact_auc(normal, anomaly)


def _train_epoch(
    method: Method,
    episodes: Episodes,
    everyone: Sequence[Ints],
    rngs: Sequence[np.random.Generator],
    optimizer: torch.optim.Optimizer,
    batch_size: int,
) -> float:
    """One pass over the training tasks in equal batches of at most `batch_size`. Returns the mean loss."""
    # NOTE[PAPER] Algorithm 1 takes one task a step; its experiments say "batch size 256", read here as tasks.
    method.train()
    orders = [rng.permutation(tasks) for tasks, rng in zip(everyone, rngs, strict=True)]
    n_batches = -(-len(orders[0]) // batch_size)
    total = torch.zeros((), dtype=torch.float64)
    for batch in zip(*(np.array_split(order, n_batches) for order in orders), strict=True):
        loss = method.loss(*episodes.draw(batch, rngs))
        optimizer.zero_grad(set_to_none=True)
        loss.sum().backward()  # a sum: each replica's gradient is the one it would have alone
        optimizer.step()
        total = total + loss.detach().mean().cpu()
    return float(total) / n_batches


class _BestWeights:
    """The best weights of every replica so far; one that has waited too long keeps its own for good."""

    def __init__(self, method: Method, patience: int) -> None:
        self.method, self.patience = method, patience
        self.best_auc = torch.full((method.replicas,), -1.0, dtype=torch.float64)
        self.best_epoch = torch.zeros(method.replicas, dtype=torch.int64)
        self.stopped_at = torch.zeros(method.replicas, dtype=torch.int64)
        self.stopped = torch.zeros(method.replicas, dtype=torch.bool)
        self.weights = copy.deepcopy(method.state_dict())
        self.waited = 0

    @property
    def all_stopped(self) -> bool:
        return bool(self.stopped.all())

    def update(self, epoch: int, auc: Tensor) -> None:
        """auc: [R], of the weights as they are now."""
        auc = auc.cpu()
        better = (auc > self.best_auc) & ~self.stopped
        self.best_auc = torch.where(better, auc, self.best_auc)
        self.best_epoch[better] = epoch
        self.stopped_at[~self.stopped] = epoch
        self.stopped |= epoch - self.best_epoch >= self.patience
        self.waited = int((epoch - self.best_epoch[~self.stopped]).min()) if not self.all_stopped else self.patience
        for name, value in self.method.state_dict().items():
            self.weights[name][better] = value[better]

    def restore(self) -> None:
        self.method.load_state_dict(self.weights)


def _torch_generator(stream: np.random.SeedSequence, device: torch.device | str = "cpu") -> torch.Generator:
    return torch.Generator(device).manual_seed(int(stream.generate_state(1, np.uint64)[0] >> np.uint64(1)))
