"""Candidates of `method="auto"`: the model that ships, as it is and trained further, simple methods, new networks."""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from oddshot.data.encoding import Encoding
from oddshot.data.episodes.mixing import IntArray
from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.data.task import Task
from oddshot.methods.classical import LR, RF, ClassicalConfig
from oddshot.methods.contract import Method
from oddshot.methods.eigen import Eigen
from oddshot.methods.relative import Relative, RelativeConfig
from oddshot.methods.ridge import RidgeNearest
from oddshot.storage.model_file import Model
from oddshot.training.algorithm import TrainingConfig, TrainingData, train
from oddshot.training.batches import validation_episodes
from oddshot.training.comparison import ComparedEpisodes, encoded_aucs, own_encoding_aucs
from oddshot.training.folds import Fold, scaled_by
from oddshot.training.held_out import learn_decisions, learn_fold_decisions
from oddshot.training.progress import ProgressMode, training_bar, until_stopped, working_bar
from oddshot.training.ranks import Ranks
from oddshot.training.thresholds import find_threshold
from oddshot.training.trainable import Trainable
from oddshot.training.validation import of_replica
from oddshot.universal.shipped import load_universal

AUTO = "auto"
SHIPPED = "the model that ships"
MIN_TASKS = {"eigen": 3, "further": 5, "relative": 200}  # with fewer, a candidate has no chance
MIN_TASKS_OF_MARKS = 20  # and as many tasks as there are attributes: each of these has a mark to be learned
EPISODES_PER_EPOCH = {"folds": 32, "one fold": 96}  # of each replica, at least; every task is among them
VALIDATION_EPISODES = 128  # of all folds together, at least
BATCH_SIZE = 48
FOREST = ClassicalConfig("modern")  # of 100 trees
MAX_EIGEN_EPISODES = 20_000  # of each replica
# Training of `relative` costs as much as it has episodes times columns; below MIN_EPOCHS it is not tried.
MAX_RELATIVE_WORK = {"cpu": 120_000, "cuda": 4_800_000}
MIN_EPOCHS = 5

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ComparedFleet:
    """Tasks with their folds, and the episodes of the held-out tasks on which candidates are compared.

    encoded: the tasks' rows by the fleet's encoding. final: indices of the tasks that the model is to learn from.
    """

    tasks: Sequence[Task]
    encoding: Encoding
    encoded: TaskSet
    folds: Sequence[Fold]
    final: IntArray
    episodes: Sequence[ComparedEpisodes]
    sizes: EpisodeSizes

    @property
    def can_train(self) -> bool:
        """Whether there are tasks to learn from beside those held out."""
        return all(len(fold.training) > 0 for fold in self.folds)

    @cached_property
    def of_folds(self) -> list[TaskSet]:
        """All tasks, scaled as each fold would scale them; for all candidates."""
        return [scaled_by(self.encoded, fold.training, self.encoding) for fold in self.folds]


