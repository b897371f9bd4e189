"""Draw episodes: support and query rows of each task (Alg. 1, lines 4-6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oddshot.data.episodes.mixing import IntArray, Mixing
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import require_whole_number

SamplingRule = Literal["resampled", "published"]


@dataclass(frozen=True)
class EpisodeSizes:
    """How many rows an episode of training has; the defaults are the paper's.

    With them a task needs 30 labelled normal rows (5 to adapt to, 25 to test on) and 6 labelled anomalies (1 and 5).

    Parameters
    ----------
    support_normal : int, default=5
        Labelled normal rows that a task is adapted to, at least 1.
    support_anomaly : int, default=1
        Labelled anomalies that a task is adapted to; 0 for adaptation to normal rows only.
    query_normal : int, default=25
        Normal rows that the adapted scores are evaluated on, at least 1.
    query_anomaly : int, default=5
        Anomalies that the adapted scores are evaluated on, at least 1.

    Raises
    ------
    InputError
        If a number is too small.

    Examples
    --------
    >>> from oddshot import EpisodeSizes
    >>> sizes = EpisodeSizes(query_normal=10, query_anomaly=2)
    >>> sizes.normal, sizes.anomaly
    (15, 3)
    """

    support_normal: int = 5
    support_anomaly: int = 1
    query_normal: int = 25
    query_anomaly: int = 5

    def __post_init__(self) -> None:
        minima = {"support_normal": 1, "support_anomaly": 0, "query_normal": 1, "query_anomaly": 1}
        for name, minimum in minima.items():
            require_whole_number(name, getattr(self, name), minimum)

    @property
    def normal(self) -> int:
        """How many normal rows an episode needs, support and query together."""
        return self.support_normal + self.query_normal

    @property
    def anomaly(self) -> int:
        """How many anomalies an episode needs, support and query together."""
        return self.support_anomaly + self.query_anomaly


@dataclass(frozen=True, eq=False)
class TaskSet:
    """T tasks over one array of rows, laid out so that episodes of many tasks can be drawn at once.

    X: [n, M]. order: indices of rows, grouped by task and label. normal_start, normal_count, anomaly_start,
    anomaly_count: [T], the ranges of `order` that hold each task's normal rows and anomalies. mixing: the matrices that
    multiply the rows of each task (Sec. 4.1), or None.
    """

    X: NDArray[np.float32]
    order: IntArray
    normal_start: IntArray
    normal_count: IntArray
    anomaly_start: IntArray
    anomaly_count: IntArray
    mixing: Mixing | None = None

    def __len__(self) -> int:
        return len(self.normal_start)

    def subset(self, tasks: IntArray) -> "TaskSet":
        """Return a set of these tasks only, over the same rows."""
        return TaskSet(
            self.X,
            self.order,
            self.normal_start[tasks],
            self.normal_count[tasks],
            self.anomaly_start[tasks],
            self.anomaly_count[tasks],
            None if self.mixing is None else self.mixing.subset(tasks),
        )

    @classmethod
    def from_tasks(cls, tasks: Sequence[tuple[NDArray[np.floating], NDArray[np.integer]]]) -> "TaskSet":
        """Join the tasks' rows X [n_t, M], given with labels y [n_t]; unlabelled rows are kept but never drawn."""
        first_row = np.cumsum([0, *(len(y) for _, y in tasks)])
        groups = [
            first_row[t] + np.flatnonzero(y == label) for t, (_, y) in enumerate(tasks) for label in (NORMAL, ANOMALY)
        ]
        count = np.array([len(group) for group in groups], dtype=np.int64).reshape(-1, 2)
        start = (np.cumsum(count.ravel()) - count.ravel()).reshape(-1, 2)
        X = np.concatenate([np.asarray(X, dtype=np.float32) for X, _ in tasks])
        order = np.concatenate(groups).astype(np.int64)
        return cls(X, order, start[:, 0], count[:, 0], start[:, 1], count[:, 1])


class Episode(NamedTuple):
    """Indices of rows of TaskSet.X for B tasks: support [B, N_N] and [B, N_A], query [B, Q_N] and [B, Q_A]."""

    support_normal: IntArray
    support_anomaly: IntArray
    query_normal: IntArray
    query_anomaly: IntArray


def draw_episode(
    task_set: TaskSet, tasks: IntArray, sizes: EpisodeSizes, rule: SamplingRule, rng: np.random.Generator
) -> Episode:
    """Draw one episode of each of these tasks; tasks: [B], indices into the task set.

    `resampled`: rows at random without replacement, as the paper's text says. `published`: the first rows of each
    label in the order of the file, which is what its Table 1 was made with.
    """

    def draw_rows(start: IntArray, count: IntArray, size: int) -> IntArray:
        if rule == "published":
            offsets = np.broadcast_to(np.arange(size), (len(tasks), size))
        else:
            offsets = draw_without_replacement(count[tasks], size, rng)
        rows: IntArray = task_set.order[start[tasks, None] + offsets]
        return rows

    normal = draw_rows(task_set.normal_start, task_set.normal_count, sizes.normal)
    anomaly = draw_rows(task_set.anomaly_start, task_set.anomaly_count, sizes.anomaly)
    n_normal, n_anomaly = sizes.support_normal, sizes.support_anomaly
    return Episode(normal[:, :n_normal], anomaly[:, :n_anomaly], normal[:, n_normal:], anomaly[:, n_anomaly:])


def draw_without_replacement(count: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    """Draw `size` different numbers below count[b], in random order, for every b. count: [B]. Returns [B, size].

    Floyd's algorithm for all b at once takes `size` steps, whatever the counts.
    """
    if (count < size).any():
        raise ValueError(f"cannot draw {size} different rows out of {count.min()}")
    chosen = np.full((len(count), size), -1, dtype=np.int64)
    uniform = rng.random((len(count), size))
    for k in range(size):
        last = count - size + k
        candidate = (uniform[:, k] * (last + 1)).astype(np.int64)
        taken = (chosen[:, :k] == candidate[:, None]).any(axis=1)
        chosen[:, k] = np.where(taken, last, candidate)
    # With Floyd's algorithm every set is equally likely, but not every order.
    shuffle = rng.random(chosen.shape).argsort(axis=1)
    return np.take_along_axis(chosen, shuffle, axis=1)
