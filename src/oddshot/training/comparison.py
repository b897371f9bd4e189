"""Episodes of held-out tasks on which candidates are compared, each candidate as it would be used."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding import Encoding
from oddshot.data.encoding.numeric_arrays import is_numeric_array
from oddshot.data.episodes.mixing import IntArray
from oddshot.data.episodes.sampling import Episode, EpisodeSizes, TaskSet, draw_episode
from oddshot.data.tables.conversion import as_table, take_rows
from oddshot.data.task import Task
from oddshot.errors import InputError
from oddshot.methods.contract import Method
from oddshot.score.rows import LabelledRows
from oddshot.training.validation import evaluate

MIN_EPISODES = 64  # of all tasks together
MIN_EPISODES_OF_TASK = 2
MAX_VALUES_PER_BATCH = 1 << 20  # encoded values that are scored at a time, to limit memory
NO_ORDER = 0.5  # the AUC where a task cannot be adapted to

FloatArray = NDArray[np.float64]
EncodedRows = NDArray[np.float32]


@dataclass(frozen=True)
class Figure:
    """How a candidate did on the held-out tasks. lead: its mean AUC less that of the model that ships."""

    auc: float
    lead: float
    standard_error: float


@dataclass(frozen=True)
class ComparedEpisodes:
    """Episodes of the tasks that one fold holds out. tasks: [B], the task of each; rows: B rows of indices."""

    tasks: IntArray
    rows: Episode


def draw_compared(
    tasks: TaskSet, held_out: Sequence[IntArray], sizes: EpisodeSizes, seed: int
) -> list[ComparedEpisodes]:
    """As many episodes of each held-out task; held_out: the tasks of every fold."""
    rng = np.random.default_rng([seed, 4])
    repeats = max(-(-MIN_EPISODES // sum(map(len, held_out))), MIN_EPISODES_OF_TASK)
    drawn = []
    for fold in held_out:
        indices = np.repeat(fold, repeats)
        drawn.append(ComparedEpisodes(indices, draw_episode(tasks, indices, sizes, "resampled", rng)))
    return drawn


def encoded_aucs(method: Method, X: EncodedRows, episodes: ComparedEpisodes) -> FloatArray:
    """AUC of every episode, for rows that are encoded alike in all tasks. X: [n, M]. Returns [B]."""
    per_batch = max(1, MAX_VALUES_PER_BATCH // (sum(rows.shape[1] for rows in episodes.rows) * X.shape[1]))
    starts = range(0, len(episodes.tasks), per_batch)
    return np.concatenate([_aucs(method, [X[rows[i : i + per_batch]] for rows in episodes.rows]) for i in starts])


def own_encoding_aucs(method: Method, tasks: Sequence[Task], episodes: ComparedEpisodes) -> FloatArray:
    """AUC of every episode, [B], where each has an encoding of its own, fitted on its support alone."""
    first_row = np.cumsum([0, *(len(task.y) for task in tasks)])
    tables = {t: _as_rows(tasks[t]) for t in np.unique(episodes.tasks).tolist()}
    encoded: dict[int, list[tuple[int, list[EncodedRows]]]] = {}
    for b, t in enumerate(episodes.tasks.tolist()):
        parts = [rows[b] - first_row[t] for rows in episodes.rows]
        try:
            arrays = _encode_by_support(tables[t], parts)
        except InputError:  # cells that are read otherwise than those of the support
            continue
        encoded.setdefault(arrays[0].shape[1], []).append((b, arrays))
    aucs = np.full(len(episodes.tasks), NO_ORDER)
    for width, group in encoded.items():
        per_batch = max(1, MAX_VALUES_PER_BATCH // (sum(map(len, group[0][1])) * width))
        for i in range(0, len(group), per_batch):
            numbers, arrays_of = zip(*group[i : i + per_batch], strict=True)
            stacked = [np.stack(parts) for parts in zip(*arrays_of, strict=True)]
            aucs[list(numbers)] = _aucs(method, stacked)
    return aucs


def _as_rows(task: Task) -> object:
    """The task's table in a form of which rows can be taken."""
    return task.X if is_numeric_array(task.X) else as_table(task.X, f"task {task.name!r}")


def _encode_by_support(X: object, parts: Sequence[IntArray]) -> list[EncodedRows]:
    """Support and query rows, normal and anomalous, by an encoding that is fitted on the support."""
    support = take_rows(X, np.concatenate(parts[:2]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*left out", UserWarning)  # of a few rows, not of the task
        encoding = Encoding.fit([support])
    queries = encoding.transform(take_rows(X, np.concatenate(parts[2:])))
    rows = np.concatenate([encoding.clip(encoding.transform(support)), queries])
    return np.split(rows, np.cumsum([len(part) for part in parts])[:-1])


def _aucs(method: Method, parts: Sequence[EncodedRows]) -> FloatArray:
    """AUC of B episodes. parts: [B, n, M], normal and anomalous rows of support and query. Returns [B]."""
    return evaluate(method, LabelledRows(*parts[:2]), LabelledRows(*parts[2:]))[1]
