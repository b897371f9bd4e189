"""The calibration of the universal model, learned on synthetic tasks that were not used in training.

    python -m oddshot.training.shipped_decisions --out MODEL.safetensors

learns it again for the model that ships, or for the one named by --model. Tasks have columns that are scaled by the
support and unlabelled rows only, as the detector scales them.
"""

import argparse
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from oddshot.decisions.calibration import Calibration, FeatureNetwork
from oddshot.decisions.support_scores import SupportScores
from oddshot.methods.contract import Method
from oddshot.training.calibration_learning import learn_calibration
from oddshot.training.support_sizes import MAX_CONTAMINATION, HeldOutScores, draw_support_sizes, score_held_out
from oddshot.universal.prior import Contamination, Prior, in_numpy

MAX_WIDTHS = (3, 6, 12, 24, 48, 100)  # of the tasks of a batch, in columns
CONTAMINATION = Contamination(MAX_CONTAMINATION, power=4.0)  # chosen with the tables for choosing, as was N_HIDDEN
N_STREAMS, N_BATCHES = 2, 4000  # of random numbers, and batches of each
MAX_TASKS, MAX_ROWS = 8, 500  # tasks of a batch: as many as have together so many rows
STEPS, N_MEMBERS = 3000, 8  # networks are the mean of so many, which differ in what they start from
# By how much normal quantiles are to be exceeded with one normal row, of which so many unlabelled ones count like one
# more: normal rows of real tables differ more from each other than those of synthetic tasks. A single anomaly that is
# labelled says less of the others in synthetic tasks than in real tables, so that quantiles would be too high. Chosen
# with the tables for choosing.
FEW_CAUTION, UNLABELLED_LIKE_NORMAL, SINGLE_ANOMALY_COURAGE = 0.6, 10, 2.0


def learn_universal_decisions(method: Method, seed: int) -> Calibration:
    """Learn the calibration for supports of all sizes."""
    drawn = [episodes for k in range(N_STREAMS) for episodes in draw_synthetic(method, seed + 11 + k, N_BATCHES)]
    members = [learn_calibration(drawn, steps=STEPS, caution=real_caution, seed=k) for k in range(N_MEMBERS)]
    shape, odds = (
        FeatureNetwork.mean_of(parts) for parts in zip(*((one.shape, one.odds) for one in members), strict=True)
    )
    return Calibration(shape, odds, members[0].scale)


def real_caution(support: SupportScores) -> float:
    """By how much normal quantiles are to be exceeded for supports of this size."""
    n_normal, n_anomaly, n_unlabelled = (
        int(part.shape[1]) for part in (support.normal, support.anomaly, support.unlabelled)
    )
    caution = FEW_CAUTION / (n_normal + n_unlabelled / UNLABELLED_LIKE_NORMAL)
    return caution - SINGLE_ANOMALY_COURAGE / ((1 + n_normal) * n_anomaly**3) if n_anomaly else caution


def draw_synthetic(method: Method, seed: int, n_batches: int) -> Iterator[HeldOutScores]:
    """Scores of episodes of new synthetic tasks, in batches of random sizes."""
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    for _ in range(n_batches):
        prior = Prior(int(rng.choice(MAX_WIDTHS)), generator)
        sizes = draw_support_sizes(rng)
        n_tasks = min(max(MAX_ROWS // sum(sizes), 2), MAX_TASKS)
        episodes = prior.episodes(n_tasks, *sizes, population_scaled_share=0.0, contamination=CONTAMINATION)
        yield score_held_out(method, *in_numpy(episodes))


def main() -> None:
    """Learn the calibration of a model again and write its file."""
    from oddshot.universal.shipped import find_model

    parser = argparse.ArgumentParser(description="Learn the calibration of a universal model again.")
    parser.add_argument("--out", type=Path, required=True, help="where to write the model")
    parser.add_argument("--model", help="its file; by default the model that ships")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    model = find_model(arguments.model)
    calibration = learn_universal_decisions(model.method, arguments.seed)
    dataclasses.replace(model, calibration=calibration).save(arguments.out)


if __name__ == "__main__":
    main()
