"""The demonstration: learn from many mixings of one small dataset, then meet mixings nobody has seen."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.data.episodes import EpisodeSizes
from oddshot.data.synthesis import mixed_tasks
from oddshot.device import resolve_device
from oddshot.methods import find_method
from oddshot.methods.contract import Rows
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.model.auc import exact_auc
from oddshot.spaces import Spaces, spaces_of
from oddshot.training import Progress, TrainingConfig, evaluate, train, validation_episodes

TRAINING, VALIDATION, TARGET = 400, 50, 50  # tasks, as in the paper
CONFIG = TrainingConfig(epochs=60, patience=20)
RIVALS = {"LR": "lr", "OSVM": "osvm", "KNN": "knn"}


@dataclass(frozen=True)
class DemoResult:
    """AUC of every target task by method (ties as a half), seconds of training, and one task in three spaces."""

    aucs: dict[str, NDArray[np.float64]]
    seconds: float
    spaces: Spaces


def thinned_wdbc(n_anomaly: int = 10) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """scikit-learn's breast cancer table: benign rows are normal, ten random malignant ones the anomalies."""
    from sklearn.datasets import load_breast_cancer

    X, target = load_breast_cancer(return_X_y=True)
    malignant = np.random.default_rng(0).permutation(np.flatnonzero(target == 0))[:n_anomaly]
    kept = np.sort(np.concatenate([np.flatnonzero(target == 1), malignant]))
    scaled = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    return scaled[kept], (target[kept] == 0).astype(np.int8)


def run_demo(seed: int = 0, device: str = "auto", on_epoch: Callable[[Progress], None] | None = None) -> DemoResult:
    """Train on mixed tasks, then compare on the same episodes of unseen ones."""
    where = resolve_device(device)
    pool = mixed_tasks(*thinned_wdbc(), TRAINING + VALIDATION + TARGET, seed)
    bounds = np.cumsum([TRAINING, VALIDATION])
    training, validation, target = (pool.subset(part) for part in np.split(np.arange(len(pool)), bounds))
    method = Eigen(pool.X.shape[1], EigenConfig())
    history = train(method, [training], [validation], [seed], config=CONFIG, device=where, on_epoch=on_epoch)
    streams = [np.random.SeedSequence([seed, 1])]
    support, query = validation_episodes([target], EpisodeSizes(), "resampled", where, streams, least=4 * TARGET)
    aucs = {"eigen": evaluate(method, support, query)[1]}
    for title, name in RIVALS.items():
        kind = find_method(name)
        aucs[title] = evaluate(kind(pool.X.shape[1], kind.config_type()), support, query)[1]
    aucs["nearest normal row"] = exact_auc(*(_nearest_normal(support, rows) for rows in query))
    flat = {name: values.cpu().numpy().ravel() for name, values in aucs.items()}
    return DemoResult(flat, history.seconds, spaces_of(method, support, query))


def _nearest_normal(support: Rows, x: Tensor) -> Tensor:
    """Distance to the nearest normal support row. x: [R, T, N, M] -> [R, T, N]."""
    return torch.cdist(x, support.normal).min(-1).values
