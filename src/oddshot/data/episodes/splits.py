"""Split tasks into training, validation and target tasks."""

import numpy as np

from oddshot.data.episodes.mixing import IntArray
from oddshot.errors import InputError


def split_tasks(n_tasks: int, rng: np.random.Generator, validation_share: float = 0.1) -> tuple[IntArray, IntArray]:
    """Return the indices of the training and the validation tasks, drawn at random; at least one of each."""
    order = rng.permutation(n_tasks)
    n_validation = min(max(round(validation_share * n_tasks), 1), n_tasks - 1)
    return np.sort(order[n_validation:]), np.sort(order[:n_validation])


def draw_split(
    n_tasks: int, counts: tuple[int, int, int], rng: np.random.Generator
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the indices of the training, validation and target tasks, drawn at random.

    counts: how many of each; they add up to n_tasks at most.
    """
    if sum(counts) > n_tasks:
        raise InputError(f"{n_tasks} tasks cannot be split into {', '.join(map(str, counts))}")
    parts = np.split(rng.permutation(n_tasks)[: sum(counts)], np.cumsum(counts[:2]))
    return np.sort(parts[0]), np.sort(parts[1]), np.sort(parts[2])


def leave_out(n_tasks: int, target: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    """Return the indices of the training and validation tasks, 90 % and 10 % of the non-target tasks, and the target.

    target: the tasks of one device (Sec. 4.1).
    """
    others = np.setdiff1d(np.arange(n_tasks), target)
    if len(target) == 0 or len(others) < 2:
        raise InputError(f"{len(target)} target tasks out of {n_tasks}; expected at least one, and two others")
    training, validation = split_tasks(len(others), rng)
    return others[training], others[validation], np.sort(target)
