"""Rows that are copies of another row of the same task: equal to it, or equal but for rounding.

A row that was entered twice says of itself that it is usual, as its copy is its nearest neighbour: so a task is adapted
to one of them. Rows are no copies where equal ones are to be expected, as in tables of a few categories; but where
every row occurs twice, or k times, one in k counts in any case.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oddshot.data.encoding import Encoding
from oddshot.data.encoding.numeric_column import NumericColumn
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED

ROUNDING = 1e-3  # of a column's unit: rows that differ by less are equal but for rounding
MIN_EXPECTED = 0.05  # equal rows that the columns' values alone let expect, from which on such rows are no copies
MAX_ROUNDING = 10.0  # times the largest difference that was rounding: others may differ by so much
N_DIRECTIONS = 3
MAX_APART = 4  # places, in the order along a random direction, between rows that are compared

EncodedRows = NDArray[np.float32]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Copies(NamedTuple):
    """Copies and what they are copies of: [k, M] each."""

    rows: EncodedRows
    originals: EncodedRows


class DistinctRows(NamedTuple):
    """The rows of a task without copies: [n, M], [a, M] and [u, M]."""

    normal: EncodedRows
    anomaly: EncodedRows
    unlabelled: EncodedRows
    copies: Copies


def without_copies(support: EncodedRows, labels: NDArray[np.int8], unlabelled: EncodedRows | None) -> DistinctRows:
    """Of rows that are copies of each other, one for each label, or an unlabelled one where none is labelled.

    support: [n, M] with labels [n], unlabelled: [u, M].
    """
    rows = support if unlabelled is None else np.concatenate([support, unlabelled])
    labels = np.concatenate([labels, np.full(len(rows) - len(labels), UNLABELLED, np.int8)])
    original = find_originals(rows, labels)
    is_kept = original == np.arange(len(rows))
    normal, anomaly, others = (rows[is_kept & (labels == label)] for label in (NORMAL, ANOMALY, UNLABELLED))
    return DistinctRows(normal, anomaly, others, Copies(rows[~is_kept], rows[original[~is_kept]]))


def find_originals(rows: EncodedRows, labels: NDArray[np.int8]) -> IntArray:
    """For each row, the row that it is a copy of, itself where it is none: [n, M], [n] -> [n]."""
    itself, group = np.arange(len(rows)), find_groups(rows)
    in_group = np.bincount(group)[group] > 1
    if not in_group.any():
        return itself
    is_expected = np.zeros(len(rows), bool)
    is_expected[in_group] = are_expected(rows[in_group], rows)
    _, group_and_label = np.unique(np.stack([group, labels]), axis=1, return_inverse=True)
    first, place, count = _places_among_equals(group_and_label)
    n_times = np.gcd.reduce(count)
    labelled, first_labelled = np.flatnonzero(labels != UNLABELLED)[::-1], np.full(len(rows), -1)
    first_labelled[group[labelled]] = labelled
    is_beside_labelled = (labels == UNLABELLED) & (first_labelled[group] >= 0) & ~is_expected
    is_kept = np.where(is_expected, place < count // n_times, (place == 0) & ~is_beside_labelled)
    original: IntArray = np.where(is_kept, itself, np.where(is_beside_labelled, first_labelled[group], first))
    return original


def _places_among_equals(numbers: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """For each number, where it first occurs, how often before, and how often in all: [n] of 0, 1, ... -> [n] each."""
    order, counts = numbers.argsort(kind="stable"), np.bincount(numbers)
    starts = np.cumsum(counts) - counts
    place = np.empty_like(numbers)
    place[order] = np.arange(len(numbers)) - np.repeat(starts, counts)
    return order[starts][numbers], place, counts[numbers]


def find_groups(rows: EncodedRows) -> IntArray:
    """The number of a group for each row; rows that are equal but for rounding are in the same one: [n, M] -> [n]."""
    n, M = rows.shape
    directions = np.random.default_rng(0).normal(size=(M, N_DIRECTIONS)) / np.sqrt(max(M, 1))
    along = rows.astype(np.float64) @ directions
    order = along[:, 0].argsort(kind="stable")
    along = along[order]
    tolerance = ROUNDING * (1 + np.abs(along))
    pairs = []
    for apart in range(1, min(MAX_APART, n - 1) + 1):
        is_equal = (np.abs(along[apart:] - along[:-apart]) <= tolerance[apart:]).all(1)
        if not is_equal.any():
            break
        pairs.append(np.stack([order[apart:][is_equal], order[:-apart][is_equal]]))
    if not pairs:
        return np.arange(n)
    from scipy.sparse import coo_array  # a tenth of a second, which tables without copies need not wait for
    from scipy.sparse.csgraph import connected_components

    first, second = np.concatenate(pairs, axis=1)
    edges = coo_array((np.ones(len(first), bool), (first, second)), shape=(n, n))
    _, group = connected_components(edges, directed=False)
    return group.astype(np.int64)


def are_expected(rows: EncodedRows, among: EncodedRows) -> BoolArray:
    """Whether rows equal to each of these are to be expected among others, if columns were independent.

    rows: [n, M], all of which are among the others [N, M] or copies of one of them -> [n]. The share of a value is that
    among the other rows, which count like half a row more for each value of the column (Krichevsky and Trofimov).
    """
    expected = np.full(len(rows), float(len(among)))
    for values, others in zip(_rounded(rows).T, _rounded(among).T, strict=True):
        found, counts = np.unique(others, return_counts=True)
        place = np.searchsorted(found, values).clip(max=len(found) - 1)
        expected *= (counts[place] - 0.5) / (len(among) - 1 + 0.5 * len(found))
        if not (expected >= MIN_EXPECTED).any():
            break
    return expected >= MIN_EXPECTED


def fit_without_copies(
    encoding: Encoding, rows: EncodedRows, labels: NDArray[np.int8], fit: Callable[[IntArray], Encoding]
) -> Encoding:
    """An encoding fitted to rows without those that are copies of others.

    encoding: one fitted to all rows, and rows: [n, M], labels: [n], what it makes of them. fit: fits one to some rows.
    """
    spread = rows.std(0, dtype=np.float64)
    rows = (rows / np.where(spread > 0, spread, 1)).astype(np.float32)
    usual, is_rounding = differ_by_rounding(rows)
    differences = np.where(is_rounding, np.abs(rows - usual).max(0), 0) * spread
    original = find_originals(np.where(is_rounding, usual, rows), labels)
    kept = np.flatnonzero(original == np.arange(len(rows)))
    if len(kept) == len(rows):
        return encoding
    again, j = fit(kept), 0
    encoders = {encoder.name: encoder for encoder in again.encoders}
    for before in encoding.encoders:
        encoder = encoders.get(before.name)
        if is_rounding[j] and isinstance(encoder, NumericColumn) and isinstance(before, NumericColumn):
            encoders[before.name] = replace(encoder, rounding=MAX_ROUNDING * float(differences[j]) * before.scale)
        j += len(before.attribute_names)
    return replace(again, encoders=tuple(encoders.values()))


def differ_by_rounding(rows: EncodedRows) -> tuple[EncodedRows, BoolArray]:
    """The usual value of each column, and whether only copies of rows differ from it, by rounding: [n, M] -> [M], [M].

    At least half of the rows have that value, the values of the others are all different, and each of these rows is a
    copy, by the other columns, of a row that has the usual value.
    """
    low, high = (np.partition(rows, place, axis=0)[place] for place in ((len(rows) - 1) // 2, len(rows) // 2))
    usual = np.where(2 * (rows == low).sum(0) >= len(rows), low, high)
    is_usual = rows == usual
    n_others = (~is_usual).sum(0)
    found: BoolArray = (2 * n_others <= len(rows)) & (n_others > 1)
    if found.all() or not found.any():
        return usual, np.zeros(len(found), bool)
    group = find_groups(rows[:, ~found])
    for j in np.flatnonzero(found):
        is_other = ~is_usual[:, j]
        has_usual = np.isin(group[is_other], group[~is_other]).all()
        found[j] = has_usual and len(np.unique(rows[is_other, j])) == n_others[j]
    return usual, found


def _rounded(rows: EncodedRows) -> NDArray[np.float64]:
    return np.round(rows.astype(np.float64) / (4 * ROUNDING))
