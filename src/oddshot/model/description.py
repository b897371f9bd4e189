"""Rows described by small networks over their pairs with the labelled rows and over their columns."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from oddshot.model.curves import KNOTS, Columns, Direction
from oddshot.model.networks import Network
from oddshot.model.relations import LARGEST, Relations, View, squash


@dataclass(frozen=True, eq=False)
class Describer:
    """Describes rows of adapted tasks; what is the same for all rows of a task is computed once.

    pair: a network over ten numbers, of which seven depend on the row and three on the labelled row alone (its two
    lengths, its label): their part of the first layer, with its bias, is added to that of the others, as r is in φ.
    column: over the seven numbers of a value in its column. attention: over the three of a column, to some weights.
    Both also see the column's marks, [R, marks, 1, M, 1], where columns have any.
    """

    pair: Network
    column: Network
    attention: Network
    task: Relations
    marks: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M] -> [R, T, N, D], whatever M is."""
        return self.rows_last(x).mT  # only the view is turned

    def rows_last(self, x: Tensor) -> Tensor:
        """The same as [R, T, D, N]."""
        view = self.task.view(x)
        many = x.shape[:2] == (1, 1) and x.shape[2] >= KNOTS and not torch.is_grad_enabled()
        columns = self._looked_up(x) if many else self._pooled(view, self.columns.direction, self._weights)
        facts = self.facts.expand(-1, -1, -1, x.shape[2])
        return torch.cat([*self._pairs(view), columns, view.described_figures(), facts], dim=2)

    def support(self) -> Tensor:
        """The labelled rows, each without itself, anomalies first: [R, T, K, D]."""
        view, K = self.task.own_support, self.task.K
        columns = self._pooled(view, self.columns.own_direction, self._own_weights)
        pairs = self._pairs(view, 1 - self.task.itself[:K, :K])
        return torch.cat([*pairs, columns, view.described_figures(), self.task.facts(self.task.sees)], dim=2).mT

    @property
    def widest(self) -> int:
        """Numbers that the largest step takes for one row of many."""
        (L, M), units = self.task.rows.shape[2:], self.pair.last_weight.shape[-1]
        return max(7 * self.task.K, units * self.task.K, 4 * M, L)

    @cached_property
    def columns(self) -> Columns:
        """The tasks' columns."""
        return Columns(self.task)

    @cached_property
    def facts(self) -> Tensor:
        """Of the tasks, for rows that see all anomalies: [R, T, 4, 1]."""
        return self.task.facts(self.task.rows.new_full((1,), float(self.task.a > 0)))

    @cached_property
    def support_facts(self) -> Tensor:
        """What a labelled row is by itself, its lengths and its label: [R, 3, T, K, 1]."""
        lengths = squash(self.task.support_lengths)
        label = (torch.arange(self.task.K, device=lengths.device) < self.task.a).to(lengths.dtype).unsqueeze(-1)
        return torch.cat([lengths, label.expand_as(lengths[:, :1])], dim=1)

    @cached_property
    def _known(self) -> Tensor:
        """The part of the pair network's first layer that does not depend on the row: [R, units, T, K, 1]."""
        W, b = _first(self.pair)
        return _layer(W[:, :, 7:], self.support_facts, b)

    def _pairs(self, view: View, seen: Tensor | None = None) -> list[Tensor]:
        """Mean over the normal rows seen, mean over the anomalies seen, largest over the normal rows: [R, T, D, N].

        seen: [K, N], where that is not all.
        """
        a, (W, _) = self.task.a, _first(self.pair)
        out = _layer(W[:, :, :7], view.pairs()).add_(self._known).relu_()
        if seen is not None:
            out = out * seen
        anomaly, normal = out[:, :, :, :a].sum(3), out[:, :, :, a:]
        if seen is None:
            means = [normal.mean(3), anomaly / max(a, 1)]
        else:
            counts = (part.sum(0).clamp_min(1) for part in (seen[a:], seen[:a]))
            means = [total / count for total, count in zip((normal.sum(3), anomaly), counts, strict=True)]
        return [part.transpose(1, 2) for part in (*means, normal.amax(3))]

    @cached_property
    def _weights(self) -> Tensor:
        """For rows that see all anomalies, as the last labelled row does, a normal one: [R, T, 1 + H, M, 1]."""
        return self._own_weights[..., -1:]

    @cached_property
    def _own_weights(self) -> Tensor:
        """How much each column counts for the labelled rows: alike for all that count, and the attention's."""
        described = self.columns.describe_anomaly(self.columns.own_direction)
        out = _all_layers(self.attention, described, self.marks).transpose(1, 2)
        dead = (self.task.alive == 0)[:, :, None, :, None]
        attention = torch.where(dead, -LARGEST, out).softmax(3)
        alike = (self.task.alive / self.task.width)[:, :, None, :, None].expand_as(attention[:, :, :1])
        return torch.cat([alike, attention], dim=2)

    def _curves(self, knots: Tensor, direction: Direction) -> Tensor:
        """The column network at these knots: [R, T, M, N] -> [R, C, T, M, N]."""
        return _all_layers(self.column, self.columns.describe(knots, direction), self.marks).relu_()

    def _pooled(self, view: View, direction: Direction, weights: Tensor) -> Tensor:
        """Means over the columns, each with weights of its own, and of a higher power: [R, T, D, N]."""
        place = self.columns.place(view.x)
        low = place.detach().floor().clamp_max(KNOTS - 2)
        share = (place - low)[:, None]
        if direction.offset.shape[-1] > 1:
            direction = Direction(*(part.repeat(1, 1, 1, 2) for part in direction))
        left, right = self._curves(torch.cat([low, low + 1], dim=-1), direction).chunk(2, dim=-1)
        value, power = torch.lerp(left, right, share), torch.lerp(_power(left), _power(right), share)
        return torch.cat([_means(value, weights), _root(_means(power, weights[:, :, :1]))], dim=2)

    def _looked_up(self, x: Tensor) -> Tensor:
        """The same for one task and rows that see all anomalies, by the table of all knots. x: [1, 1, N, M]."""
        N, M = x.shape[2:]
        # Adjacent numbers are those of a row, as the table is read.
        place = self.columns.place(x.contiguous().mT)[0, 0].T
        low = place.to(torch.int32).clamp_max_(KNOTS - 2)
        share = place - low
        low += KNOTS * torch.arange(M, dtype=torch.int32, device=x.device)
        starts = torch.arange(0, N * M, M, dtype=torch.int32, device=x.device)
        values, steps = self._tables
        bag = torch.nn.functional.embedding_bag
        out = bag(low.view(-1), values, starts, mode="sum")
        out += bag(low.view(-1), steps, starts, mode="sum", per_sample_weights=share.view(-1))
        out = out.T[None, None]
        C = self.column.last_weight.shape[-1]
        return torch.cat([out[:, :, :-C], _root(out[:, :, -C:])], dim=2)

    @cached_property
    def _tables(self) -> tuple[Tensor, Tensor]:
        """What each column adds at each knot, and how much more at the next one: [M · KNOTS, D] each."""
        M = self.task.rows.shape[3]
        knots = torch.arange(KNOTS, device=self.task.rows.device, dtype=self.task.rows.dtype).expand(1, 1, M, -1)
        value = self._curves(knots, self.columns.direction)[0, :, 0]
        parts = [value * weight for weight in self._weights[0, 0]]
        table = torch.cat([*parts, _power(value) * self._weights[0, 0, 0]])
        steps = torch.nn.functional.pad(table.diff(dim=-1), (0, 1))
        values, more = (part.permute(1, 2, 0).flatten(0, 1).contiguous() for part in (table, steps))
        return values, more


