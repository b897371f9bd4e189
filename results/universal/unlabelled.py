"""What unlabelled rows gain: mean AUC of the model that ships over their number, on tables that it has not seen.

    python results/universal/unlabelled.py DATA_DIR

The paper's outlier tables without InternetAds, unmixed, those with rows enough for the longest curve; 5 normal rows
and 1 anomaly labelled, 40 draws of each table. Writes unlabelled.csv and unlabelled.png beside this file.
"""

import csv
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch

from oddshot.bench.paper import OUTLIER_DATASETS
from oddshot.bench.unmixed import draw_episodes, mean_auc
from oddshot.data.sources.catalogue import load_dataset
from oddshot.universal.shipped import load_universal

HERE = Path(__file__).parent
UNLABELLED_COUNTS = (0, 5, 10, 20, 50, 100, 200, 400)
N_DRAWS = 40


def main() -> None:
    """Score, write, draw."""
    torch.set_num_threads(1)
    model, lines = load_universal(), []
    for name in OUTLIER_DATASETS:
        if name == "internetads":
            continue
        dataset = load_dataset(name, sys.argv[1], None)
        episodes = draw_episodes(dataset, N_DRAWS, UNLABELLED_COUNTS[-1], [1, len(dataset.y)])
        if len(episodes[0].unlabelled) < UNLABELLED_COUNTS[-1]:
            continue
        aucs = [mean_auc(model, episodes, count) for count in UNLABELLED_COUNTS]
        lines.append([dataset.card.title, *(f"{auc:.4f}" for auc in aucs)])
        print(",".join(lines[-1]), flush=True)
    means = np.mean([[float(value) for value in line[1:]] for line in lines], axis=0)
    lines.append(["Average", *(f"{mean:.4f}" for mean in means)])
    print(",".join(lines[-1]))
    with open(HERE / "unlabelled.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["dataset", *UNLABELLED_COUNTS], *lines])
    figure, axes = plt.subplots(figsize=(6, 3.6))
    axes.plot(UNLABELLED_COUNTS, means, "o-", color="#0072B2")
    axes.set_xscale("symlog", linthresh=5)
    axes.set_xticks(UNLABELLED_COUNTS, [str(count) for count in UNLABELLED_COUNTS])
    axes.set_xlabel("unlabelled rows beside 5 + 1 labelled ones")
    axes.set_ylabel(f"mean AUC over {len(lines) - 1} tables")
    axes.grid(alpha=0.3)
    figure.savefig(HERE / "unlabelled.png", dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    main()
