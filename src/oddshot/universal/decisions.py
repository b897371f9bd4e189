"""The calibration of the universal model, learned on synthetic tasks that were not used in training.

Their columns are scaled by the support and unlabelled rows only, as the detector scales them.
"""

import itertools

import torch

from oddshot.decisions.calibration import Calibration, learn_calibration
from oddshot.decisions.held_out import HeldOutScores, score_held_out
from oddshot.methods.relative import Relative
from oddshot.universal.prior import Prior

MAX_WIDTHS = (6, 24, 60)  # of the tasks, in columns
N_TASKS = 60  # for each width and size of support; with 12 the results were noisy
SUPPORT_NORMAL, SUPPORT_ANOMALY, UNLABELLED = (1, 2, 3, 5, 10, 20, 40), (0, 1, 4), (0, 30, 200)  # numbers of rows


def learn_universal_decisions(method: Relative, seed: int) -> Calibration:
    """Learn the calibration for supports of many sizes, each on synthetic tasks of its own."""
    return learn_calibration(draw_synthetic(method, torch.Generator().manual_seed(seed + 11)))


def draw_synthetic(method: Relative, generator: torch.Generator) -> list[HeldOutScores]:
    """Scores of episodes of new synthetic tasks, one batch for each width and size of support."""
    out = []
    for width, normal, anomaly, unlabelled in itertools.product(
        MAX_WIDTHS, SUPPORT_NORMAL, SUPPORT_ANOMALY, UNLABELLED
    ):
        episodes = Prior(width, generator).episodes(N_TASKS, normal, anomaly, unlabelled, population_scaled_share=0.0)
        out.append(score_held_out(method, episodes.support, episodes.query, episodes.unlabelled))
    return out
