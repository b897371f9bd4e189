"""How a row lies to the other rows of its task: descriptions that no number of attributes changes the size of.

Rows are expected with columns of about unit spread (the encoding and the z-score of a task see to that).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

LARGEST = 1e9  # values beyond are taken as this: their squares stay finite in float32
NEIGHBOURS = (1, 4, 10)  # over how many of the nearest background rows a distance is averaged
TINY = 1e-6
N_PAIR, N_COLUMN, N_FIGURE, N_FACT = 9, 7, 9, 4  # numbers a pair of rows, a column, a row (twice), a task


def squash(x: Tensor) -> Tensor:
    """sign(x) log(1 + |x|): large numbers without large effects."""
    return x.sign() * x.abs().log1p()


@dataclass(frozen=True)
class Hidden:
    """What a row must not see because it is itself: 1 where hidden. support: [N, K], background: [N, b]."""

    support: Tensor
    background: Tensor

    def rows(self, which: slice) -> "Hidden":
        """The same for some of the rows."""
        return Hidden(self.support[which], self.background[which])


@dataclass(frozen=True, eq=False)
class Relations:
    """The labelled and unlabelled rows of tasks, to which other rows are related.

    normal: [R, T, n, M], anomaly: [R, T, a, M] (a may be 0), unlabelled: [R, T, u, M] or None. The background are the
    normal and the unlabelled rows together: what most rows of the task look like.
    """

    normal: Tensor
    anomaly: Tensor
    unlabelled: Tensor | None = None

    @cached_property
    def support(self) -> Tensor:
        """[R, T, K, M], normal rows first."""
        return torch.cat([self.normal, self.anomaly], dim=2)

    @cached_property
    def background(self) -> Tensor:
        """[R, T, b, M], normal rows first."""
        return self.normal if self.unlabelled is None else torch.cat([self.normal, self.unlabelled], dim=2)

    @cached_property
    def alive(self) -> Tensor:
        """[R, T, M], 1 for columns that are not 0 throughout the task: only those count, so that padding does not."""
        return ((self.background != 0).any(2) | (self.anomaly != 0).any(2)).to(self.normal.dtype)

    @cached_property
    def width(self) -> Tensor:
        """[R, T], how many columns count."""
        return self.alive.sum(-1).clamp_min(1)

    @cached_property
    def center(self) -> Tensor:
        """[R, T, 1, M], the mean of the normal rows."""
        return self.normal.mean(2, keepdim=True)

    def hidden_from_support(self) -> Hidden:
        """Every support row is hidden from itself."""
        n, K, b = self.normal.shape[2], self.support.shape[2], self.background.shape[2]
        eye = torch.eye(K, device=self.normal.device, dtype=self.normal.dtype)
        return Hidden(eye, torch.nn.functional.pad(eye[:, :n], (0, b - n)))

    def hidden_from_background(self) -> Hidden:
        """Every background row is hidden from itself."""
        n, K, b = self.normal.shape[2], self.support.shape[2], self.background.shape[2]
        eye = torch.eye(b, device=self.normal.device, dtype=self.normal.dtype)
        return Hidden(torch.nn.functional.pad(eye[:, :n], (0, K - n)), eye)

    def pairs(self, x: Tensor) -> Tensor:
        """Every row with every support row: x [R, T, N, M] -> [R, T, N, K, 9].

        Distance; then inner product, cosine and the two lengths, seen from the origin and from the normal rows' mean.
        """
        parts = [squash(self._distance(x, self.support))]
        for origin in (torch.zeros_like(self.center), self.center):
            own, other = x - origin, self.support - origin
            product = own @ other.mT / self.width[..., None, None]
            length, other_length = self._length(own).unsqueeze(-1), self._length(other).unsqueeze(-2)
            parts += [squash(product), product / (length * other_length)]
            parts += [squash(length).expand_as(product), squash(other_length).expand_as(product)]
        return torch.stack(parts, dim=-1)

    def columns(self, x: Tensor, hidden: Hidden | None = None) -> Tensor:
        """Every row column by column: x [R, T, N, M] -> [R, T, N, M, 7].

        How far from the background's mean, with sign and without; how far the anomalies are, and the product of both;
        how far out among the background's values, and how far out the anomalies are on the same side; the background's
        size.
        """
        mean, spread = self._moments
        own, anomalous = (x - mean) / spread, self._towards_anomaly(hidden) / spread
        rank, anomaly_rank = self._column_rank(x), self._column_rank(self.center + self._towards_anomaly(hidden))
        same_side = ((rank - 0.5) * (anomaly_rank - 0.5)).sign()
        out = [squash(own), squash(own.abs()), squash(anomalous).expand_as(own), squash(own * anomalous)]
        out += [self._tail(rank), same_side * self._tail(anomaly_rank), torch.full_like(own, self._log_size)]
        return torch.stack(out, dim=-1)

    def anomaly_columns(self, hidden: Hidden | None = None) -> Tensor:
        """How much every column tells the anomalies: [R, T, 1 or N, M, 3]."""
        towards = self._towards_anomaly(hidden)
        distance = squash((towards / self._moments[1]).abs())
        tail = self._tail(self._column_rank(self.center + towards))
        return torch.stack([distance, tail, torch.full_like(tail, self._log_size)], dim=-1)

    def figures(self, x: Tensor, hidden: Hidden | None = None) -> Tensor:
        """Every row in figures, and the rank of each among those of the background: x [R, T, N, M] -> [R, T, N, 18]."""
        return self._with_ranks(self._figures(x, hidden))

    def support_figures(self) -> Tensor:
        """The same for the support rows, each without itself: [R, T, K, 18]."""
        # Normal rows are ranked among themselves: the very same numbers, or rounding would break the ties.
        n, anomalies = self.normal.shape[2], self.hidden_from_support().rows(slice(self.normal.shape[2], None))
        own = [self._background_figures[:, :, :n], self._figures(self.anomaly, anomalies)]
        return self._with_ranks(torch.cat(own, dim=2))

    def _with_ranks(self, own: Tensor) -> Tensor:
        values, sorted_ = own.mT.contiguous(), self._sorted_figures
        rank = (torch.searchsorted(sorted_, values) + torch.searchsorted(sorted_, values, right=True)).mT
        return torch.cat([squash(own), rank.to(own.dtype) / sorted_.shape[-1] - 1.0], dim=-1)

    def facts(self, hidden: Hidden | None = None) -> Tensor:
        """What is the same for all rows: the background's size, the width, the share of anomalies, and whether the row
        sees any: [R, T, 1 or N, 4]."""
        n, a = self.normal.shape[2], self.anomaly.shape[2]
        sees = self._sees_anomaly(hidden)
        width = (self.width.log() / 5)[..., None, None].expand(*self.width.shape, *sees.shape)
        rest = [torch.full_like(width, self._log_size), width, torch.full_like(width, a / (a + n))]
        return torch.cat([*rest, sees.expand_as(width)], dim=-1)

    def _figures(self, x: Tensor, hidden: Hidden | None) -> Tensor:
        """[R, T, N, 9]: distances to normal and anomalous rows, lengths, distances to the nearest background rows."""
        n = self.normal.shape[2]
        distance = torch.cat([self._distance(x, self.background)[..., :n], self._distance(x, self.anomaly)], dim=-1)
        if hidden is not None:
            distance = distance + LARGEST * hidden.support
        near = distance[..., :n].amin(-1).clamp_max(LARGEST)
        figures = [near, self._mean_distance(x, hidden), *self._anomaly_distance(near, distance[..., n:])]
        figures += [self._length(x), self._length(x - self.center)]
        return torch.stack([*figures, *self._neighbour_distances(x, hidden)], dim=-1)

    def _mean_distance(self, x: Tensor, hidden: Hidden | None) -> Tensor:
        n = self.normal.shape[2]
        distance = self._distance(x, self.background)[..., :n]
        if hidden is None:
            return distance.mean(-1)
        seen = 1 - hidden.support[:, :n]
        return (distance * seen).sum(-1) / seen.sum(-1).clamp_min(1)

    def _anomaly_distance(self, near: Tensor, distance: Tensor) -> tuple[Tensor, Tensor]:
        """To the nearest anomaly seen, and how many times nearer that is than a normal row; 0 where none is seen."""
        if distance.shape[-1] == 0:
            return torch.zeros_like(near), torch.zeros_like(near)
        nearest = distance.amin(-1)
        seen = nearest < LARGEST
        return torch.where(seen, nearest, 0.0), torch.where(seen, near / (nearest + 1e-3), 0.0)

    def _neighbour_distances(self, x: Tensor, hidden: Hidden | None) -> list[Tensor]:
        """Mean distance to the k nearest background rows, in units of what is usual between those."""
        distance = self._distance(x, self.background)
        if hidden is not None:
            distance = distance + LARGEST * hidden.background
        return [mean / usual for mean, usual in zip(self._nearest(distance), self._usual_distances, strict=True)]

    @cached_property
    def _usual_distances(self) -> list[Tensor]:
        """Medians over the background rows, each without itself: [R, T, 1] for every k."""
        hidden = self.hidden_from_background().background
        distance = self._distance(self.background, self.background) + LARGEST * hidden
        return [mean.median(-1, keepdim=True).values.clamp(1e-3, LARGEST) for mean in self._nearest(distance)]

    def _nearest(self, distance: Tensor) -> list[Tensor]:
        b = self.background.shape[2]
        sizes = [min(k, max(b - 1, 1)) for k in NEIGHBOURS]
        nearest = distance.topk(max(sizes), dim=-1, largest=False).values.clamp_max(LARGEST)
        return [nearest[..., :size].mean(-1) for size in sizes]

    @cached_property
    def _background_figures(self) -> Tensor:
        """The figures of the background rows, each without itself: [R, T, b, 9]."""
        return self._figures(self.background, self.hidden_from_background())

    @cached_property
    def _sorted_figures(self) -> Tensor:
        """[R, T, 9, b]."""
        return self._background_figures.mT.contiguous().sort(-1).values

    @cached_property
    def _sorted_columns(self) -> Tensor:
        """[R, T, M, b]."""
        return self.background.mT.contiguous().sort(-1).values

    def _column_rank(self, x: Tensor) -> Tensor:
        """Share of the background's values in the same column that lie below, ties as a half: [R, T, N, M]."""
        values = x.mT.contiguous()
        both = torch.searchsorted(self._sorted_columns, values)
        both = both + torch.searchsorted(self._sorted_columns, values, right=True)
        return both.mT.to(x.dtype) / (2 * self.background.shape[2])

    def _tail(self, rank: Tensor) -> Tensor:
        """−log of the share of the background that lies further out."""
        b = self.background.shape[2]
        return -((torch.minimum(rank, 1 - rank) * b + 0.5) / (b + 1)).log()

    @cached_property
    def _moments(self) -> tuple[Tensor, Tensor]:
        """Mean and spread of the background's columns, [R, T, 1, M] each; the spread is drawn towards 1."""
        b = self.background.shape[2]
        mean = self.background.mean(2, keepdim=True)
        variance = (self.background - mean).square().mean(2, keepdim=True)
        return mean, ((b * variance + 2) / (b + 2)).sqrt()

    def _sees_anomaly(self, hidden: Hidden | None) -> Tensor:
        """[1 or N, 1], 1 for rows that see an anomaly."""
        n, a = self.normal.shape[2], self.anomaly.shape[2]
        if hidden is None:
            return self.normal.new_full((1, 1), float(a > 0))
        return ((1 - hidden.support[:, n:]).sum(-1, keepdim=True) > 0).to(self.normal.dtype)

    def _towards_anomaly(self, hidden: Hidden | None) -> Tensor:
        """From the normal rows' mean to the mean of the anomalies seen, 0 where there is none: [R, T, 1 or N, M]."""
        n, a = self.normal.shape[2], self.anomaly.shape[2]
        if a == 0:
            return torch.zeros_like(self.center)
        if hidden is None:
            return self.anomaly.mean(2, keepdim=True) - self.center
        seen = 1 - hidden.support[:, n:]
        mean = seen @ self.anomaly / seen.sum(-1, keepdim=True).clamp_min(1)
        return (mean - self.center) * self._sees_anomaly(hidden)

    @property
    def _log_size(self) -> float:
        return math.log(self.background.shape[2]) / 5

    def _length(self, x: Tensor) -> Tensor:
        """Root mean square over the columns that count: [..., M] -> [...]."""
        return (x.square().sum(-1) / self.width.unsqueeze(-1) + TINY).sqrt()

    def _distance(self, x: Tensor, y: Tensor) -> Tensor:
        """Root mean square difference over the columns that count: [R, T, N, M], [R, T, K, M] -> [R, T, N, K]."""
        product = x @ y.mT
        if x is y:
            product = (product + product.mT) / 2  # nearest neighbours of each other are equally near
        square = x.square().sum(-1, keepdim=True) + y.square().sum(-1).unsqueeze(-2) - 2 * product
        return (square / self.width[..., None, None] + TINY).clamp_min(TINY).sqrt()