def _power(x: Tensor) -> Tensor:
    """The fourth: in its mean over columns the largest counts most."""
    return x.square().square()


def _root(mean: Tensor) -> Tensor:
    return (mean + 1e-6).sqrt().sqrt()


def _means(values: Tensor, weights: Tensor) -> Tensor:
    """Over the columns, with each of the weights: [R, C, T, M, N] and [R, T, H, M, 1 or N] -> [R, T, H · C, N]."""
    if weights.shape[-1] == 1:
        means = weights.squeeze(-1).unsqueeze(1) @ values  # [R, C, T, H, N], without the products in memory
    else:
        means = torch.stack([(values * one.unsqueeze(1)).sum(3) for one in weights.unbind(2)], dim=3)
    return means.permute(0, 2, 3, 1, 4).flatten(2, 3)


def _first(network: Network) -> tuple[Tensor, Tensor]:
    """W: [R, out, in] and b: [R, out, 1] of the first layer."""
    assert network.biases is not None
    return network.weights[0].mT, network.biases[0].mT


def _all_layers(network: Network, x: Tensor, marks: Tensor | None) -> Tensor:
    """A network over the second dimension, with the marks joined to it: [R, in, ...] -> [R, out, ...]."""
    assert network.biases is not None
    (W, b), n = _first(network), x.shape[1]
    x = _layer(W[:, :, :n], x, b)
    if marks is not None:
        x = x.add_(_layer(W[:, :, n:], marks))
    for k in range(1, len(network.weights)):
        x = _layer(network.weights[k].mT, x.relu_(), network.biases[k].mT)
    return x


def _layer(W: Tensor, x: Tensor, b: Tensor | None = None) -> Tensor:
    """W: [R, out, in], x: [R, in, ...] -> [R, out, ...]. b: [R, out, 1]."""
    flat = x.flatten(2)
    out = torch.bmm(W, flat) if b is None else torch.baddbmm(b, W, flat)
    return out.view(*out.shape[:2], *x.shape[2:])
