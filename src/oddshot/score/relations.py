"""How a row relates to the other rows of its task: numbers of which there are as many whatever the columns are.

Rows of the task itself are hidden from themselves, so that they are described as rows that were not given.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from array_api_compat import device

from oddshot.score.arrays import (
    Array,
    broadcast_like,
    clip,
    lower_median,
    matmul,
    mean_of_smallest,
    namespace,
    squared_distances,
    swap,
    with_sign_of,
)
from oddshot.score.context import MAX_ABS_VALUE, MIN_SQUARE, Context, mean_square

MIN_BANDWIDTH = 1e-3
MIN_RATIO_DISTANCE = 1e-3  # added to the distance to the nearest anomaly before it divides another distance
MIN_FEATURE_SPREAD = 0.05
N_NEIGHBOURS = 10  # background rows whose mean distance is a feature
BEYOND_ALL = 1e18  # a distance of which exp(-d) is 0, and finite, so that gradients are
N_PAIR_FEATURES, N_LABELLED_FEATURES = 7, 3  # of a row with a labelled one, and of that one by itself
N_ROW_FEATURES, N_TASK_FEATURES = 11, 5
MAX_DISTANCES = 2**20  # of a task's own rows that are computed at a time


def signed_log1p(x: Array) -> Array:
    """sign(x) log(1 + |x|), so that large numbers have no large effects."""
    xp = namespace(x)
    return with_sign_of(xp.log1p(xp.abs(x)), x)


@dataclass(frozen=True, eq=False)
class Relation:
    """n rows in relation to the rows of their task. x: [..., M, n].

    first: for rows of the task itself, which are hidden from themselves, the place of the first one, whose successors
    the others are; None for other rows.
    """

    context: Context
    x: Array
    first: int | None = None

    @cached_property
    def centered(self) -> Array:
        """The rows from the centre: [..., M, n]."""
        return self.x - self.context.center

    @cached_property
    def squares(self) -> Array:
        """Mean squares from the centre: [..., n]."""
        return mean_square(self.centered, self.context.n_columns)

    @cached_property
    def lengths(self) -> Array:
        """From the origin and from the centre: [..., 2, n]."""
        xp = namespace(self.x)
        return xp.sqrt(xp.stack([mean_square(self.x, self.context.n_columns), self.squares], axis=-2))

    @cached_property
    def products(self) -> Array:
        """Mean products with the labelled rows, from the origin and from the centre: [..., 2, K, n]."""
        task, K = self.context, self.context.n_labelled
        pairs = (task.scaled_labelled, self.x), (task.scaled[..., :K], self.centered)
        return namespace(self.x).stack([matmul(swap(other), own) for other, own in pairs], axis=-3)

    @cached_property
    def to_labelled(self) -> Array:
        """Distances to the labelled rows: [..., K, n]."""
        others = slice(self.context.n_labelled)
        squares = self.context.squares[..., others, None], self.squares[..., None, :]
        return self._distances(self.products[..., 1, :, :], squares, others, axis=-2)

    @cached_property
    def to_background(self) -> Array:
        """Distances to the background rows: [..., n, B]."""
        others = slice(self.context.n_anomaly, self.context.n_rows)
        if self.context.n_rows == self.context.n_labelled:
            return swap(self.to_labelled[..., others, :])
        squares = self.squares[..., :, None], self.context.squares[..., None, others]
        return self._distances(matmul(swap(self.centered), self.context.scaled[..., others]), squares, others, axis=-1)

    def is_hidden(self, others: slice, axis: int) -> Array | None:
        """Where a row meets itself among these context rows, which are in this dimension; None if nowhere."""
        if self.first is None:
            return None
        xp, where = namespace(self.x), {"device": device(self.x)}
        own, other = (
            xp.arange(self.x.shape[-1], **where) + self.first,
            xp.arange(others.start or 0, others.stop, **where),
        )
        return own == other[:, None] if axis == -2 else own[:, None] == other

    def n_seen(self, first: int, end: int) -> Array | int:
        """How many of these context rows each row is related to: the same number for all, or [n]."""
        if self.first is None:
            return end - first
        xp = namespace(self.x)
        own = xp.arange(self.x.shape[-1], device=device(self.x)) + self.first
        return end - first - xp.astype((own >= first) & (own < end), self.x.dtype)

    def _distances(self, products: Array, squares: tuple[Array, Array], others: slice, axis: int) -> Array:
        """From mean products; BEYOND_ALL from a row to itself. The other rows are in this dimension."""
        xp, squared = namespace(products), squared_distances(products, *squares, MIN_SQUARE)
        if self.context.has_single_columns:
            is_single = self.context.n_columns[..., None] == 1
            squared = xp.where(is_single, self._single_column(others, axis), squared)
        distances, is_hidden = xp.sqrt(squared), self.is_hidden(others, axis)
        if is_hidden is None:
            return distances
        return xp.where(is_hidden, xp.asarray(BEYOND_ALL, dtype=distances.dtype), distances)

    def _single_column(self, others: slice, axis: int) -> Array:
        """Squared distances of tasks of one column, of which many rows lie so near that products leave rounding."""
        xp, mask = namespace(self.x), self.context.mask
        own, padding = xp.sum(self.x * mask, axis=-2), xp.sum((self.x * (1 - mask)) ** 2, axis=-2)
        other = xp.sum(self.context.x[..., others], axis=-2)
        if axis == -1:
            return (own[..., None] - other[..., None, :]) ** 2 + padding[..., None] + MIN_SQUARE
        return (own[..., None, :] - other[..., None]) ** 2 + padding[..., None, :] + MIN_SQUARE


class RowStatistics(NamedTuple):
    """What most rows of a task look like in its row features.

    bandwidth: [..., 1], the median distance from a background row to the nearest other one, 1 where there is only one.
    mean, spread: [..., 11, 1], of the background's own features on a log scale.
    """

    bandwidth: Array
    mean: Array
    spread: Array


def pair_features(relation: Relation) -> Array:
    """Every row with every labelled row: [..., 7, K, n].

    Cosine from both origins; distance; inner product and the row's length, from both origins. What depends on the
    labelled row alone, `labelled_features`, makes them ten.
    """
    xp, products = namespace(relation.x), relation.products
    lengths = relation.lengths[..., None, :]
    cosines = products / (lengths * relation.context.lengths[..., None])
    distances = xp.log1p(relation.to_labelled)[..., None, :, :]
    own = broadcast_like(xp.log1p(lengths), products)
    return xp.concat([cosines, distances, signed_log1p(products), own], axis=-3)


def labelled_features(context: Context) -> Array:
    """What is known of each labelled row by itself, its lengths and its label: [..., 3, K, 1]."""
    xp = namespace(context.x)
    lengths = xp.log1p(context.lengths)[..., None]
    place = xp.arange(context.n_labelled, device=device(lengths))
    label = xp.broadcast_to(xp.astype(place < context.n_anomaly, lengths.dtype)[:, None], lengths[..., :1, :, :].shape)
    return xp.concat([lengths, label], axis=-3)


def row_features(relation: Relation, bandwidth: Array) -> Array:
    """On a log scale: [..., 11, n].

    Distance to the nearest normal row and mean distance to all of them; distance to the nearest anomaly, and how many
    times nearer that is; lengths from origin and centre; length along the direction of the anomalies; distances to the
    background in bandwidths: to the nearest row, two soft minima (−log of the mean of exp(−d), and a quarter of the
    same for 4d), and the mean to the N_NEIGHBOURS nearest. What a row has none of is 0.
    """
    xp, task = namespace(relation.x), relation.context
    a, K = task.n_anomaly, task.n_labelled
    to_normal = relation.to_labelled[..., a:, :]
    nearest = _where_seen(xp.min(to_normal, axis=-2), relation.n_seen(a, K), task.n_normal)
    nearest = clip(nearest, 0, MAX_ABS_VALUE)
    parts = [nearest, _mean_distance(to_normal, relation, a, K, axis=-2)]
    if a == 0:
        parts += [xp.zeros_like(nearest)] * 2
    else:
        n_seen = relation.n_seen(0, a)
        to_anomaly = xp.min(relation.to_labelled[..., :a, :], axis=-2)
        ratio = nearest / (to_anomaly + MIN_RATIO_DISTANCE)
        parts += [_where_seen(one, n_seen, a) for one in (to_anomaly, ratio)]
    parts += [relation.lengths[..., 0, :], relation.lengths[..., 1, :], _along_anomalies(relation)]
    return signed_log1p(xp.stack([*parts, *_background_distances(relation, bandwidth)], axis=-2))


def nearest_background(relation: Relation) -> Array:
    """Distance to the nearest background row: [..., n]."""
    task = relation.context
    nearest = namespace(relation.x).min(relation.to_background, axis=-1)
    return clip(_where_seen(nearest, relation.n_seen(task.n_anomaly, task.n_rows), task.n_background), 0, MAX_ABS_VALUE)


def standardise(features: Array, statistics: RowStatistics, n_background: int) -> Array:
    """Row features, and how unusual each is among the background: [..., 11, n] -> [..., 22, n].

    A single background row tells nothing of their spread.
    """
    xp = namespace(features)
    if n_background == 1:
        return xp.concat([features, xp.zeros_like(features)], axis=-2)
    return xp.concat([features, signed_log1p((features - statistics.mean) / statistics.spread)], axis=-2)


def task_features(context: Context, sees_anomaly: Array) -> Array:
    """What is the same for all rows: log numbers of background rows and columns, the share of anomalies among the
    labelled rows, whether a row is related to any anomaly, and the log number of normal rows.

    sees_anomaly: [n] -> [..., 5, n].
    """
    xp, task = namespace(context.x), context
    n_columns = xp.broadcast_to(xp.log(task.n_columns) / 5, (*task.n_columns.shape[:-1], sees_anomaly.shape[0]))
    size, share, normal = (
        xp.full_like(n_columns, number)
        for number in (math.log(task.n_background) / 5, task.n_anomaly / task.n_labelled, math.log(task.n_normal) / 5)
    )
    return xp.stack([size, n_columns, share, xp.broadcast_to(sees_anomaly, n_columns.shape), normal], axis=-2)


def own_relations(context: Context, n_rows: int | None = None) -> list[Relation]:
    """The first rows of the tasks, all by default, hidden from themselves; a block at a time."""
    n_rows = context.n_rows if n_rows is None else n_rows
    step = max(MAX_DISTANCES // context.n_rows, 1)
    return [Relation(context, context.x[..., k : min(k + step, n_rows)], k) for k in range(0, n_rows, step)]


def row_statistics(relations: list[Relation]) -> tuple[RowStatistics, Array]:
    """Of the tasks whose own rows these are, and their row features: [..., 11, L]."""
    xp, task = namespace(relations[0].x), relations[0].context
    if task.n_background == 1:
        bandwidth = xp.ones_like(task.n_columns)
    else:
        nearest = xp.concat([nearest_background(relation) for relation in relations], axis=-1)
        bandwidth = clip(lower_median(nearest[..., task.n_anomaly :]), MIN_BANDWIDTH, MAX_ABS_VALUE)
    features = xp.concat([row_features(relation, bandwidth) for relation in relations], axis=-1)
    of_background = features[..., task.n_anomaly :]
    mean = xp.mean(of_background, axis=-1, keepdims=True)
    variance = xp.mean((of_background - mean) ** 2, axis=-1, keepdims=True)
    return RowStatistics(bandwidth, mean, xp.sqrt(variance + MIN_FEATURE_SPREAD**2)), features


def _where_seen(values: Array, n_seen: Array | int, n_all: int) -> Array:
    """Values of rows that are related to any of n_all rows, 0 for the others."""
    return values if n_all > 1 else values * n_seen


def _mean_distance(distances: Array, relation: Relation, first: int, end: int, axis: int) -> Array:
    """Over the context rows from first to end, which are in this dimension, without the row itself."""
    xp, n_seen = namespace(distances), relation.n_seen(first, end)
    is_hidden = relation.is_hidden(slice(first, end), axis)
    if is_hidden is None:
        return xp.mean(distances, axis=axis)
    zero = xp.asarray(0, dtype=distances.dtype)
    return xp.sum(xp.where(is_hidden, zero, distances), axis=axis) / clip(n_seen, 1, end - first)


def _along_anomalies(relation: Relation) -> Array:
    """How far from the centre towards the mean of the (other) anomalies, as a length: [..., n]."""
    xp, task, centered = namespace(relation.x), relation.context, relation.centered
    shared = matmul(swap(task.anomaly_direction), centered)[..., 0, :]
    a, first = task.n_anomaly, relation.first
    if first is None or first >= a:
        return shared
    n_own = min(a - first, centered.shape[-1])
    if a == 1:
        return shared * relation.n_seen(0, 1)
    own = xp.sum(task.other_anomaly_direction()[..., first : first + n_own] * centered[..., :n_own], axis=-2)
    return xp.concat([own, shared[..., n_own:]], axis=-1)


def _background_distances(relation: Relation, bandwidth: Array) -> list[Array]:
    """To the nearest background row, two soft minima, and the mean to the nearest, in bandwidths: [..., n] each."""
    xp, task = namespace(relation.x), relation.context
    n_seen = relation.n_seen(task.n_anomaly, task.n_rows)
    nearest, distance = nearest_background(relation) / bandwidth, relation.to_background
    closeness = distance / -bandwidth[..., None]
    closeness += nearest[..., None]
    closeness = xp.exp(closeness)  # never above 1
    soft, squared = [], closeness * closeness
    count = n_seen if isinstance(n_seen, int) else clip(n_seen, 1, task.n_background)
    for power, part in ((1, closeness), (4, squared * squared)):
        mean = clip(xp.sum(part, axis=-1), MIN_SQUARE, math.inf)
        soft.append(_where_seen(nearest - xp.log(mean / count) / power, n_seen, task.n_background))
    if task.n_background > N_NEIGHBOURS:
        near = mean_of_smallest(distance, N_NEIGHBOURS)
    else:
        near = _mean_distance(distance, relation, task.n_anomaly, task.n_rows, axis=-1)
    return [nearest, *soft, near / bandwidth]
