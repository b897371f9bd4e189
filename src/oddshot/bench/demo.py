"""The demonstration: anomaly detection on handwritten digits from a few labels, with digits unseen in training."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from oddshot.bench.spaces import TaskSpaces, compute_task_spaces
from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.methods import find_method
from oddshot.methods.contract import Method
from oddshot.methods.eigen import Eigen
from oddshot.methods.relative import Relative
from oddshot.score.auc import exact_auc
from oddshot.score.blend import mean_distance
from oddshot.score.rows import LabelledRows
from oddshot.training import EpochProgress, TrainingConfig, TrainingData, evaluate, train, validation_episodes
from oddshot.training.device import resolve_device
from oddshot.training.meta_training import continued_config
from oddshot.training.trainable import Trainable
from oddshot.training.validation import of_replica
from oddshot.universal.shipped import load_universal

# In each task one digit is normal, and the other digits of its group are anomalies.
TRAINING_DIGITS = range(6)
NEW_DIGITS = range(6, 10)
N_EPISODES_PER_TASK = 32  # in one epoch of training
MIN_TEST_EPISODES = 200  # of each group, the same for all methods
CONFIG = TrainingConfig(epochs=10, patience=5, batch_size=48)
BASELINES = {"one-class SVM": "osvm", "logistic regression": "lr"}

FloatArray = NDArray[np.float64]
EpochCallback = Callable[[EpochProgress], None]


@dataclass(frozen=True)
class DemoResult:
    """Results of the demonstration.

    known, new: AUCs by method on test episodes of the training digits and of the new digits, [n_episodes]. seconds:
    training time. spaces: a task of new digits, for Figure 2.
    """

    known: dict[str, FloatArray]
    new: dict[str, FloatArray]
    seconds: float
    spaces: TaskSpaces


def digit_tasks(digits: Sequence[int]) -> TaskSet:
    """One task for each of the digits, which is its normal class; the others of them are the task's anomalies.

    The rows are scikit-learn's digits dataset with z-scored pixels.
    """
    X, digit = load_digits(return_X_y=True)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    in_group = np.isin(digit, digits)
    return TaskSet.from_tasks([(X[in_group], (digit[in_group] != normal).astype(np.int8)) for normal in digits])


def run_demo(seed: int = 0, device: str = "auto", on_epoch: EpochCallback | None = None) -> DemoResult:
    """Train on the training digits, and compare all methods on the same episodes of training and of new digits."""
    torch_device = resolve_device(device)
    known_tasks, new_tasks = digit_tasks(TRAINING_DIGITS), digit_tasks(NEW_DIGITS)
    shipped = load_universal().method
    relative, relative_seconds = _train(Relative, known_tasks, seed, torch_device, shipped, on_epoch)
    eigen, eigen_seconds = _train(Eigen, known_tasks, seed, torch_device, None, on_epoch)
    methods: dict[str, Method] = {
        "relative, as it ships": shipped,
        "relative, trained on 0 to 5": relative,
        "eigen, trained on 0 to 5": eigen,
    }
    for title, name in BASELINES.items():
        method_type = find_method(name)
        methods[title] = method_type(known_tasks.X.shape[1], method_type.config_type())
    new_episodes = _test_episodes(new_tasks, seed)
    return DemoResult(
        known=_compare_methods(methods, *_test_episodes(known_tasks, seed)),
        new=_compare_methods(methods, *new_episodes),
        seconds=relative_seconds + eigen_seconds,
        spaces=compute_task_spaces(relative, *new_episodes),
    )


def _train(
    method_type: type[Eigen],
    tasks: TaskSet,
    seed: int,
    device: torch.device,
    start: Method | None,
    on_epoch: EpochCallback | None,
) -> tuple[Method, float]:
    """Train a method, starting from the weights of `start` where it is given. Returns it and the training seconds."""
    config = method_type.config_type() if start is None else continued_config(start.config)
    trainable = Trainable(method_type, tasks.X.shape[1], config)
    repeated = tasks.subset(np.tile(np.arange(len(tasks)), N_EPISODES_PER_TASK))
    data = TrainingData([repeated], [tasks])
    history = train(trainable, data, [seed], config=CONFIG, device=device, on_epoch=on_epoch, start=start)
    return trainable.trained(), history.seconds


def _test_episodes(tasks: TaskSet, seed: int) -> tuple[LabelledRows, LabelledRows]:
    """Supports and queries of the test episodes."""
    streams = [np.random.SeedSequence([seed, 1])]
    drawn = validation_episodes([tasks], EpisodeSizes(), "resampled", torch.device("cpu"), streams, MIN_TEST_EPISODES)
    return of_replica(drawn, 0)


def _compare_methods(
    methods: Mapping[str, Method], support: LabelledRows, query: LabelledRows
) -> dict[str, FloatArray]:
    """AUCs of every method and of the distance to the nearest normal support row, [n_episodes] each."""
    aucs = {title: evaluate(method, support, query)[1] for title, method in methods.items()}
    aucs["nearest normal row"] = exact_auc(*(mean_distance(rows, support.normal, 1) for rows in query))
    return aucs
