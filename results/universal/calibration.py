"""How well decisions hold on unseen tasks: realised false-positive rates and a reliability diagram.

    python results/universal/calibration.py

About five minutes on two cores. Two studies with the method `relative`, trained briefly on tables of scikit-learn:
mixings of the breast cancer table (unseen tasks: new mixings of rows that no training task has), and digits (normal is
one digit: training on 0 to 4, held-out 5 and 6, unseen 7 to 9, other anomalies too). Writes calibration.csv and
calibration.png beside this file.
"""

import csv
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits

from oddshot import FewShotDetector, Model, Task, TrainingConfig, meta_train

HERE = Path(__file__).parent
RATES = (0.01, 0.05, 0.1, 0.2)
N_NORMAL, N_ANOMALY = 80, 20  # rows of each task
CASES = {  # labelled anomalies, unlabelled normal rows, unlabelled anomalies
    "5 normal rows": (0, 0, 0),
    "5 normal, 1 anomaly": (1, 0, 0),
    "5 normal, 1 anomaly, 40 unlabelled": (1, 38, 2),
    "the same, all of them normal": (1, 40, 0),
}
CONFIG = TrainingConfig(epochs=40, patience=15, batch_size=64)
FloatArray = NDArray[np.float64]


def draw_task(X: FloatArray, normal: FloatArray, anomalous: FloatArray, rng: np.random.Generator, mix: bool) -> Task:
    """80 normal and 20 anomalous rows, with the columns mixed at random or not, z-scored."""
    rows = np.concatenate(
        [rng.choice(normal, N_NORMAL, replace=False), rng.choice(anomalous, N_ANOMALY, replace=False)]
    )
    Z = X[rows] @ rng.uniform(-1, 1, (X.shape[1], X.shape[1])) if mix else X[rows]
    spread = Z.std(0)
    return Task("task", (Z - Z.mean(0)) / np.where(spread > 0, spread, 1.0), np.repeat([0, 1], [N_NORMAL, N_ANOMALY]))


def mixed_cancer_tasks(rng: np.random.Generator) -> tuple[list[Task], list[Task], list[Task]]:
    """Training, held-out and unseen tasks."""
    X, target = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    half = rng.random(len(X)) < 0.5

    def tasks(part: NDArray[np.bool_], n: int) -> list[Task]:
        normal, anomalous = np.flatnonzero(part & (target == 1)), np.flatnonzero(part & (target == 0))
        return [draw_task(X, normal, anomalous, rng, mix=True) for _ in range(n)]

    return tasks(half, 200), tasks(half, 60), tasks(~half, 100)


def digit_tasks(rng: np.random.Generator) -> tuple[list[Task], list[Task], list[Task]]:
    """Training, held-out and unseen tasks."""
    X, target = load_digits(return_X_y=True)

    def tasks(kinds: tuple[int, ...], n: int) -> list[Task]:
        chosen = rng.permutation(np.tile(kinds, n // len(kinds) + 1))[:n]
        others = [np.flatnonzero(np.isin(target, kinds) & (target != kind)) for kind in chosen]
        return [
            draw_task(X, np.flatnonzero(target == kind), other, rng, mix=False)
            for kind, other in zip(chosen, others, strict=True)
        ]

    return tasks((0, 1, 2, 3, 4), 200), tasks((5, 6), 60), tasks((7, 8, 9), 100)


def evaluate_model(
    model: Model, tasks: list[Task], case: tuple[int, int, int], rng: np.random.Generator
) -> tuple[FloatArray, ...]:
    """Evaluate a model on unseen tasks.

    Returns false-positive rates [n_tasks, n_rates], and the probabilities and labels of all scored rows.
    """
    n_anomaly, *unlabelled = case
    realised, p, y = [], [], []
    for task in tasks:
        normal = rng.permutation(np.flatnonzero(task.y == 0))
        anomaly = rng.permutation(np.flatnonzero(task.y == 1))
        parts = np.split(normal, [5, 5 + unlabelled[0]])
        odd = np.split(anomaly, [n_anomaly, n_anomaly + unlabelled[1]])
        support = np.concatenate([parts[0], odd[0], parts[1], odd[1]])
        labels = np.repeat([0, 1, -1], [5, n_anomaly, sum(unlabelled)])
        rest = np.concatenate([parts[2], odd[2]])
        found = []
        for rate in RATES:
            detector = FewShotDetector(model, rate).fit(task.X[support], labels)
            found.append(detector.predict(task.X[rest[task.y[rest] == 0]]).mean())
        realised.append(found)
        p.append(detector.predict_proba(task.X[rest])[:, 1])
        y.append(task.y[rest])
    return np.array(realised), np.concatenate(p), np.concatenate(y).astype(float)


def draw_reliability_diagram(parts: dict[tuple[str, str], tuple[FloatArray, FloatArray]]) -> Figure:
    """Share of anomalies in ten bins of the probability, with normal and anomalous rows weighted equally."""
    studies = list(dict.fromkeys(study for study, _ in parts))
    figure, axes = plt.subplots(1, len(studies), figsize=(5.2 * len(studies), 5), sharey=True, squeeze=False)
    for axis, study in zip(axes[0], studies, strict=True):
        axis.plot([0, 1], [0, 1], color="0.7", zorder=0)
        for (name, case), (p, y) in parts.items():
            if name != study:
                continue
            weight = np.where(y == 1, 1 / y.sum(), 1 / (1 - y).sum())
            bins = np.minimum((p * 10).astype(int), 9)
            some = [k for k in range(10) if weight[bins == k].sum() > 0.01]
            mean = [np.average(p[bins == k], weights=weight[bins == k]) for k in some]
            share = [np.average(y[bins == k], weights=weight[bins == k]) for k in some]
            axis.plot(mean, share, marker="o", label=case)
        axis.set(title=f"{study}: unseen tasks", xlabel="predict_proba", xlim=(0, 1), ylim=(0, 1))
        axis.set_aspect("equal")
    axes[0, 0].set_ylabel("share of anomalies (both kinds equally frequent)")
    axes[0, 0].legend(loc="upper left", fontsize=8)
    figure.tight_layout()
    return figure


def main() -> None:
    """Train, evaluate_model, write."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # of tasks without a row above the threshold: their rate of 0 is counted
    lines, diagram = [], {}
    for study, make in {"breast cancer, mixed": mixed_cancer_tasks, "digits": digit_tasks}.items():
        training, held_out, unseen = make(np.random.default_rng(0))
        model = meta_train(
            training, validation=held_out, method="relative", training=CONFIG, device="cpu", progress=False
        )
        for name, case in CASES.items():
            realised, p, y = evaluate_model(model, unseen, case, np.random.default_rng(1))
            diagram[study, name] = (p, y)
            error = realised.std(0) / np.sqrt(len(realised))
            for rate, mean, e in zip(RATES, realised.mean(0), error, strict=True):
                lines.append([study, name, rate, f"{mean:.4f}", f"{e:.4f}"])
                print(*lines[-1], sep=", ", flush=True)
    with (HERE / "calibration.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["study", "support", "nominal_rate", "realised_rate", "standard_error"])
        writer.writerows(lines)
    draw_reliability_diagram(diagram).savefig(HERE / "calibration.png", dpi=120)


if __name__ == "__main__":
    main()
