"""Rows described by small networks over their pairs with the labelled rows and over their columns."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from array_api_compat import device

from oddshot.score.arrays import (
    Array,
    affine,
    between,
    clip,
    contiguous,
    detach,
    namespace,
    over_tasks,
    parted,
    pool_table,
    rectify,
    relu,
    swap,
)
from oddshot.score.columns import (
    N_KNOTS,
    AnomalyOffset,
    ColumnStatistics,
    column_features,
    column_statistics,
    knot_position,
    value_features,
)
from oddshot.score.context import MAX_ABS_VALUE, Context
from oddshot.score.networks import Layers
from oddshot.score.relations import (
    N_PAIR_FEATURES,
    Relation,
    RowStatistics,
    labelled_features,
    own_relations,
    pair_features,
    row_features,
    row_statistics,
    standardise,
    task_features,
)

MASKED_LOGIT = -1e9  # of padding columns, before the softmax over columns
MIN_POWER_MEAN = 1e-6  # added before the fourth root, whose gradient stays finite at 0


class DescriptionNetworks(NamedTuple):
    """pair: over ten features of a pair, of which seven depend on the row. column: over the seven features of a value
    in its column. attention: over the three features of a column, to the logits of its weights.

    embeddings: learned ones of the columns, [..., E, M, 1], as further inputs of the last two, by which one column is
    told from another; None for tables of any width.
    """

    pair: Layers
    column: Layers
    attention: Layers
    embeddings: Array | None = None


@dataclass(frozen=True, eq=False)
class Describer:
    """Describes rows of tasks; what is the same for all rows of a task is computed once.

    rows: what most rows look like in their features. columns: the same of the columns that the networks over columns
    see, those of `seen_columns`, or all. weights: [..., 1 + heads, M, a + 1], of the columns, for each anomaly and last
    for rows that are related to all of them. labelled_part: [..., units, K, 1], what the pair network's first layer
    adds for each labelled row. table: [M · N_KNOTS, D], what each column adds at each knot, for many rows of one task.
    """

    networks: DescriptionNetworks
    context: Context
    rows: RowStatistics
    columns: ColumnStatistics
    weights: Array
    labelled_part: Array
    seen_columns: Array | None = None
    table: Array | None = None

    def __call__(self, x: Array) -> Array:
        """Rows that are not of the task: [..., n, M] -> [..., n, D], whatever M is."""
        relation = Relation(self.context, swap(clip(x, -MAX_ABS_VALUE, MAX_ABS_VALUE)))
        features = row_features(relation, self.rows.bandwidth)
        return self._join(relation, features, self._pool_shared(relation.x), swap(self.of_task()))

    def of_task(self) -> Array:
        """What is the same for all rows that are not of the task: [..., 1, 5]."""
        x = self.context.x
        sees_anomaly = namespace(x).full((1,), float(self.context.n_anomaly > 0), dtype=x.dtype, device=device(x))
        return swap(task_features(self.context, sees_anomaly))

    def parts(self, x: Array, table: Array) -> tuple[Array, Array]:
        """For many rows of one task, [n, M]: what pairs and distances tell of them, [n, d], and what a table has of
        their columns, [n, D], in which fourth powers, the last of its numbers, have become fourth roots."""
        rows = clip(x, -MAX_ABS_VALUE, MAX_ABS_VALUE)
        relation = Relation(self.context, contiguous(swap(rows)))
        features = standardise(row_features(relation, self.rows.bandwidth), self.rows, self.context.n_background)
        of_rows = swap(namespace(x).concat([*self._pairs(relation), features], axis=-2))
        return of_rows, self._look_up(swap(rows), table)

    def with_table(self) -> "Describer":
        """For many rows of one task."""
        return self if self.table is not None else replace(self, table=self._knot_table())

    def own(self, relation: Relation, features: Array) -> Array:
        """Rows of the task, hidden from themselves, with their row features: [..., n, D]."""
        xp, a, first = namespace(relation.x), self.context.n_anomaly, relation.first or 0
        n_anomaly = max(min(a - first, relation.x.shape[-1]), 0)
        parts = []
        if n_anomaly > 0:
            some = slice(first, first + n_anomaly)
            parts.append(
                self._pool(relation.x[..., :n_anomaly], self.columns.offsets.at(some), self.weights[..., some])
            )
        if n_anomaly < relation.x.shape[-1]:
            parts.append(self._pool_shared(relation.x[..., n_anomaly:]))
        of_task = task_features(self.context, clip(relation.n_seen(0, a), 0, 1))
        return self._join(relation, features, xp.concat(parts, axis=-1), of_task)

    def _join(self, relation: Relation, features: Array, of_columns: Array, of_task: Array) -> Array:
        """features: [..., 11, n], of_columns: [..., (2 + heads) units, n], of_task: [..., 5, 1 or n] -> [..., n, D]."""
        xp, n = namespace(features), features.shape[-1]
        of_task = xp.broadcast_to(of_task, (*of_task.shape[:-1], n))
        standardised = standardise(features, self.rows, self.context.n_background)
        return swap(xp.concat([*self._pairs(relation), of_columns, standardised, of_task], axis=-2))

    def _pairs(self, relation: Relation) -> list[Array]:
        """Mean over the normal rows, mean over the anomalies, maximum over the normal rows: [..., units, n] each."""
        features = pair_features(relation)
        xp, a, K = namespace(features), self.context.n_anomaly, self.context.n_labelled
        W = self.networks.pair.weights[0][..., :N_PAIR_FEATURES, :]
        units, lead = affine(W, xp.reshape(features, (*features.shape[:-2], -1))), features.shape[:-3]
        units = xp.reshape(units, (*lead, W.shape[-1], K, -1))
        units += self.labelled_part
        units = rectify(units)
        is_hidden = relation.is_hidden(slice(0, K), axis=-2)
        if is_hidden is not None:
            units = xp.where(is_hidden, xp.asarray(0, dtype=units.dtype), units)
        of_anomaly, of_normal = parted(units, a, axis=-2)
        n_seen = relation.n_seen(a, K), relation.n_seen(0, a)
        counts = [max(n, 1) if isinstance(n, int) else clip(n, 1, K) for n in n_seen]
        means = [xp.sum(part, axis=-2) / count for part, count in zip((of_normal, of_anomaly), counts, strict=True)]
        return [*means, xp.max(of_normal, axis=-2)]

    def _pool_shared(self, x: Array) -> Array:
        """What the columns tell of rows that are related to all anomalies: [..., M, n] -> [..., D, n]."""
        if self.table is None:
            return self._pool(x, self.columns.offsets.at(slice(-1, None)), self.weights[..., -1:])
        return swap(self._look_up(x, self.table))

    def _look_up(self, x: Array, table: Array) -> Array:
        """Sums over the columns of what a table adds at their values: [M, n], [M · N_KNOTS, D] -> [n, D]."""
        xp, n_units = namespace(x), self.networks.column.weights[-1].shape[-1]
        low, share = _split(knot_position(self.columns, x))
        firsts = N_KNOTS * np.arange(self.context.x.shape[-2], dtype=np.int32)
        pooled = pool_table(table, swap(xp.astype(low, xp.int32)) + xp.asarray(firsts), swap(share), len(firsts))
        return xp.concat([pooled[:, :-n_units], _fourth_root(pooled[:, -n_units:])], axis=-1)

    def _pool(self, x: Array, anomaly: AnomalyOffset, weights: Array) -> Array:
        """Weighted means over the columns of their curves, and a power mean: [..., M, n] -> [..., D, n].

        anomaly: [..., M, 1 or n], weights: [..., 1 + heads, M, 1 or n].
        """
        xp = namespace(x)
        if self.seen_columns is not None:
            x = xp.take(x, self.seen_columns, axis=-2)
        low, share = _split(knot_position(self.columns, x))
        is_shared = weights.shape[-1] == 1
        both = anomaly if is_shared else AnomalyOffset(*(xp.concat([part, part], axis=-1) for part in anomaly))
        knots = self._curves(xp.concat([low, low + 1], axis=-1), both)
        n, share = x.shape[-1], share[..., None, :, :]
        # [..., units, M, n]
        value, power = (between(*parted(part, n), share) for part in (knots, _fourth_power(knots)))
        if is_shared:
            of_columns = weights[..., None, :, :, 0]  # [..., 1, 1 + heads, M]
            means, powers = of_columns @ value, (of_columns[..., :1, :] @ power)[..., 0, :]
        else:
            means = xp.sum(value[..., :, None, :, :] * weights[..., None, :, :, :], axis=-2)
            powers = xp.sum(power * weights[..., :1, :, :], axis=-2)
        order = (*range(means.ndim - 3), means.ndim - 2, means.ndim - 3, means.ndim - 1)
        means = xp.permute_dims(means, order)  # the units of each weighting together
        means = means.reshape(*means.shape[:-3], means.shape[-3] * means.shape[-2], n)
        return xp.concat([means, _fourth_root(powers)], axis=-2)

    def _curves(self, knots: Array, anomaly: AnomalyOffset) -> Array:
        """The column network at these knots: [..., M, k] -> [..., units, M, k]."""
        features = value_features(self.columns, knots, anomaly)
        return over_columns(self.networks.column, features, self.networks.embeddings, ends_rectified=True)

    def _knot_table(self) -> Array:
        xp, M = namespace(self.context.x), self.context.x.shape[-2]
        knots = xp.broadcast_to(xp.arange(N_KNOTS, dtype=self.context.x.dtype), (M, N_KNOTS))
        value = self._curves(knots, self.columns.offsets.at(slice(-1, None)))
        weights = self.weights[..., -1:]
        parts = [*(value * weight for weight in weights), _fourth_power(value) * weights[0]]
        table = xp.concat(parts, axis=0)  # [D, M, N_KNOTS]
        return contiguous(xp.permute_dims(table, (1, 2, 0)).reshape(M * N_KNOTS, -1))


def describe_task(
    networks: DescriptionNetworks, context: Context, n_own: int | None = None, seen_columns: Array | None = None
) -> tuple[Describer, Array]:
    """What describes rows of these tasks, and descriptions of their own first rows, [..., n_own, D]; by default all.

    seen_columns: [n], indices of those that the networks over columns see, whose embeddings alone are then given.
    """
    xp, n_own = namespace(context.x), context.n_rows if n_own is None else n_own
    relations = own_relations(context)
    rows, features = row_statistics(relations)
    seen = context if seen_columns is None else _with_columns(context, seen_columns)
    columns = column_statistics(seen)
    part = labelled_features(context)[..., 0]
    W, bias = networks.pair.weights[0], networks.pair.bias(0)
    labelled_part = affine(W[..., N_PAIR_FEATURES:, :], part, swap(over_tasks(bias, part, 2)))[..., None]
    describer = Describer(
        networks, context, rows, columns, _column_weights(networks, seen, columns), labelled_part, seen_columns
    )
    if n_own < context.n_rows:
        relations = own_relations(context, n_own)
    if context.x.ndim == 2 and n_own - context.n_anomaly >= N_KNOTS:
        describer = describer.with_table()
    parts = []
    for relation in relations:
        first = relation.first or 0
        parts.append(describer.own(relation, features[..., first : first + relation.x.shape[-1]]))
    return describer, parts[0] if len(parts) == 1 else xp.concat(parts, axis=-2)


def over_columns(layers: Layers, x: Array, embeddings: Array | None, ends_rectified: bool = False) -> Array:
    """A network over the features of columns, with their embeddings as further inputs: [..., in, M, k] -> [..., out, M,
    k]."""
    (n_in, M, k), lead = x.shape[-3:], x.shape[:-3]
    h = x.reshape(*lead, n_in, M * k)
    for number, weight in enumerate(layers.weights):
        is_rectified = ends_rectified or number < len(layers.weights) - 1
        bias = swap(layers.bias(number))
        if number == 0 and embeddings is not None:
            of_column = affine(weight[..., n_in:, :], embeddings[..., 0], bias)  # [..., out, M]
            h = affine(weight[..., :n_in, :], h)
            h = h.reshape(*h.shape[:-1], M, k) + over_tasks(of_column, h, 2)[..., None]
            h = (relu(h) if is_rectified else h).reshape(*h.shape[:-2], M * k)
        else:
            h = affine(weight, h, over_tasks(bias, h, 2), rectified=is_rectified)
    return h.reshape(*h.shape[:-1], M, k)


def _column_weights(networks: DescriptionNetworks, context: Context, columns: ColumnStatistics) -> Array:
    """Equal ones and those of each attention head, 0 for padding: [..., 1 + heads, M, a + 1]."""
    xp, mask = namespace(context.x), context.mask[..., None, :, :]
    logits = over_columns(networks.attention, column_features(columns, columns.offsets), networks.embeddings)
    logits = xp.where(mask == 0, xp.asarray(MASKED_LOGIT, dtype=logits.dtype), logits)
    shifted = xp.exp(logits - xp.max(logits, axis=-2, keepdims=True))
    attention = shifted / xp.sum(shifted, axis=-2, keepdims=True)
    equal = mask / context.n_columns[..., None, None]
    return xp.concat([xp.broadcast_to(equal, attention[..., :1, :, :].shape), attention], axis=-3)


def _with_columns(context: Context, columns: Array) -> Context:
    """The same rows with some of their columns. columns: [n], indices."""
    x = namespace(context.x).take(context.x, columns, axis=-2)
    return Context.of_columns(x, context.n_anomaly, context.n_normal)


def _split(position: Array) -> tuple[Array, Array]:
    """The knot on the left of each position, and the share of the one on the right."""
    low = clip(namespace(position).floor(detach(position)), 0, N_KNOTS - 2)
    return low, position - low


def _fourth_power(x: Array) -> Array:
    """In its mean over columns the largest value counts most."""
    squared = x * x
    return squared * squared


def _fourth_root(mean: Array) -> Array:
    xp = namespace(mean)
    return xp.sqrt(xp.sqrt(mean + MIN_POWER_MEAN))
