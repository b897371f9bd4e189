"""Episodes of held-out tasks with supports of many sizes, from which the calibration is learned."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.decisions.calibration import Calibration, learn_calibration
from oddshot.decisions.held_out import HeldOutScores, score_held_out
from oddshot.methods.contract import LabelledRows, Method, SupportError
from oddshot.training.batches import Episodes

MIN_EPISODES = 128  # for each size of support; if there are fewer tasks, several episodes of each are drawn
MAX_TASKS_PER_BATCH = 64  # adapted at once, to limit memory
MIN_UNLABELLED, MAX_UNLABELLED = 20, 200


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


class HeldOutEpisode(NamedTuple):
    """Episodes of T tasks. unlabelled: [1, T, U, M] or None."""

    support: LabelledRows
    query: LabelledRows
    unlabelled: Tensor | None


def learn_decisions(
    method: Method, held_out: TaskSet, sizes: EpisodeSizes, device: torch.device, seed: int
) -> Calibration:
    """Learn the calibration on held-out tasks."""
    return learn_calibration(draw_held_out(method, [held_out], sizes, device, seed))


def learn_fold_decisions(
    folds: Sequence[tuple[Method, TaskSet]], sizes: EpisodeSizes, device: torch.device, seed: int
) -> Calibration:
    """Learn the same for a method that has learned from all tasks, by those that have learned from some of them.

    folds: methods, each with its held-out tasks. The method's own scores of these would be too good; the folds', of
    the tasks that they hold out, are what it gives to new ones.
    """
    scores: list[HeldOutScores] = []
    for k, (method, held_out) in enumerate(folds):
        scores += draw_held_out(method, [held_out], sizes, device, seed + k, -(-MIN_EPISODES // len(folds)))
    return learn_calibration(scores)


@torch.no_grad()
def draw_held_out(
    method: Method,
    task_sets: Sequence[TaskSet],
    sizes: EpisodeSizes,
    device: torch.device,
    seed: int,
    min_episodes: int = MIN_EPISODES,
) -> list[HeldOutScores]:
    """Scores of episodes of all tasks. The task sets may differ in width if the method allows it.

    Supports have half, once and twice as many normal rows as in training, and 0, 1 or 3 anomalies. Sizes that the
    method refuses are left out. If the method uses unlabelled rows, and the tasks have enough rows, some episodes have
    unlabelled rows.
    """
    method.eval()
    is_learned = method.is_learned  # other methods may be slow to adapt: few episodes of one size suffice
    rng = np.random.default_rng([seed, 2])
    n_episodes = -(-(min_episodes if is_learned else min_episodes // 4) // len(task_sets))
    out: list[HeldOutScores] = []
    for tasks in task_sets:
        for size in support_sizes(tasks, sizes, method.uses_unlabelled, several=is_learned):
            with suppress(SupportError):  # the method needs a larger support than this
                out += [score_held_out(method, *one) for one in _draw(tasks, size, device, rng, n_episodes)]
    return out


def support_sizes(
    tasks: TaskSet, sizes: EpisodeSizes, uses_unlabelled: bool, several: bool = True
) -> Iterator[HeldOutSizes]:
    """The sizes of episodes for which all tasks have enough rows; unless `several`, with supports as in training."""
    N, A = int(tasks.normal_count.min()), int(tasks.anomaly_count.min())
    base = sizes.support_normal
    for normal in sorted({max(base // 2, 1), base, 2 * base}) if several else [base]:
        query_normal = min(sizes.query_normal, N - normal)
        if query_normal < max(sizes.query_normal // 2, 1):
            continue
        for anomaly in (0, 1, 3) if several else (0, 1):
            query_anomaly = min(sizes.query_anomaly, A - anomaly)
            if query_anomaly < 1 or (anomaly == 3 and normal != base):
                continue
            yield HeldOutSizes(normal, anomaly, 0, 0, query_normal, query_anomaly)
            max_unlabelled = min(MAX_UNLABELLED, N - normal - query_normal)
            if not uses_unlabelled or normal != base or anomaly == 3 or max_unlabelled < MIN_UNLABELLED:
                continue
            for unlabelled in sorted({MIN_UNLABELLED, max_unlabelled}):
                unlabelled_anomaly = min(A - anomaly - query_anomaly, unlabelled // 20)
                yield HeldOutSizes(normal, anomaly, unlabelled, unlabelled_anomaly, query_normal, query_anomaly)


def _draw(
    tasks: TaskSet, size: HeldOutSizes, device: torch.device, rng: np.random.Generator, n_episodes: int
) -> Iterator[HeldOutEpisode]:
    """At least n_episodes episodes of one size, in batches of tasks."""
    # The unlabelled rows are drawn as the last rows of the query.
    episode_sizes = EpisodeSizes(
        size.normal, size.anomaly, size.query_normal + size.unlabelled, size.query_anomaly + size.unlabelled_anomaly
    )
    episodes = Episodes([tasks], episode_sizes, "resampled", device)
    indices = np.tile(np.arange(len(tasks)), -(-n_episodes // len(tasks)))
    for first in range(0, len(indices), MAX_TASKS_PER_BATCH):
        support, drawn = episodes.draw([indices[first : first + MAX_TASKS_PER_BATCH]], [rng])
        query = LabelledRows(drawn.normal[:, :, : size.query_normal], drawn.anomaly[:, :, : size.query_anomaly])
        rest = LabelledRows(drawn.normal[:, :, size.query_normal :], drawn.anomaly[:, :, size.query_anomaly :])
        yield HeldOutEpisode(support, query, rest.joined() if size.unlabelled > 0 else None)
