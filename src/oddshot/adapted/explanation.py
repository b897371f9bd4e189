"""Why a row has its score: what each column adds to it, and which labelled rows lie nearest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

N_ORDERS = 4  # random orders of the columns, each forwards and backwards
MAX_BLOCK_NUMBERS = 1 << 22  # of replaced rows that are scored at once: 16 MiB

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
EncodedRows = NDArray[np.float32]


@dataclass(frozen=True)
class Explanation:
    """Why n rows have their scores.

    Attributes
    ----------
    attributes : tuple of str
        The names of the table's columns.
    contributions : [n, attributes]
        By how much each column raises or lowers a score. Those of a row add up to score − baseline_score.
    score, baseline_score : [n]
        Scores of the rows, and of their baselines, as `score_samples` gives them.
    baseline : [n]
        The number, among the rows given to `fit`, of the nearest row labelled normal, with which the row is compared.
    neighbours : [n, k]
        The numbers of the k nearest labelled rows among the rows given to `fit`, nearest first.
    distances : [n, k]
        The distances to them: root mean squares over the encoded columns.
    """

    attributes: tuple[str, ...]
    contributions: FloatArray
    score: FloatArray
    baseline_score: FloatArray
    baseline: IntArray
    neighbours: IntArray
    distances: FloatArray


def column_contributions(
    score: Callable[[EncodedRows], FloatArray],
    rows: EncodedRows,
    baseline: EncodedRows,
    groups: Sequence[slice],
    orders: Sequence[IntArray],
    *,
    ends_are_lowest: bool = False,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sampled Shapley values of groups of columns: [n, groups], and the scores of rows and baselines, [n] each.

    The groups of a baseline row are replaced by those of the row one after the other; a group's contribution is the
    rise of the score at its turn, averaged over the orders. rows, baseline: [n, M]. ends_are_lowest: a score on the
    way counts as no lower than that of the row or of the baseline, whichever is lower. That is for methods by which a
    seen row is hidden from itself: what differs from it in a few columns lies closer to it than any other row does.
    """
    out = np.zeros((len(rows), len(groups)))
    ends = np.empty((2, len(rows)))
    step = max(1, MAX_BLOCK_NUMBERS // max(rows.shape[1] * (len(groups) + 1), 1))
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
            if ends_are_lowest:
                scores = np.maximum(scores, ends[:, part].min(axis=0))
            out[part, order] += np.diff(scores, axis=0).T / len(orders)
    return out, ends[1], ends[0]


def column_orders(n: int) -> list[IntArray]:
    """Random orders of n columns and their reverses, the same at every call; all orders for one or two columns."""
    rng = np.random.default_rng(0)
    drawn = [np.arange(n)] if n <= 2 else [rng.permutation(n) for _ in range(N_ORDERS)]
    return [one for order in drawn for one in (order, order[::-1])][: 1 if n == 1 else None]


def nearest_rows(rows: EncodedRows, others: EncodedRows, k: int) -> tuple[IntArray, FloatArray]:
    """The k nearest of the other rows, nearest first, and their distances: [n, k] each."""
    found, distances = np.empty((len(rows), k), np.int64), np.empty((len(rows), k))
    step = max(1, MAX_BLOCK_NUMBERS // max(others.size, 1))
    for first in range(0, len(rows), step):
        difference = rows[first : first + step, None].astype(np.float64) - others[None]
        distance = np.sqrt(np.mean(difference**2, axis=2))
        order = np.argsort(distance, axis=1, kind="stable")[:, :k]
        found[first : first + step] = order
        distances[first : first + step] = np.take_along_axis(distance, order, 1)
    return found, distances


def _path(rows: EncodedRows, baseline: EncodedRows, groups: Sequence[slice]) -> EncodedRows:
    """[groups + 1, n, M]: the baseline, then with one group after the other replaced, at last the rows."""
    path = np.repeat(baseline[None], len(groups) + 1, 0)
    for k, group in enumerate(groups):
        path[k + 1 :, :, group] = rows[:, group]
    return path
