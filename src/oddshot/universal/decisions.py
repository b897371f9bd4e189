"""Calibration and familiarity of the universal model, learned on synthetic tasks that training has not drawn.

Their columns are scaled by the rows of the support and the unlabelled ones, as the detector does it.
"""

import itertools

import torch

from oddshot.decisions.calibration import Calibration, learn_calibration
from oddshot.decisions.familiarity import Familiarity, learn_familiarity
from oddshot.decisions.held_out import HeldOutScores, score_held_out
from oddshot.methods.relative import Relative
from oddshot.universal.prior import Prior
from oddshot.universal.training import QUERY

WIDTHS, TASKS = (6, 24, 60), 60  # columns at most, and tasks with each size of support; with 12, chance showed
NORMAL, ANOMALY, UNLABELLED = (3, 5, 10, 20), (0, 1, 3), (0, 30, 200)


def learn_universal_decisions(method: Relative, seed: int) -> tuple[Calibration, Familiarity | None]:
    """From scores to decisions for supports of many sizes, and what the tasks that it knows are like."""
    known, held_out = (draw_synthetic(method, torch.Generator().manual_seed(seed + k)) for k in (10, 11))
    evidence = ([one.evidence for one in episodes] for episodes in (known, held_out))
    return learn_calibration(held_out), learn_familiarity(*evidence)


def draw_synthetic(method: Relative, generator: torch.Generator) -> list[HeldOutScores]:
    """Episodes of new synthetic tasks, scored."""
    out = []
    for width, normal, anomaly, n_unlabelled in itertools.product(WIDTHS, NORMAL, ANOMALY, UNLABELLED):
        prior = Prior(width, generator)
        support, query, unlabelled = prior.episodes(TASKS, normal, anomaly, n_unlabelled, *QUERY, whole=0.0)
        out.append(score_held_out(method, support, query, unlabelled))
    return out
