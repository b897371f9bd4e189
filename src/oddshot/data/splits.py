"""Which tasks train, which validate."""

import numpy as np

from oddshot.data.episodes import Ints


def split_tasks(n_tasks: int, rng: np.random.Generator, share: float = 0.1) -> tuple[Ints, Ints]:
    """Numbers of the training and of the validation tasks: `share` of them, at least one, at random."""
    order = rng.permutation(n_tasks)
    n_valid = min(max(round(share * n_tasks), 1), n_tasks - 1)
    return np.sort(order[n_valid:]), np.sort(order[:n_valid])