@dataclass(frozen=True)
class CandidateTraining:
    """How candidates are trained. limits: epochs and patience are at most these.

    stop: asked after every epoch and every candidate whether to end there. resume: the model of an interrupted
    comparison, whose finished candidates are not compared again.
    """

    device: torch.device
    seed: int
    limits: TrainingConfig
    progress: ProgressMode
    ranks: Ranks | None
    stop: Callable[[], bool] | None = None
    resume: Model | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether to end here."""
        return self.stop is not None and self.stop()


@dataclass(frozen=True)
class Contender:
    """A candidate with its AUC on every episode, [B]; finish: returns the model, with these training facts.

    finish is None where the model was not kept. is_interrupted: whether its training was stopped before its end.
    """

    title: str
    aucs: FloatArray
    finish: Callable[[dict[str, Any]], Model] | None
    epochs: int = 0
    best_epoch: int = 0
    is_interrupted: bool = False


@dataclass(frozen=True)
class TrainingPlan:
    """A candidate that is trained. start: the method whose weights it starts from, or None."""

    title: str
    method: type[Method]
    config: Any
    training: TrainingConfig
    start: Method | None = None


def make_contenders(fleet: ComparedFleet, run: CandidateTraining, skipped: Collection[str] = ()) -> Iterator[Contender]:
    """All candidates that suit the fleet, the model that ships first, until the run is stopped.

    skipped: titles of those to leave out.
    """
    with working_bar(f"comparing {SHIPPED}", enabled=run.progress):
        contender = _shipped(fleet, run)
    yield contender
    for title, method in _simple_methods(fleet):
        if title in skipped:
            continue
        if run.is_stopped:
            return
        with working_bar(f"comparing {title}", enabled=run.progress):
            contender = _untrained(title, method, fleet, run)
        yield contender
    for plan in _training_plans(fleet, run):
        if plan.title in skipped:
            continue
        if run.is_stopped:
            return
        yield _trained(plan, fleet, run)


def _shipped(fleet: ComparedFleet, run: CandidateTraining) -> Contender:
    """The model that ships, untouched: each episode has an encoding of its own."""
    model = load_universal()
    aucs = [own_encoding_aucs(model.method, fleet.tasks, drawn) for drawn in fleet.episodes]
    return Contender(SHIPPED, np.concatenate(aucs), lambda facts: dataclasses.replace(model, training=facts))


def _simple_methods(fleet: ComparedFleet) -> Iterator[tuple[str, Method]]:
    """Methods that learn nothing from other tasks; where nothing can be learned, those that no scale matters to."""
    width, has_anomaly = fleet.encoding.n_attributes, fleet.sizes.support_anomaly > 0
    if fleet.can_train:
        shipped = load_universal().method
        yield f"{SHIPPED}, with the scales of the fleet", type(shipped)(width, shipped.config, shipped.weights)
        yield "ridge regression and nearest normal row", RidgeNearest(width, RidgeNearest.config_type())
        if has_anomaly:
            yield "logistic regression", LR(width, ClassicalConfig())
    if has_anomaly:
        yield "random forest", RF(width, FOREST)


def _untrained(title: str, method: Method, fleet: ComparedFleet, run: CandidateTraining) -> Contender:
    """A method as it is, for tasks that are encoded alike."""
    aucs = [encoded_aucs(method, tasks.X, drawn) for tasks, drawn in zip(fleet.of_folds, fleet.episodes, strict=True)]

    def finish(facts: dict[str, Any]) -> Model:
        streams = [np.random.SeedSequence([run.seed, 1])]
        drawn = validation_episodes([fleet.encoded], fleet.sizes, "resampled", run.device, streams)
        calibration = learn_decisions(method, fleet.encoded, fleet.sizes, run.device, run.seed)
        return Model(method, fleet.encoding, find_threshold(method, *of_replica(drawn, 0)), facts, calibration)

    return Contender(title, np.concatenate(aucs), finish)


def _training_plans(fleet: ComparedFleet, run: CandidateTraining) -> Iterator[TrainingPlan]:
    """What is worth training on a fleet of this size."""
    n_tasks, width = len(fleet.encoded), fleet.encoding.n_attributes
    if not fleet.can_train:
        return
    n_episodes, n_replicas = episodes_per_epoch(fleet), len(fleet.folds) + 1
    if n_tasks >= MIN_TASKS["eigen"] and fleet.sizes.support_anomaly > 0:
        epochs = min(200, max(MAX_EIGEN_EPISODES // n_episodes, MIN_EPOCHS))
        yield TrainingPlan("eigen", Eigen, Eigen.config_type(), _config(run.limits, epochs, patience=30))
    work = n_episodes * n_replicas * width
    epochs = min(60, MAX_RELATIVE_WORK["cuda" if run.device.type == "cuda" else "cpu"] // work)
    if epochs < MIN_EPOCHS:
        return
    training = _config(run.limits, epochs, patience=6)
    if n_tasks >= MIN_TASKS["further"]:
        start = load_universal().method
        has_marks = n_tasks >= max(MIN_TASKS_OF_MARKS, width)
        config = start.config.with_marks() if has_marks else start.config
        yield TrainingPlan(f"{SHIPPED}, trained further", Relative, config, training, start)
    if n_tasks >= MIN_TASKS["relative"]:
        yield TrainingPlan("relative", Relative, RelativeConfig(), training)


def _config(limits: TrainingConfig, epochs: int, patience: int) -> TrainingConfig:
    return dataclasses.replace(
        limits,
        batch_size=min(BATCH_SIZE, limits.batch_size),
        epochs=min(epochs, limits.epochs),
        patience=min(patience, limits.patience),
    )


def episodes_per_epoch(fleet: ComparedFleet) -> int:
    """Of each replica: every task once, and more where there are few tasks."""
    return max(EPISODES_PER_EPOCH["folds" if len(fleet.folds) > 1 else "one fold"], len(fleet.final))


def _trained(plan: TrainingPlan, fleet: ComparedFleet, run: CandidateTraining) -> Contender:
    """Train a replica for each fold and one for all tasks, side by side, to the epoch at which the folds are best."""
    folds, n_folds, width = fleet.folds, len(fleet.folds), fleet.encoding.n_attributes
    task_sets = fleet.of_folds
    learned = Trainable(plan.method, width, plan.config, n_folds + 1)
    with training_bar(plan.training, enabled=run.progress, title=f"training {plan.title}") as on_epoch:
        history = train(
            learned, _training_data(fleet, task_sets), [run.seed] * (n_folds + 1), config=plan.training,
            device=run.device, on_epoch=until_stopped(on_epoch, run.stop), ranks=run.ranks, start=plan.start,
        )  # fmt: skip
    is_interrupted = run.is_stopped
    *members, final = learned.all_trained()
    aucs = [
        encoded_aucs(member, tasks.X, drawn)
        for member, tasks, drawn in zip(members, task_sets, fleet.episodes, strict=True)
    ]

    def finish(facts: dict[str, Any]) -> Model:
        held_out = [tasks.subset(fold.held_out) for tasks, fold in zip(task_sets, folds, strict=True)]
        streams, thresholds = [np.random.SeedSequence([run.seed, 1])], []
        for member, tasks in zip(members, held_out, strict=True):
            drawn = validation_episodes([tasks], fleet.sizes, "resampled", run.device, streams)
            thresholds.append(find_threshold(member, *of_replica(drawn, 0)))
        calibration = learn_fold_decisions([*zip(members, held_out, strict=True)], fleet.sizes, run.device, run.seed)
        return Model(final, fleet.encoding, float(np.mean(thresholds)), facts, calibration)

    return Contender(
        plan.title, np.concatenate(aucs), finish, max(history.epochs), history.best_epoch[0], is_interrupted
    )


def _training_data(fleet: ComparedFleet, task_sets: Sequence[TaskSet]) -> TrainingData:
    """The tasks of the folds and, last, those of the final model; of each replica as many episodes."""
    n_episodes, n_folds = episodes_per_epoch(fleet), len(fleet.folds)
    n_validation = -(-VALIDATION_EPISODES // n_folds)
    pairs = list(zip(task_sets, fleet.folds, strict=True))
    training = [tasks.subset(np.resize(fold.training, n_episodes)) for tasks, fold in pairs]
    validation = [tasks.subset(np.resize(fold.held_out, n_validation)) for tasks, fold in pairs]
    return TrainingData(
        [*training, fleet.encoded.subset(np.resize(fleet.final, n_episodes))],
        [*validation, validation[0]],  # the final model is not validated: its tasks are those it learns from
        fleet.sizes,
        n_folds=n_folds,
        min_validation_episodes=1,
    )
