"""What a false-positive rate of 5 % comes to with the model that ships, on tables that it has not seen.

    python results/universal/rates.py DATA_DIR

The paper's outlier tables without InternetAds, unmixed: 5 normal rows and no or 1 anomaly labelled, without and with
200 unlabelled rows, 10 draws of each; the share of 25 other normal rows that `predict` calls anomalies, and of 5 other
anomalies. The calibration comes from synthetic tasks alone. Writes rates.csv beside this file.
"""

import csv
import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
import torch

from oddshot import FewShotDetector
from oddshot.bench.paper import OUTLIER_DATASETS
from oddshot.data.sources.catalogue import Dataset, load_dataset

CASES = list(itertools.product((0, 1), (0, 200)))  # labelled anomalies, unlabelled rows
N_DRAWS = 10


def decision_rates(dataset: Dataset) -> list[float]:
    """For every case, the rates of false alarms and of anomalies found, as means over the draws."""
    rng, found = np.random.default_rng(len(dataset.y)), np.zeros((len(CASES), 2))
    X, normal, anomaly = dataset.X, np.flatnonzero(dataset.y == 0), np.flatnonzero(dataset.y == 1)
    for _ in range(N_DRAWS):
        normal, anomaly = rng.permutation(normal), rng.permutation(anomaly)
        rest = rng.permutation(np.concatenate([normal[30:], anomaly[6:]]))
        for k, (n_anomaly, n_unlabelled) in enumerate(CASES):
            rows = np.concatenate([normal[:5], anomaly[:n_anomaly], rest[:n_unlabelled]])
            y = np.repeat([0, 1, -1], [5, n_anomaly, len(rows) - 5 - n_anomaly])
            detector = FewShotDetector(false_positive_rate=0.05).fit(X[rows], y)
            queries = (normal[5:30], anomaly[n_anomaly : n_anomaly + 5])
            found[k] += [detector.predict(X[query]).mean() / N_DRAWS for query in queries]
    return [float(value) for value in found.ravel()]


def main() -> None:
    """Measure and write."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    datasets = (load_dataset(name, sys.argv[1], None) for name in OUTLIER_DATASETS if name != "internetads")
    names = [f"{a} anomalies, {u} unlabelled: {what}" for a, u in CASES for what in ("false alarms", "found")]
    lines, values = [["dataset", *names]], []
    for dataset in datasets:
        values.append(decision_rates(dataset))
        lines.append([dataset.card.title, *(f"{value:.3f}" for value in values[-1])])
        print(",".join(lines[-1]), flush=True)
    lines.append(["Average", *(f"{value:.3f}" for value in np.mean(values, axis=0))])
    print(",".join(lines[-1]))
    with open(Path(__file__).with_name("rates.csv"), "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main()
