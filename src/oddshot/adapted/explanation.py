"""Why a row has its score: what each attribute adds to it, and which labelled rows lie nearest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ORDERS = 4  # orders of the attributes, each forwards and backwards
BLOCK_NUMBERS = 1 << 22  # of replaced rows that are scored at once: 16 MiB

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = NDArray[np.float32]
Score = Callable[[Rows], Floats]


@dataclass(frozen=True)
class Explanation:
    """Of n rows. contributions: [n, attributes], by how much each column of the table raises or lowers a score.

    They add up to score − baseline_score, [n] each (within rounding, a millionth of the larger). The baseline of a row
    is the normal support row nearest to it: baseline [n], its number among the rows given to fit. neighbours: [n, k],
    the numbers of the nearest labelled rows, nearest first; distances: [n, k], root mean square over encoded columns.
    """

    attributes: tuple[str, ...]
    contributions: Floats
    score: Floats
    baseline_score: Floats
    baseline: Ints
    neighbours: Ints
    distances: Floats


def contributions(
    score: Score, rows: Rows, baseline: Rows, groups: Sequence[slice], orders: Sequence[Ints]
) -> tuple[Floats, Floats, Floats]:
    """What each group of columns adds on the way from a baseline row to a row: [n, groups], scores [n] of both ends.

    The groups of the baseline are replaced by those of the row one after the other; a group adds what the score rises
    at its turn, on average over the orders: Shapley values, by sampling. rows, baseline: [n, M].
    """
    out = np.zeros((len(rows), len(groups)))
    ends = np.empty((2, len(rows)))
    step = max(1, BLOCK_NUMBERS // max(rows.shape[1] * (len(groups) + 1), 1))
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        for k, order in enumerate(orders):
            path = _path(rows[part], baseline[part], [groups[g] for g in order])
            if k > 0:
                path = path[1:-1]
            scores = score(path.reshape(-1, rows.shape[1])).reshape(len(path), -1)
            if k == 0:
                ends[:, part] = scores[0], scores[-1]
            else:
                scores = np.concatenate([ends[:1, part], scores, ends[1:, part]])
            out[part, order] += np.diff(scores, axis=0).T / len(orders)
    return out, ends[1], ends[0]


def fixed_orders(n: int) -> list[Ints]:
    """Orders of n attributes and their reverses, always the same; all there are for one or two."""
    rng = np.random.default_rng(0)
    drawn = [np.arange(n)] if n <= 2 else [rng.permutation(n) for _ in range(ORDERS)]
    return [one for order in drawn for one in (order, order[::-1])][: 1 if n == 1 else None]


def nearest(rows: Rows, others: Rows, k: int) -> tuple[Ints, Floats]:
    """The k nearest of the other rows, nearest first, and their distances: [n, k] each."""
    found, distances = np.empty((len(rows), k), np.int64), np.empty((len(rows), k))
    step = max(1, BLOCK_NUMBERS // max(others.size, 1))
    for first in range(0, len(rows), step):
        difference = rows[first : first + step, None].astype(np.float64) - others[None]
        distance = np.sqrt(np.mean(difference**2, axis=2))
        order = np.argsort(distance, axis=1, kind="stable")[:, :k]
        found[first : first + step] = order
        distances[first : first + step] = np.take_along_axis(distance, order, 1)
    return found, distances


def _path(rows: Rows, baseline: Rows, groups: Sequence[slice]) -> Rows:
    """[groups + 1, n, M]: the baseline, then with one group after the other replaced, at last the rows."""
    path = np.repeat(baseline[None], len(groups) + 1, 0)
    for k, group in enumerate(groups):
        path[k + 1 :, :, group] = rows[:, group]
    return path
