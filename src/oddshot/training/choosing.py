"""`method="auto"`: candidates are compared on held-out tasks, and the best one becomes the model."""

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from oddshot import __version__
from oddshot.data.encoding import Encoding
from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.data.task import Task
from oddshot.storage.model_file import Model
from oddshot.training.candidates import AUTO, CandidateTraining, ComparedFleet, Contender, make_contenders
from oddshot.training.comparison import Figure, draw_compared
from oddshot.training.folds import Fold, find_related, make_folds
from oddshot.training.interruption import (
    check_resumable,
    check_resumed_method,
    earlier_contenders,
    interruption_facts,
)

FEW_TASKS = 5
# The prior of the differences: as if this many tasks had been seen, whose differences have this standard deviation.
PRIOR_TASKS, PRIOR_SPREAD = 3, 0.05

FloatArray = NDArray[np.float64]


def compared_fleet(
    tasks: Sequence[Task], encoding: Encoding, encoded: TaskSet, sizes: EpisodeSizes, n_validation: int, seed: int
) -> ComparedFleet:
    """The fleet with its folds. n_validation: if not 0, only the last n_validation tasks are held out."""
    n_tasks = len(encoded)
    n_final = n_tasks - n_validation
    if n_validation:
        folds = [Fold(np.arange(n_final), np.arange(n_final, n_tasks))]
    else:
        folds = make_folds(find_related(encoded), np.random.default_rng([seed, 0]))
    episodes = draw_compared(encoded, [fold.held_out for fold in folds], sizes, seed)
    return ComparedFleet(tasks, encoding, encoded, folds, np.arange(n_final), episodes, sizes)


def choose_model(fleet: ComparedFleet, run: CandidateTraining) -> Model:
    """Compare all candidates on the same episodes of held-out tasks, and return the model of the best one.

    Where the run is stopped, it is the best one of those compared until then.
    """
    _warn_of_what_is_not_checked(fleet)
    if run.resume is not None:
        check_resumed_method(run.resume, AUTO)
        check_resumable(run.resume, fleet.encoded, fleet.sizes, run.seed)
    compared = _compare(fleet, run)
    is_stopped = run.is_stopped
    winner = torch.tensor(best_of([figure for _, figure in compared]), device=run.device)
    if run.ranks is not None:
        winner = run.ranks.broadcast(winner)  # rounding may differ between processes
    chosen = compared[int(winner)][0]
    if chosen.finish is None:  # it was behind another one, which is worse now that its training has ended
        return choose_model(fleet, dataclasses.replace(run, resume=None))
    facts = _facts(fleet, run, compared, chosen)
    return chosen.finish(facts | interruption_facts(fleet.encoded) if is_stopped else facts)


def _compare(fleet: ComparedFleet, run: CandidateTraining) -> list[tuple[Contender, Figure]]:
    """All candidates with their figures, the model that ships first; what an interrupted run has finished is kept."""
    earlier = earlier_contenders(run)
    finished = [title for title, (contender, _) in earlier.items() if not contender.is_interrupted]
    contenders = list(make_contenders(fleet, run, finished))
    tasks = np.concatenate([drawn.tasks for drawn in fleet.episodes])
    compared = dict(earlier)
    for contender in contenders:
        figure = compare_with_shipped(contender.aucs, contenders[0].aucs, tasks)
        before = earlier.get(contender.title)
        if not (contender.is_interrupted and before is not None and before[1].auc >= figure.auc):
            compared[contender.title] = (contender, figure)
    # A file holds its candidates in alphabetical order.
    return sorted(compared.values(), key=lambda pair: pair[0].title != contenders[0].title)


def compare_with_shipped(aucs: FloatArray, shipped: FloatArray, tasks: NDArray[np.integer]) -> Figure:
    """Mean AUC over tasks and its lead. aucs, shipped: [B], of the same episodes; tasks: [B], the task of each."""
    own, other = (np.array([values[tasks == task].mean() for task in np.unique(tasks)]) for values in (aucs, shipped))
    difference = own - other
    squares = ((difference - difference.mean()) ** 2).sum() + PRIOR_TASKS * PRIOR_SPREAD**2
    variance = squares / (len(difference) - 1 + PRIOR_TASKS)
    return Figure(float(own.mean()), float(difference.mean()), float(np.sqrt(variance / len(difference))))


def best_of(figures: Sequence[Figure]) -> int:
    """The candidate with the highest AUC; the first one, unless the lead is larger than its standard error."""
    best = int(np.argmax([figure.auc for figure in figures]))
    return best if figures[best].lead > figures[best].standard_error else 0


def _warn_of_what_is_not_checked(fleet: ComparedFleet) -> None:
    n_tasks = len(np.unique(np.concatenate([drawn.tasks for drawn in fleet.episodes])))
    if len(fleet.encoded) == 1:
        text = "only one task: nothing can be learned from it that could be checked on another one"
    elif not fleet.can_train:
        text = "all tasks have rows in common: nothing can be learned from them that could be checked on others"
    elif n_tasks < FEW_TASKS:
        text = f"candidates are compared on {n_tasks} task{'s' * (n_tasks > 1)} only: the comparison is rough"
    else:
        return
    warnings.warn(text, stacklevel=5)


def _facts(
    fleet: ComparedFleet, run: CandidateTraining, pairs: Sequence[tuple[Contender, Figure]], chosen: Contender
) -> dict[str, Any]:
    """How the model was chosen and trained, without durations: the same seed must give the same file."""
    compared = {
        contender.title: {
            "auc": round(figure.auc, 4),
            "lead": round(figure.lead, 4),
            "standard_error": round(figure.standard_error, 4),
            "best_epoch": contender.best_epoch,
        }
        | ({"interrupted": True} if contender.is_interrupted else {})
        for contender, figure in pairs
    }
    return {
        "oddshot": __version__,
        "seed": run.seed,
        "tasks": len(fleet.final),
        "validation_tasks": sum(len(fold.held_out) for fold in fleet.folds),
        "folds": len(fleet.folds),
        "sizes": dataclasses.asdict(fleet.sizes),
        "epochs": chosen.epochs,
        "best_epoch": chosen.best_epoch,
        "validation_auc": compared[chosen.title]["auc"],
        "chosen": chosen.title,
        "candidates": compared,
    }
