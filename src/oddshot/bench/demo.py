"""The demonstration: tell handwritten digits from a few labels, also those of kinds that no training has seen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.bench.spaces import TaskSpaces, compute_task_spaces
from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.methods import find_method
from oddshot.methods.contract import LabelledRows, Method
from oddshot.methods.eigen import Eigen
from oddshot.methods.relative import Relative
from oddshot.model.auc import exact_auc
from oddshot.model.device import resolve_device
from oddshot.training import Progress, TrainingConfig, evaluate, train, validation_episodes
from oddshot.universal.shipped import load_universal

TRAINING_DIGITS, NEW_DIGITS = (
    range(6),
    range(6, 10),
)  # digits: one is normal in each task, the others of its group are anomalies
N_EPISODES_PER_TASK = 32  # episodes of each task in an epoch
MIN_TEST_EPISODES = 200  # that every method meets, of each group
CONFIG = TrainingConfig(epochs=10, patience=5, batch_size=48)
BASELINES = {"one-class SVM": "osvm", "logistic regression": "lr"}


@dataclass(frozen=True)
class DemoResult:
    """AUCs by method, of episodes of known kinds and of new ones [episodes]; seconds of training; a task in spaces."""

    known: dict[str, NDArray[np.float64]]
    new: dict[str, NDArray[np.float64]]
    seconds: float
    spaces: TaskSpaces


def digit_tasks(digits: Sequence[int]) -> TaskSet:
    """scikit-learn's digits, each pixel z-scored: a task for each of these, anomalies are the others of them."""
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    some = np.isin(digit, digits)
    return TaskSet.of([(X[some], (digit[some] != one).astype(np.int8)) for one in digits])


def run_demo(seed: int = 0, device: str = "auto", on_epoch: Callable[[Progress], None] | None = None) -> DemoResult:
    """Train on the known digits, then compare on the same episodes of known and of new ones."""
    where, known, new = resolve_device(device), digit_tasks(TRAINING_DIGITS), digit_tasks(NEW_DIGITS)
    shipped = load_universal().method
    own, seconds = _trained(Relative, known, seed, where, shipped, on_epoch)
    paper, more_seconds = _trained(Eigen, known, seed, where, None, on_epoch)
    methods: dict[str, Method] = {
        "relative, as it ships": shipped.to(where),
        "relative, trained on 0 to 5": own,
        "eigen, trained on 0 to 5": paper,
    }
    for title, name in BASELINES.items():
        kind = find_method(name)
        methods[title] = kind(known.X.shape[1], kind.config_type())
    aucs = [_compare(methods, *_episodes(pool, seed, where)) for pool in (known, new)]
    return DemoResult(aucs[0], aucs[1], seconds + more_seconds, compute_task_spaces(own, *_episodes(new, seed, where)))


def _trained(
    kind: type[Eigen],
    pool: TaskSet,
    seed: int,
    device: torch.device,
    start: Method | None,
    on_epoch: Callable[[Progress], None] | None,
) -> tuple[Eigen, float]:
    method = kind(pool.X.shape[1], kind.config_type() if start is None else kind.continued(start.config))
    many = pool.subset(np.tile(np.arange(len(pool)), N_EPISODES_PER_TASK))
    history = train(method, [many], [pool], [seed], config=CONFIG, device=device, on_epoch=on_epoch, start=start)
    return method, history.seconds


def _episodes(pool: TaskSet, seed: int, device: torch.device) -> tuple[LabelledRows, LabelledRows]:
    streams = [np.random.SeedSequence([seed, 1])]
    return validation_episodes([pool], EpisodeSizes(), "resampled", device, streams, least=MIN_TEST_EPISODES)


def _compare(
    methods: Mapping[str, Method], support: LabelledRows, query: LabelledRows
) -> dict[str, NDArray[np.float64]]:
    aucs = {title: evaluate(method, support, query)[1] for title, method in methods.items()}
    aucs["nearest normal row"] = exact_auc(*(_nearest_normal(support, rows) for rows in query))
    return {title: values.cpu().numpy().ravel() for title, values in aucs.items()}


def _nearest_normal(support: LabelledRows, x: Tensor) -> Tensor:
    """Distance to the nearest normal support row. x: [R, T, N, M] -> [R, T, N]."""
    return torch.cdist(x, support.normal).min(-1).values
