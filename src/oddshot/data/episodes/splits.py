"""Which tasks train, which validate, which are the target."""

import numpy as np

from oddshot.data.episodes.mixing import Ints
from oddshot.errors import InputError


def split_tasks(n_tasks: int, rng: np.random.Generator, share: float = 0.1) -> tuple[Ints, Ints]:
    """Numbers of the training and of the validation tasks: `share` of them, at least one, at random."""
    order = rng.permutation(n_tasks)
    n_valid = min(max(round(share * n_tasks), 1), n_tasks - 1)
    return np.sort(order[n_valid:]), np.sort(order[:n_valid])


def draw_split(n_tasks: int, counts: tuple[int, int, int], rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Numbers of the training, validation and target tasks, at random; `counts` of each add up to n_tasks at most."""
    if sum(counts) > n_tasks:
        raise InputError(f"{n_tasks} tasks cannot be split into {', '.join(map(str, counts))}")
    parts = np.split(rng.permutation(n_tasks)[: sum(counts)], np.cumsum(counts[:2]))
    return np.sort(parts[0]), np.sort(parts[1]), np.sort(parts[2])


def leave_out(n_tasks: int, target: Ints, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """The target tasks are given (those of one device); 90 % of the others train, the rest validate (Sec. 4.1)."""
    others = np.setdiff1d(np.arange(n_tasks), target)
    if len(target) == 0 or len(others) < 2:
        raise InputError(f"{len(target)} target tasks out of {n_tasks}; expected at least one, and two others")
    training, validation = split_tasks(len(others), rng)
    return others[training], others[validation], np.sort(target)
