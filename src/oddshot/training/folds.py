"""Cross-validation over tasks: which tasks a fold learns from and which it holds out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding import Encoding
from oddshot.data.encoding.numeric_arrays import encode_array
from oddshot.data.encoding.numeric_column import NumericColumn
from oddshot.data.encoding.scaling import compute_robust_moments
from oddshot.data.episodes.mixing import IntArray
from oddshot.data.episodes.sampling import TaskSet

MAX_FOLDS = 5
MANY_TASKS = 60  # from here on one fold is enough, and the scales of columns hardly depend on the tasks held out
MANY_TASKS_SHARE, MIN_HELD_OUT = 0.2, 20  # share of the tasks that this fold holds out, and their least number
MIN_SHARED_ROWS = 0.1  # of the smaller task's rows, for two tasks to count as related
MIN_DISTINCT_ROWS = 0.5  # of a task's rows; where more are alike, equal rows of two tasks tell nothing


@dataclass(frozen=True)
class Fold:
    """Indices of the tasks that a fold learns from, and of those that it holds out; tasks may be in neither."""

    training: IntArray
    held_out: IntArray


def make_folds(related: NDArray[np.bool_], rng: np.random.Generator) -> list[Fold]:
    """Folds in which no task is related to one that is learned from; each task is held out once at most.

    related: [T, T], also true on the diagonal. If there is no such fold, there is one that learns from nothing.
    """
    n_tasks = len(related)
    has_many = n_tasks >= MANY_TASKS
    n_folds = 1 if has_many else min(MAX_FOLDS, n_tasks)
    size = max(round(MANY_TASKS_SHARE * n_tasks), MIN_HELD_OUT) if has_many else -(-n_tasks // n_folds)
    left = rng.permutation(n_tasks).tolist()
    folds: list[Fold] = []
    while left and len(folds) < n_folds:
        held_out = _grow_fold(related, left, size)
        left = [task for task in left if task not in held_out]
        training = np.flatnonzero(~related[held_out].any(0))
        if len(training):
            folds.append(Fold(training, np.sort(held_out)))
    return folds or [Fold(np.arange(0), np.arange(n_tasks))]


def _grow_fold(related: NDArray[np.bool_], left: Sequence[int], size: int) -> list[int]:
    """Tasks to hold out together: with their relatives `size` of them, or as many as the first one has."""
    held_out, blocked = [left[0]], related[left[0]]
    size = max(size, int(blocked.sum()))
    for task in left[1:]:
        if (blocked | related[task]).sum() <= size:
            held_out.append(task)
            blocked = blocked | related[task]
    return held_out


def find_related(tasks: TaskSet) -> NDArray[np.bool_]:
    """Which tasks have rows in common, such as one machine's normal rows with two kinds of faults: [T, T].

    A method that has learned from one of them has seen rows of the other.
    """
    rows = [_row_hashes(tasks, t) for t in range(len(tasks))]
    tasks_of: dict[int, list[int]] = {}
    for t, hashes in enumerate(rows):
        for row in hashes:
            tasks_of.setdefault(row, []).append(t)
    shared = np.zeros((len(tasks), len(tasks)))
    for group in tasks_of.values():
        if len(group) > 1:
            shared[np.ix_(group, group)] += 1
    count = np.array([max(len(hashes), 1) for hashes in rows])
    out: NDArray[np.bool_] = shared >= MIN_SHARED_ROWS * np.minimum(count[:, None], count[None, :])
    return out | np.eye(len(tasks), dtype=bool)


def _row_hashes(tasks: TaskSet, task: int) -> set[int]:
    """The distinct labelled rows of a task; none of them if most are alike."""
    rows = _labelled_rows(tasks, task)
    hashes = {hash(row.tobytes()) for row in tasks.X[rows]}
    return hashes if len(hashes) >= MIN_DISTINCT_ROWS * len(rows) else set()


def _labelled_rows(tasks: TaskSet, task: int) -> IntArray:
    """The indices of a task's labelled rows."""
    spans = ((tasks.normal_start, tasks.normal_count), (tasks.anomaly_start, tasks.anomaly_count))
    return np.concatenate([tasks.order[start[task] : start[task] + count[task]] for start, count in spans])


def scaled_by(tasks: TaskSet, training: IntArray, encoding: Encoding) -> TaskSet:
    """All tasks with columns of numbers encoded as if the encoding had been fitted on these training tasks only."""
    if len(tasks) >= MANY_TASKS or len(training) in (0, len(tasks)):
        return tasks
    X = tasks.X.copy()
    rows = np.concatenate([_labelled_rows(tasks, task) for task in training])
    first = 0
    for encoder in encoding.encoders:
        attributes = slice(first, first := first + len(encoder.attribute_names))
        if isinstance(encoder, NumericColumn) and not encoder.constant:
            numbers = _decoded(encoder, tasks.X[:, attributes])
            refitted = NumericColumn.from_moments(encoder.name, encoder.kind, compute_robust_moments([numbers[rows]]))
            X[:, attributes] = encode_array([replace(refitted, missing=encoder.missing)], numbers)
    return replace(tasks, X=X)


def _decoded(encoder: NumericColumn, attributes: NDArray[np.float32]) -> NDArray[np.float64]:
    """The numbers of a column, NaN where missing: [n, 1]."""
    numbers = attributes[:, :1].astype(np.float64) * encoder.scale + encoder.mean
    if encoder.missing:
        numbers[attributes[:, 1] > 0] = np.nan
    return numbers
