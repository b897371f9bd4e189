"""Episodes: support and query rows drawn from each task (Alg. 1, lines 4-6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oddshot.data.episodes.mixing import Ints, Mixing
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import InputError

Rule = Literal["resampled", "published"]


@dataclass(frozen=True)
class EpisodeSizes:
    """Rows of an episode; the paper's values."""

    support_normal: int = 5
    support_anomaly: int = 1
    query_normal: int = 25
    query_anomaly: int = 5

    def __post_init__(self) -> None:
        smallest = {"support_normal": 1, "support_anomaly": 0, "query_normal": 1, "query_anomaly": 1}
        for name, least in smallest.items():
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least {least}")

    @property
    def normal(self) -> int:
        """Normal rows that an episode needs."""
        return self.support_normal + self.query_normal

    @property
    def anomaly(self) -> int:
        """Anomalous rows that an episode needs."""
        return self.support_anomaly + self.query_anomaly


@dataclass(frozen=True, eq=False)
class TaskSet:
    """T tasks over one block of rows, laid out so that episodes of many tasks are drawn at once.

    X: [n, M]. order: row numbers, those of one task and one label side by side. normal_start, normal_count,
    anomaly_start, anomaly_count: [T], where in `order` each task's rows lie. mixing: the matrices that multiply the
    rows of each task (Sec. 4.1), or None.
    """

    X: NDArray[np.float32]
    order: Ints
    normal_start: Ints
    normal_count: Ints
    anomaly_start: Ints
    anomaly_count: Ints
    mixing: Mixing | None = None

    def __len__(self) -> int:
        return len(self.normal_start)

    def subset(self, tasks: Ints) -> "TaskSet":
        """The same rows, only these tasks."""
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
    def of(cls, tasks: Sequence[tuple[NDArray[np.floating], NDArray[np.integer]]]) -> "TaskSet":
        """From each task's own rows and labels (X [n_t, M], y [n_t]); unlabelled rows are kept but never drawn."""
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
    """Row numbers into TaskSet.X, one line a task: support [B, N_N], [B, N_A], query [B, Q_N], [B, Q_A]."""

    support_normal: Ints
    support_anomaly: Ints
    query_normal: Ints
    query_anomaly: Ints


def draw_episode(pool: TaskSet, tasks: Ints, sizes: EpisodeSizes, rule: Rule, rng: np.random.Generator) -> Episode:
    """One episode of each of these tasks [B].

    `resampled`: rows at random without replacement, as the paper's text says. `published`: the first rows of each
    label in file order, which is what its Table 1 was made with.
    """

    def rows(start: Ints, count: Ints, size: int) -> Ints:
        if rule == "published":
            place = np.broadcast_to(np.arange(size), (len(tasks), size))
        else:
            place = draw_without_replacement(count[tasks], size, rng)
        chosen: Ints = pool.order[start[tasks, None] + place]
        return chosen

    normal = rows(pool.normal_start, pool.normal_count, sizes.normal)
    anomaly = rows(pool.anomaly_start, pool.anomaly_count, sizes.anomaly)
    n, a = sizes.support_normal, sizes.support_anomaly
    return Episode(normal[:, :n], anomaly[:, :a], normal[:, n:], anomaly[:, a:])


def draw_without_replacement(count: Ints, size: int, rng: np.random.Generator) -> Ints:
    """`size` different numbers below count[b], in random order, for every b. count: [B]. Returns [B, size].

    Floyd's algorithm over all b at once: `size` steps, whatever the counts.
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
    # Floyd gives every set the same chance, but not every order.
    shuffle = rng.random(chosen.shape).argsort(axis=1)
    return np.take_along_axis(chosen, shuffle, axis=1)
