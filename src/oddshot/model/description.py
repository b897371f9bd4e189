"""Rows described by small networks over their pairs with the labelled rows and over their columns."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from oddshot.model.curve_pooling import between_knots, fourth_power, pool_curves
from oddshot.model.curves import N_KNOTS, AnomalyOffset, ColumnCurves
from oddshot.model.knot_lookup import KnotLookUp
from oddshot.model.networks import Network
from oddshot.model.relations import LeaveOneOutView, RowView, TaskContext, signed_log1p
from oddshot.model.taskwise import taskwise_layer

N_PAIR_ROW_FEATURES = 7  # of the ten features of a pair, those that depend on the row; the others on the labelled row
MASKED_LOGIT = -1e9  # of padding columns, before the softmax over columns
MIN_POWER_MEAN = 1e-6  # added before the fourth root, whose gradient stays finite at 0


@dataclass(frozen=True, eq=False)
class Describer:
    """Describes rows of adapted tasks; what is the same for all rows of a task is computed once.

    pair: a network over ten features, of which seven depend on the row and three on the labelled row alone (its two
    lengths, its label): their part of the first layer, with its bias, is added to that of the others, as r is in φ.
    column: a network over the seven features of a value in its column. attention: a network over the three features of
    a column, to the logits of its weights. marks: learned embeddings of the columns, [R, E, 1, M, 1], as further inputs
    of both, by which one column is told from another; None for tables of any width. sampled: [n], indices of the
    columns that both networks see, whose marks alone are then given; None for all of them.
    """

    pair: Network
    column: Network
    attention: Network
    context: TaskContext
    marks: Tensor | None = None
    sampled: Tensor | None = None
    has_all_parts: ClassVar[bool] = True  # no part is replaced by 0, as in ablations

    def __call__(self, x: Tensor) -> Tensor:
        """Descriptions of rows. x: [R, T, N, M] -> [R, T, N, D], whatever M is."""
        return self.transposed(x).mT  # a view

    def transposed(self, x: Tensor) -> Tensor:
        """Descriptions of rows, as [R, T, D, N]."""
        view = self.context.query(x)
        many = _are_many(x)
        columns = self._looked_up(x) if many else self._pooled(view.x, self.curves.anomaly_offset, self._weights)
        task = self.task_features.expand(-1, -1, -1, x.shape[2])
        return torch.cat([*self._pairs(view), columns, view.standardised_row_features(), task], dim=2)

    def describe_support(self) -> Tensor:
        """Descriptions of the labelled rows by leave-one-out, anomalies first: [R, T, K, D]."""
        if not torch.is_grad_enabled():  # then all rows are described sooner or later
            return self.describe_context()[:, :, : self.context.n_labelled]
        return self._leave_one_out(self.context.support_leave_one_out)

    def describe_context(self) -> Tensor:
        """Descriptions of all context rows by leave-one-out, anomalies, normal rows, unlabelled rows: [R, T, L, D]."""
        return self._context_description

    @cached_property
    def _context_description(self) -> Tensor:
        described = self._leave_one_out(self.context.leave_one_out)
        if not torch.is_grad_enabled():
            self.context.forget_leave_one_out()
        return described

    def _leave_one_out(self, view: LeaveOneOutView) -> Tensor:
        """Descriptions of the first context rows, each related to all others: [R, T, N, D]."""
        context, columns = self.context, self._leave_one_out_columns(view)
        has_anomaly = view.count(slice(0, context.n_anomaly)).clamp_max(1)
        parts = [*self._pairs(view), columns, view.standardised_row_features()]
        return torch.cat([*parts, context.task_features(has_anomaly)], dim=2).mT

    def _leave_one_out_columns(self, view: LeaveOneOutView) -> Tensor:
        """What the columns tell of the first context rows: [R, T, D, N]. All but anomalies are like any other row."""
        n_anomaly, n_rows = self.context.n_anomaly, view.x.shape[-1]
        others = self.context.rows[:, :, n_anomaly:n_rows]
        if not _are_many(others):
            return self._pooled_of_others(view.x)
        looked_up = self._looked_up(others)
        if n_anomaly == 0:
            return looked_up
        return torch.cat([self._pooled_of_others(view.x[..., :n_anomaly]), looked_up], dim=3)

    def _pooled_of_others(self, x: Tensor) -> Tensor:
        """The same for the first context rows, x: [R, T, M, N], by the anomalies other than each: [R, T, D, N]."""
        n_anomaly, n_rows = self.context.n_anomaly, x.shape[-1]
        if n_anomaly == 0:
            return self._pooled(x, self.curves.anomaly_offset, self._weights)
        shared = self._weights.expand(-1, -1, -1, -1, n_rows - n_anomaly)
        weights = torch.cat([self._all_weights[..., :n_anomaly], shared], dim=-1)
        rows = torch.arange(n_rows, device=x.device)
        return self._pooled(x, self.curves.offset_of_others(torch.cat([rows, rows])), weights)

    @cached_property
    def curves(self) -> ColumnCurves:
        """The tasks' columns, or those that were sampled."""
        return ColumnCurves(self.context if self.sampled is None else self.context.of_columns(self.sampled))

    @cached_property
    def task_features(self) -> Tensor:
        """Of the tasks, for rows that are related to all anomalies: [R, T, 5, 1]."""
        return self.context.task_features(self.context.rows.new_full((1,), float(self.context.n_anomaly > 0)))

    @cached_property
    def labelled_features(self) -> Tensor:
        """What is known of each labelled row by itself, its lengths and its label: [R, 3, T, K, 1]."""
        lengths = signed_log1p(self.context.support_lengths)
        is_anomaly = torch.arange(self.context.n_labelled, device=lengths.device) < self.context.n_anomaly
        label = is_anomaly.to(lengths.dtype).unsqueeze(-1)
        return torch.cat([lengths, label.expand_as(lengths[:, :1])], dim=1)

    @cached_property
    def labelled_part(self) -> Tensor:
        """The part of the pair network's first layer that does not depend on the row: [R, units, T, K, 1]."""
        W, b = _layer_of(self.pair, 0)
        return taskwise_layer(W[:, :, N_PAIR_ROW_FEATURES:], self.labelled_features, b)

    def _pairs(self, view: RowView) -> list[Tensor]:
        """Mean over the normal rows, mean over the anomalies, maximum over the normal rows: [R, T, D, N] each."""
        n_anomaly, (W, _) = self.context.n_anomaly, _layer_of(self.pair, 0)
        of_row = W[:, :, :N_PAIR_ROW_FEATURES]
        out = taskwise_layer(of_row, view.pair_features(), self.labelled_part, is_rectified=True)
        if isinstance(view, LeaveOneOutView):
            out = out * self.context.others[:, : view.x.shape[-1]]
        anomaly, normal = out[:, :, :, :n_anomaly], out[:, :, :, n_anomaly:]
        means = [
            normal.sum(3) / view.divisor(self.context.normal_rows),
            anomaly.sum(3) / view.divisor(slice(0, n_anomaly)),
        ]
        return [part.transpose(1, 2) for part in (*means, normal.amax(3))]

    @cached_property
    def _weights(self) -> Tensor:
        """Column weights for rows related to all anomalies: [R, T, 1 + H, M, 1]."""
        return self._all_weights[..., -1:]

    @cached_property
    def _all_weights(self) -> Tensor:
        """Column weights for each anomaly and last for rows related to all of them, [R, T, 1 + H, M, N_A + 1]: equal
        ones and those of each attention head; 0 for padding."""
        features = self.curves.column_features(self.curves.offsets)
        logits = _all_layers(self.attention, features, self.marks).transpose(1, 2)
        context = self.curves.context
        is_padding = (context.column_mask == 0)[:, :, None, :, None]
        attention = logits.masked_fill(is_padding, MASKED_LOGIT).softmax(3)
        equal = (context.column_mask / context.n_columns)[:, :, None, :, None]
        return torch.cat([equal.expand_as(attention[:, :, :1]), attention], dim=2)

    def _curve_values(self, knots: Tensor, anomaly: AnomalyOffset) -> Tensor:
        """The column network at these knots: [R, T, M, N] -> [R, C, T, M, N]."""
        features = self.curves.value_features(knots, anomaly)
        return _all_layers(self.column, features, self.marks, ends_rectified=True)

    def _pooled(self, x: Tensor, anomaly: AnomalyOffset, weights: Tensor) -> Tensor:
        """Weighted means over the columns, and a power mean: [R, T, M, N] -> [R, T, D, N].

        anomaly: the same for all rows, or [R, T, M, 2 N], for the knots left and then right of all values.
        """
        position = self.curves.knot_position(x if self.sampled is None else x.index_select(2, self.sampled))
        low = position.detach().floor().clamp_max(N_KNOTS - 2)
        share = (position - low)[:, None]
        knots = self._curve_values(torch.cat([low, low + 1], dim=-1), anomaly)
        if weights.shape[-1] == 1:
            means, powers = pool_curves(knots, share, weights.squeeze(-1))
        else:
            value, power = (between_knots(part, share) for part in (knots, fourth_power(knots)))
            means = (value.unsqueeze(3) * weights.unsqueeze(1)).sum(4)
            powers = (power * weights[:, None, :, 0]).sum(3, keepdim=True)
        return torch.cat([_by_description(means), _by_description(_root(powers))], dim=2)

    def _looked_up(self, x: Tensor) -> Tensor:
        """The same for many rows of one task, by the table of all knots. x: [1, 1, N, M]."""
        memory = self.look_up.make_memory(x.shape[2])
        self.look_up(x[0, 0], memory)
        out = memory.sums(self.table).T[None, None]
        C = self.column.last_weight.shape[-1]
        return torch.cat([out[:, :, :-C], _root(out[:, :, -C:])], dim=2)

    @cached_property
    def look_up(self) -> KnotLookUp:
        """For many rows of the only task."""
        return KnotLookUp(self.curves)

    @cached_property
    def table(self) -> Tensor:
        """What each column adds at each knot: [M · N_KNOTS, D]."""
        M, rows = self.context.rows.shape[3], self.context.rows
        knots = torch.arange(N_KNOTS, device=rows.device, dtype=rows.dtype).expand(1, 1, M, -1)
        value = self._curve_values(knots, self.curves.anomaly_offset)[0, :, 0]
        parts = [value * weight for weight in self._weights[0, 0]]
        table = torch.cat([*parts, fourth_power(value) * self._weights[0, 0, 0]])
        return table.permute(1, 2, 0).flatten(0, 1).contiguous()


