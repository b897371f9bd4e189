"""WoNN with other centres and other values of η, none of them trained, under the `published` protocol.

    python results/published/wonn.py DATA_DIR [DATASET ...]

The paper states neither the centre nor how η is found where there are no networks. For each dataset the mean test AUC
over three splits; writes wonn.csv beside this file.
"""

import csv
import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from oddshot.bench.evaluation import MIN_TARGET_EPISODES, TARGET_STREAM
from oddshot.bench.paper import dataset_title
from oddshot.bench.protocol import Split, build_split, split_seed
from oddshot.bench.settings import RunSettings
from oddshot.data.sources.catalogue import load_dataset
from oddshot.score.auc import exact_auc
from oddshot.score.projection import fit_projection
from oddshot.score.rows import LabelledRows
from oddshot.training import validation_episodes

SETTINGS = RunSettings("published")
N_SPLITS = 3
ETAS = (1e-4, 1e-2, 1.0, 1e2)
CENTRES = ("training normals", "support normals", "origin")
CPU = torch.device("cpu")


def draw(tasks: object, seed: int) -> tuple[LabelledRows, LabelledRows]:
    """Support and query of every task, [1, T, N, M] each, in float64."""
    streams = [np.random.SeedSequence([seed, TARGET_STREAM])]
    episodes = validation_episodes([tasks], SETTINGS.sizes, "published", CPU, streams, MIN_TARGET_EPISODES)
    support, query = (LabelledRows(*(rows.double() for rows in part)) for part in episodes)
    return support, query


def target_auc(support: LabelledRows, query: LabelledRows, centre: Tensor, eta: float) -> float:
    """Mean AUC of (wᵀ(x − c))² over the target tasks. centre: [1, 1 or T, 1, M]."""
    normal, anomaly = (rows - centre for rows in support)
    w = fit_projection(normal, anomaly, torch.full((1, 1), eta, dtype=torch.float64)).unsqueeze(-1)
    scores = [((rows - centre) @ w).squeeze(-1).square() for rows in query]
    return float(exact_auc(*scores, ties=0.0).mean())


def trials(split: Split, seed: int) -> list[float]:
    """The AUC with every centre and every η."""
    support, query = draw(split.target, seed)
    training = draw(split.training, seed)[1].normal
    of_support = support.normal.mean(2, keepdim=True)
    centres = training.mean((1, 2), keepdim=True), of_support, torch.zeros_like(of_support)
    return [target_auc(support, query, centre, eta) for centre in centres for eta in ETAS]


def main() -> None:
    """Write the table, and print it with a line for each choice."""
    data_dir, *names = sys.argv[1:]
    rows = []
    for name in names:
        dataset = load_dataset(name, data_dir)
        seeds = [split_seed(name, split) for split in range(N_SPLITS)]
        aucs = [trials(build_split(dataset, split, SETTINGS), seed) for split, seed in enumerate(seeds)]
        rows.append([dataset_title(name), *np.mean(aucs, axis=0)])
    rows.append(["Average", *np.mean([row[1:] for row in rows], axis=0)])
    head = ["dataset", *(f"{centre}; eta {eta:g}" for centre in CENTRES for eta in ETAS)]
    with Path(__file__).with_name("wonn.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows([row[0], *(f"{value:.4f}" for value in row[1:])] for row in rows)
    for place, title in enumerate(head):
        print(title, *(row[0] if place == 0 else f"{row[place]:.3f}" for row in rows), sep="\t")


if __name__ == "__main__":
    main()
