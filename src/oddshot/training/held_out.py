"""Episodes of held-out tasks with supports of many kinds, from which calibration and familiarity are learned."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.decisions.calibration import Calibration, learn_calibration
from oddshot.decisions.familiarity import Familiarity, learn_familiarity
from oddshot.decisions.held_out import HeldOutScores, score_held_out
from oddshot.methods.contract import LabelledRows, Method, SupportError
from oddshot.training.batches import Episodes

MIN_EPISODES = 128  # of every size of support: several a task where there are few tasks
MAX_TRAINING_TASKS = 128  # whose representations familiarity is learned from
TASKS_PER_BATCH = 64  # adapted at once, which bounds memory
MIN_UNLABELLED, MAX_UNLABELLED = 20, 200


class HeldOutSizes(NamedTuple):
    """LabelledRows of an episode: support, unlabelled normal and anomalous rows, query."""

    normal: int
    anomaly: int
    unlabelled: int
    unlabelled_anomaly: int
    query_normal: int
    query_anomaly: int


def learn_decisions(
    method: Method, training: TaskSet, held_out: TaskSet, sizes: EpisodeSizes, device: torch.device, seed: int
) -> tuple[Calibration, Familiarity | None]:
    """Calibration on held-out tasks, and what the representations of tasks are like."""
    episodes = draw_held_out(method, [held_out], sizes, device, seed)
    some = training.subset(np.random.default_rng([seed, 3]).permutation(len(training))[:MAX_TRAINING_TASKS])
    known = draw_held_out(method, [some], sizes, device, seed + 1, min_episodes=1)
    familiarity = learn_familiarity([one.evidence for one in known], [one.evidence for one in episodes])
    return learn_calibration(episodes), familiarity


@torch.no_grad()
def draw_held_out(
    method: Method,
    pools: Sequence[TaskSet],
    sizes: EpisodeSizes,
    device: torch.device,
    seed: int,
    min_episodes: int = MIN_EPISODES,
) -> list[HeldOutScores]:
    """Episodes of the tasks of all pools (which may differ in width where the method allows it).

    Supports are half, once and twice as large as those of training, with one to three anomalies and with none where the
    method can do without, and with unlabelled rows where it uses them and the tasks have rows enough.
    """
    method.eval()
    learned = method.is_learned  # others may be slow to adapt: few episodes, of one size, suffice
    rng = np.random.default_rng([seed, 2])
    n_episodes = -(-(min_episodes if learned else min_episodes // 4) // len(pools))
    out: list[HeldOutScores] = []
    for pool in pools:
        for size in support_sizes(pool, sizes, method.uses_unlabelled, several=learned):
            try:
                out += _draw(method, pool, size, device, rng, n_episodes)
            except SupportError:  # the method needs a larger support than this
                continue
    return out


def support_sizes(pool: TaskSet, sizes: EpisodeSizes, unlabelled: bool, several: bool = True) -> Iterator[HeldOutSizes]:
    """The sizes of episodes that all tasks of the pool have rows for; unless `several`, supports as in training."""
    N, A = int(pool.normal_count.min()), int(pool.anomaly_count.min())
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
            most = min(MAX_UNLABELLED, N - normal - query_normal)
            if not unlabelled or normal != base or anomaly == 3 or most < MIN_UNLABELLED:
                continue
            for u in sorted({MIN_UNLABELLED, most}):
                odd = min(A - anomaly - query_anomaly, u // 20)
                yield HeldOutSizes(normal, anomaly, u, odd, query_normal, query_anomaly)


def _draw(
    method: Method, pool: TaskSet, size: HeldOutSizes, device: torch.device, rng: np.random.Generator, n_episodes: int
) -> list[HeldOutScores]:
    wanted = EpisodeSizes(
        size.normal, size.anomaly, size.query_normal + size.unlabelled, size.query_anomaly + size.unlabelled_anomaly
    )
    episodes = Episodes([pool], wanted, "resampled", device)
    tasks = np.tile(np.arange(len(pool)), -(-n_episodes // len(pool)))
    parts = []
    for first in range(0, len(tasks), TASKS_PER_BATCH):
        support, query = episodes.draw([tasks[first : first + TASKS_PER_BATCH]], [rng])
        normal, more = query.normal[:, :, : size.query_normal], query.normal[:, :, size.query_normal :]
        anomaly, odd = query.anomaly[:, :, : size.query_anomaly], query.anomaly[:, :, size.query_anomaly :]
        unlabelled = torch.cat([more, odd], dim=2) if size.unlabelled > 0 else None
        parts.append(score_held_out(method, support, LabelledRows(normal, anomaly), unlabelled))
    return parts