def _are_many(x: Tensor) -> bool:
    """Whether rows, [R, T, N, M], are looked up in a table, as many rows of one task are."""
    return x.shape[:2] == (1, 1) and x.shape[2] >= N_KNOTS and not torch.is_grad_enabled()


def _root(mean: Tensor) -> Tensor:
    """The fourth root."""
    return (mean + MIN_POWER_MEAN).sqrt().sqrt()


def _by_description(means: Tensor) -> Tensor:
    """[R, C, T, H, N] -> [R, T, H · C, N]."""
    return means.permute(0, 2, 3, 1, 4).flatten(2, 3)


def _layer_of(network: Network, k: int) -> tuple[Tensor, Tensor]:
    """W: [R, out, in] and b: [R, out, 1] of the layer k."""
    assert network.biases is not None
    return network.weights[k].mT, network.biases[k].mT


def _all_layers(network: Network, x: Tensor, marks: Tensor | None, ends_rectified: bool = False) -> Tensor:
    """A network over the second dimension, with the columns' marks as further inputs: [R, in, ...] -> [R, out, ...]."""
    n, n_layers = x.shape[1], len(network.weights)
    for k in range(n_layers):
        W, b = _layer_of(network, k)
        if k == 0 and marks is not None:
            b = b[:, :, :, None, None] + taskwise_layer(W[:, :, n:], marks)
        x = taskwise_layer(W[:, :, :n] if k == 0 else W, x, b, is_rectified=ends_rectified or k < n_layers - 1)
    return x
