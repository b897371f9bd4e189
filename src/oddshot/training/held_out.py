"""Episodes of held-out tasks, with supports of all sizes that these have the rows for: what calibrations learn from."""

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import torch

from oddshot.data.episodes.mixing import IntArray
from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.decisions.calibration import Calibration
from oddshot.methods.contract import Method, SupportError
from oddshot.score.arrays import Array
from oddshot.score.rows import LabelledRows
from oddshot.training.batches import Episodes
from oddshot.training.calibration_learning import learn_calibration
from oddshot.training.support_sizes import MAX_CONTAMINATION, HeldOutScores, draw_support_sizes, score_held_out
from oddshot.training.validation import of_replica
from oddshot.universal.shipped import load_universal

N_BATCHES, MAX_TASKS, MAX_ROWS = 200, 24, 2000  # tasks of a batch: as many as have together so many rows
N_BATCHES_UNLEARNED = 24  # of methods that may be slow to adapt


class HeldOutSizes(NamedTuple):
    """Numbers of rows of an episode: support, unlabelled rows and query.

    unlabelled: normal rows among the unlabelled ones. unlabelled_anomaly: anomalies among them.
    """

    normal: int
    anomaly: int
    unlabelled: int
    unlabelled_anomaly: int
    query_normal: int
    query_anomaly: int

    @property
    def all_normal(self) -> int:
        """Normal rows of all kinds."""
        return self.normal + self.unlabelled + self.query_normal

    @property
    def all_anomaly(self) -> int:
        """Anomalies of all kinds."""
        return self.anomaly + self.unlabelled_anomaly + self.query_anomaly


class HeldOutEpisode(NamedTuple):
    """Episodes of T tasks in NumPy. unlabelled: [T, U, M] or None."""

    support: LabelledRows
    query: LabelledRows
    unlabelled: Array | None


def learn_decisions(
    method: Method, held_out: TaskSet, sizes: EpisodeSizes, device: torch.device, seed: int
) -> Calibration:
    """Learn the calibration on held-out tasks."""
    return _learn(draw_held_out(method, held_out, sizes, device, seed))


def learn_fold_decisions(
    folds: Sequence[tuple[Method, TaskSet]], sizes: EpisodeSizes, device: torch.device, seed: int
) -> Calibration:
    """Learn the same for a method that has learned from all tasks, by those that have learned from some of them.

    folds: methods, each with its held-out tasks. The method's own scores of these would be too good; the folds', of
    the tasks that they hold out, are what it gives to new ones.
    """
    scores: list[HeldOutScores] = []
    for k, (method, held_out) in enumerate(folds):
        scores += draw_held_out(method, held_out, sizes, device, seed + k, share=1 / len(folds))
    return _learn(scores)


def draw_held_out(
    method: Method, tasks: TaskSet, sizes: EpisodeSizes, device: torch.device, seed: int, share: float = 1.0
) -> list[HeldOutScores]:
    """Scores of batches of episodes with random sizes. share: of the usual number of batches.

    Sizes that the method refuses are left out.
    """
    rng = np.random.default_rng([seed, 2])
    out: list[HeldOutScores] = []
    for _ in range(math.ceil(share * (N_BATCHES if method.is_learned else N_BATCHES_UNLEARNED))):
        size, chosen = draw_sizes(tasks, sizes, method.uses_unlabelled, rng)
        with suppress(SupportError):  # the method needs a larger support than this
            out.append(score_held_out(method, *_draw(tasks, size, chosen, device, rng)))
    return out


def draw_sizes(
    tasks: TaskSet, sizes: EpisodeSizes, uses_unlabelled: bool, rng: np.random.Generator
) -> tuple[HeldOutSizes, IntArray]:
    """Random sizes that a random task has the rows for, and indices of tasks that all have these rows.

    Half of them have supports of at most twice the size of those in training. At least as many queries as in training
    are left, or half of the task's rows if these are fewer.
    """
    task = rng.integers(len(tasks))
    N, A = int(tasks.normal_count[task]), int(tasks.anomaly_count[task])
    query_normal, query_anomaly = min(sizes.query_normal, -(-N // 2)), min(sizes.query_anomaly, -(-A // 2))
    N, A = N - query_normal, A - query_anomaly
    most = (N, A) if rng.random() < 0.5 else (min(N, 2 * sizes.support_normal), min(A, 2 * sizes.support_anomaly))
    support = draw_support_sizes(rng, *most, N if uses_unlabelled else 0)
    unlabelled = min(support.unlabelled, N - support.normal)
    contamination = round(MAX_CONTAMINATION * rng.random() ** 2 * unlabelled)
    unlabelled_anomaly = min(contamination, A - support.anomaly)
    size = HeldOutSizes(support.normal, support.anomaly, unlabelled, unlabelled_anomaly, query_normal, query_anomaly)
    has_rows = (tasks.normal_count >= size.all_normal) & (tasks.anomaly_count >= size.all_anomaly)
    n_tasks = min(max(MAX_ROWS // (size.normal + size.anomaly + unlabelled), 1), MAX_TASKS)
    return size, rng.choice(np.flatnonzero(has_rows), n_tasks)


def _learn(scores: Sequence[HeldOutScores]) -> Calibration:
    """Scores that are standardised are like those of the model that ships, from whose calibration learning starts."""
    is_standardised = all(one.support.is_standardised for one in scores)
    return learn_calibration(scores, load_universal().calibration if is_standardised else None)


def _draw(
    tasks: TaskSet, size: HeldOutSizes, chosen: IntArray, device: torch.device, rng: np.random.Generator
) -> HeldOutEpisode:
    """An episode of each of the tasks that are chosen, [T]."""
    # The unlabelled rows are drawn as the last rows of the query.
    episode_sizes = EpisodeSizes(
        size.normal, size.anomaly, size.query_normal + size.unlabelled, size.query_anomaly + size.unlabelled_anomaly
    )
    episodes = Episodes([tasks], episode_sizes, "resampled", device).draw([chosen], [rng])
    support, drawn = of_replica(episodes, 0)
    query = LabelledRows(drawn.normal[:, : size.query_normal], drawn.anomaly[:, : size.query_anomaly])
    rest = LabelledRows(drawn.normal[:, size.query_normal :], drawn.anomaly[:, size.query_anomaly :])
    has_unlabelled = size.unlabelled + size.unlabelled_anomaly > 0
    return HeldOutEpisode(support, query, rest.joined() if has_unlabelled else None)
