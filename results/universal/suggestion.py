"""What a label gains that `detector.suggest` asks for: AUC per label added, against random choice and highest score.

    python results/universal/suggestion.py

About ten minutes on two cores. Every task starts with five normal rows and one anomaly labelled; a label is added at a
time, from rows apart from those that the AUC is computed on. Digits: normal is 8 or 9, the anomalies the other of them
or any other digit; the model is trained briefly on 0 to 4 with early stopping on 5 to 7, on which the way of choosing
was chosen too. Wine: normal is one cultivar, another one the anomalies; the model knows only random 13-column views of
the digits. Writes suggestion.csv and suggestion.png beside this file.
"""

import csv
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from oddshot import FewShotDetector, Model, Task, TrainingConfig, meta_train

HERE = Path(__file__).parent
N_LABELS_ADDED = 12  # one at a time
CHOICES = ("suggest", "random", "highest score")
CONFIG = TrainingConfig(epochs=40, patience=15, batch_size=50)
FloatArray = NDArray[np.float64]


def draw_task(X: FloatArray, target: NDArray[np.int64], kinds: list[int], seed: int, counts: tuple[int, int]) -> Task:
    """A task with rows of the first class as normal rows and rows of the other classes as anomalies."""
    rng = np.random.default_rng([seed, *kinds])
    normal = rng.choice(np.flatnonzero(target == kinds[0]), counts[0], replace=False)
    anomalous = rng.choice(np.flatnonzero(np.isin(target, kinds[1:])), counts[1], replace=False)
    return Task(f"{kinds[0]} {seed}", X[np.concatenate([normal, anomalous])], np.repeat([0, 1], counts))


def with_others(kind: int, kinds: range) -> list[int]:
    """The class itself, followed by the other classes of the range."""
    return [kind, *(other for other in kinds if other != kind)]


def train_on_digits(views: bool) -> Model:
    """views: each task has 13 random mixings of the columns instead of the columns."""
    X, target = load_digits(return_X_y=True)
    tasks = [
        [draw_task(X, target, with_others(kind, kinds), seed, (90, 20)) for kind in kinds for seed in range(repeats)]
        for kinds, repeats in ((range(5), 20), (range(5, 8), 10))
    ]
    if views:
        rng = np.random.default_rng(0)
        tasks = [[Task(t.name, _view(t.X, rng), t.y) for t in part] for part in tasks]
    return meta_train(tasks[0], validation=tasks[1], method="relative", training=CONFIG, device="cpu", progress=False)


def _view(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    mixed: FloatArray = StandardScaler().fit_transform(X @ rng.uniform(-1, 1, (X.shape[1], 13)))
    return mixed


def auc_curve(model: Model, task: Task, choice: str, seed: int) -> list[float]:
    """AUC after 0, 1, ... N_LABELS_ADDED added labels."""
    rng, y = np.random.default_rng(seed), task.y
    normal, anomaly = rng.permutation(np.flatnonzero(y == 0)), rng.permutation(np.flatnonzero(y == 1))
    n_normal, n_anomaly = len(normal) // 3, len(anomaly) // 3
    support = [*normal[:5], anomaly[0]]
    test = np.concatenate([normal[5 : 5 + n_normal], anomaly[1 : 1 + n_anomaly]])
    pool = np.concatenate([normal[5 + n_normal :], anomaly[1 + n_anomaly :]])
    aucs = []
    for _ in range(N_LABELS_ADDED + 1):
        detector = FewShotDetector(model).fit(task.X[support], y[support])
        aucs.append(float(roc_auc_score(y[test], detector.decision_function(task.X[test]))))
        rest = np.setdiff1d(pool, support)
        if choice == "suggest":
            index = detector.suggest(task.X[rest], 1)[0]
        elif choice == "random":
            index = rng.integers(len(rest))
        else:
            index = detector.score_samples(task.X[rest]).argmax()
        support.append(rest[index])
    return aucs


def main() -> None:
    """Train, choose, write."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    X, target = load_digits(return_X_y=True)
    wine, cultivar = load_wine(return_X_y=True)
    wine = StandardScaler().fit_transform(wine)
    studies = {
        "digits": (
            False,
            [draw_task(X, target, with_others(k, range(8, 10)), s, (110, 30)) for k in (8, 9) for s in range(8)],
        ),
        "digits, any other": (
            False,
            [draw_task(X, target, with_others(k, range(10)), s, (110, 30)) for k in (8, 9) for s in range(8)],
        ),
        "wine": (
            True,
            [
                draw_task(wine, cultivar, [k, o], s, (47, 24))
                for k in range(3)
                for o in range(3)
                if o != k
                for s in range(3)
            ],
        ),
    }
    models = {views: train_on_digits(views) for views in (False, True)}
    figure, axes = plt.subplots(1, len(studies), figsize=(5 * len(studies), 4.2))
    lines = []
    for axis, (study, (views, tasks)) in zip(axes, studies.items(), strict=True):
        for choice in CHOICES:
            aucs = np.array([auc_curve(models[views], task, choice, seed) for task in tasks for seed in range(3)])
            mean, error = aucs.mean(0), aucs.std(0) / np.sqrt(len(aucs))
            axis.errorbar(range(N_LABELS_ADDED + 1), mean, error, label=choice, capsize=2)
            lines += [
                [study, choice, k, f"{m:.4f}", f"{e:.4f}"] for k, (m, e) in enumerate(zip(mean, error, strict=True))
            ]
            print(study, choice, np.round(mean, 4), flush=True)
        axis.set(title=study, xlabel="labels added to 5 normal rows and 1 anomaly")
    axes[0].set_ylabel("AUC on the task's other rows")
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(HERE / "suggestion.png", dpi=120)
    with (HERE / "suggestion.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["study", "choice", "labels_added", "auc", "standard_error"])
        writer.writerows(lines)


if __name__ == "__main__":
    main()
