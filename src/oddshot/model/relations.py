"""How a row lies to the other rows of its task: numbers that do not depend on how many attributes there are.

Rows are expected with columns of about unit spread (the encoding and the z-score of a task see to that). Tensors here
have the rows that are described last, [R, T, ..., N]: what is done for every pair of rows runs over adjacent numbers.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

LARGEST = 1e9  # values beyond are taken as this: their squares stay finite in float32
TINY = 1e-6
ROUNDING = 1e-6  # a squared distance that is so small a share of the squares it was taken from is rounding
N_PAIR, N_FIGURE, N_FACT = 10, 10, 4  # numbers of a pair of rows, of a row (each twice), of a task


def squash(x: Tensor) -> Tensor:
    """sign(x) log(1 + |x|): large numbers without large effects."""
    return x.abs().log1p().copysign(x)


@dataclass(frozen=True, eq=False)
class Relations:
    """The labelled and unlabelled rows of tasks, to which other rows are related.

    normal: [R, T, n, M], anomaly: [R, T, a, M] (a may be 0), unlabelled: [R, T, u, M] or None. The background are the
    normal and the unlabelled rows together, b of them: what most rows of the task look like.
    """

    normal: Tensor
    anomaly: Tensor
    unlabelled: Tensor | None = None

    @cached_property
    def a(self) -> int:
        """How many anomalies are labelled: the first rows."""
        return self.anomaly.shape[2]

    @cached_property
    def K(self) -> int:
        """How many rows are labelled."""
        return self.a + self.normal.shape[2]

    @cached_property
    def b(self) -> int:
        """How many rows the background has."""
        return self.rows.shape[2] - self.a

    @property
    def log_size(self) -> float:
        """Of the background, as networks see it."""
        return math.log(self.b) / 5

    @cached_property
    def rows(self) -> Tensor:
        """[R, T, L, M]: anomalies, normal rows, unlabelled rows, so that support and background are slices."""
        parts = [self.anomaly, self.normal, self.unlabelled]
        return torch.cat([part for part in parts if part is not None], dim=2)

    @cached_property
    def background(self) -> Tensor:
        """[R, T, M, b]."""
        return self.rows[:, :, self.a :].mT.contiguous()

    @cached_property
    def alive(self) -> Tensor:
        """[R, T, M], 1 for columns that are not 0 throughout the task: only those count, so that padding does not."""
        return (self.rows != 0).any(2).to(self.rows.dtype)

    @cached_property
    def width(self) -> Tensor:
        """[R, T, 1], how many columns count."""
        return self.alive.sum(-1, keepdim=True).clamp_min(1)

    @cached_property
    def center(self) -> Tensor:
        """[R, T, M, 1], the mean of the normal rows."""
        return self.normal.mean(2).unsqueeze(-1)

    @cached_property
    def scaled(self) -> tuple[Tensor, Tensor]:
        """What gives mean products: the labelled rows, [R, T, K, M], and all seen from the centre, [R, T, L, M]."""
        width = self.width.unsqueeze(-1)
        return self.rows[:, :, : self.K] / width, (self.rows - self.center.mT) / width

    @cached_property
    def squares(self) -> Tensor:
        """Of the rows' lengths seen from the centre: [R, T, L, 1]."""
        return self.own.lengths[1].square().unsqueeze(3)

    @cached_property
    def support_lengths(self) -> Tensor:
        """Of the labelled rows, from the origin and from the centre: [R, 2, T, K, 1]."""
        return torch.stack([length[..., : self.K] for length in self.own.lengths], dim=1).unsqueeze(-1)

    @cached_property
    def itself(self) -> Tensor:
        """[L, L], 1 where two rows are the same one."""
        return torch.eye(self.rows.shape[2], device=self.rows.device, dtype=self.rows.dtype)

    @cached_property
    def sees(self) -> Tensor:
        """[K], 1 for labelled rows that see an anomaly other than themselves."""
        return ((1 - self.itself[: self.a, : self.K]).sum(0) > 0).to(self.rows.dtype)

    @cached_property
    def own(self) -> "View":
        """All rows of the tasks, each without itself."""
        return View(self, self.rows.mT.contiguous(), is_own=True)

    @cached_property
    def own_support(self) -> "View":
        """The labelled rows, each without itself."""
        if self.unlabelled is None:
            return self.own
        return View(self, self.rows[:, :, : self.K].mT.contiguous(), is_own=True)

    def view(self, x: Tensor) -> "View":
        """Other rows. x: [R, T, N, M]."""
        return View(self, x.clamp(-LARGEST, LARGEST).mT.contiguous())

    @cached_property
    def mean_anomaly(self) -> Tensor:
        """[R, T, M, 1]; the normal rows' mean where there is no anomaly."""
        return self.center if self.a == 0 else self.anomaly.mean(2).unsqueeze(-1)

    @cached_property
    def own_mean_anomaly(self) -> Tensor:
        """The same for every anomaly without itself: [R, T, M, a]."""
        if self.a == 1:
            return self.center
        return self.anomaly.mT @ ((1 - self.itself[: self.a, : self.a]) / (self.a - 1))

    @cached_property
    def towards_anomaly(self) -> Tensor:
        """From the centre to the mean anomaly: what has mean products with it is a length. [R, T, M, 1]."""
        return self._of_unit_length(self.mean_anomaly)

    @cached_property
    def own_towards_anomaly(self) -> Tensor:
        """The same for every anomaly without itself: [R, T, M, a]."""
        return self._of_unit_length(self.own_mean_anomaly)

    def _of_unit_length(self, anomaly: Tensor) -> Tensor:
        towards, width = anomaly - self.center, self.width.unsqueeze(-1)
        length = (towards.square().sum(2, keepdim=True) / width + TINY).sqrt()
        return towards / (length * width)

    @cached_property
    def usual(self) -> Tensor:
        """What is usual between a background row and the nearest other one, the median: [R, T, 1]."""
        return self.own.nearest[..., self.a :].median(-1, keepdim=True).values.clamp(1e-3, LARGEST)

    @cached_property
    def usual_figures(self) -> tuple[Tensor, Tensor]:
        """Mean and spread of the background's own figures, [R, T, 10, 1] each."""
        figures = squash(self.own.figures[..., self.a :])
        variance, mean = torch.var_mean(figures, dim=-1, correction=0, keepdim=True)
        return mean, (variance + 0.05**2).sqrt()

    def facts(self, sees: Tensor) -> Tensor:
        """What is the same for all rows: the background's size, the width, the share of anomalies, and whether a row
        sees any. sees: [N] -> [R, T, 4, N]."""
        width = (self.width.log() / 5).expand(-1, -1, len(sees))
        rest = [torch.full_like(width, self.log_size), width, torch.full_like(width, self.a / self.K)]
        return torch.stack([*rest, sees.expand_as(width)], dim=2)


@dataclass(frozen=True, eq=False)
class View:
    """Rows as their task sees them. x: [R, T, M, N], within ±LARGEST.

    is_own: they are the first N rows of the task itself, and each is hidden from itself.
    """

    task: Relations
    x: Tensor
    is_own: bool = False

    @cached_property
    def centered(self) -> Tensor:
        """[R, T, M, N], seen from the normal rows' mean."""
        return self.x - self.task.center

    @cached_property
    def lengths(self) -> tuple[Tensor, Tensor]:
        """Root mean squares over the columns that count, from the origin and from the centre: [R, T, N] each."""
        squares = (part.square().sum(2) for part in (self.x, self.centered))
        at_origin, at_center = ((square / self.task.width + TINY).sqrt() for square in squares)
        return at_origin, at_center

    @cached_property
    def products(self) -> tuple[Tensor, Tensor]:
        """Mean products with the labelled rows from the origin, [R, T, K, N], and with all from the centre, [.., L, N].

        A mean over the columns that count, as all of them here.
        """
        support, others = self.task.scaled
        return support @ self.x, others @ self.centered

    @cached_property
    def squared_distances(self) -> Tensor:
        """Mean squares of the differences from all rows of the task, LARGEST² from itself: [R, T, L, N]."""
        squares = self.lengths[1].square().unsqueeze(2) + self.task.squares
        distances = torch.add(squares - TINY, self.products[1], alpha=-2)
        # Equal rows are TINY apart, not what rounding leaves of the difference of large numbers.
        distances = torch.where(distances < ROUNDING * squares, TINY, distances)
        if self.is_own:
            distances = distances + LARGEST**2 * self.task.itself[:, : self.x.shape[-1]]
        return distances

    @cached_property
    def support_distances(self) -> Tensor:
        """[R, T, K, N]."""
        return self.squared_distances[:, :, : self.task.K].sqrt()

    @cached_property
    def nearest(self) -> Tensor:
        """Distance to the nearest background row: [R, T, N]."""
        return self.squared_distances[:, :, self.task.a :].amin(2).sqrt().clamp_max(LARGEST)

    def pairs(self) -> Tensor:
        """Every row with every labelled row: [R, 7, T, K, N].

        Cosine from both origins; distance; inner product and the row's length, from both origins. What depends on the
        labelled row alone, its lengths and its label (`support_facts`), makes it ten.
        """
        K = self.task.K
        products = torch.stack([self.products[0], self.products[1][:, :, :K]], dim=1)
        lengths = torch.stack(self.lengths, dim=1).unsqueeze(3)
        cosines = products / (lengths * self.task.support_lengths)
        rest = [self.support_distances.unsqueeze(1), products, lengths.expand_as(products)]
        return torch.cat([cosines, squash(torch.cat(rest, dim=1))], dim=1)

    @cached_property
    def figures(self) -> Tensor:
        """[R, T, 10, N]: distances to normal and anomalous rows, lengths, how far towards the anomalies, distances to
        the background."""
        normal = self.support_distances[:, :, self.task.a :]
        near = normal.amin(2).clamp_max(LARGEST)
        figures = [near, self._mean_distance(normal), *self._anomaly_distance(near), *self.lengths, self._along()]
        return torch.stack([*figures, *self._background_distances()], dim=2)

    def described_figures(self) -> Tensor:
        """Figures, and how unusual each is among the background's own: [R, T, 20, N]."""
        mean, spread = self.task.usual_figures
        figures = squash(self.figures)
        return torch.cat([figures, squash((figures - mean) / spread)], dim=2)

    def _mean_distance(self, distance: Tensor) -> Tensor:
        """To the normal rows seen. distance: [R, T, n, N] -> [R, T, N]."""
        if not self.is_own:
            return distance.mean(2)
        seen = 1 - self.task.itself[self.task.a : self.task.K, : self.x.shape[-1]]
        return (distance * seen).sum(2) / seen.sum(0).clamp_min(1)

    def _anomaly_distance(self, near: Tensor) -> tuple[Tensor, Tensor]:
        """To the nearest anomaly seen, and how many times nearer that is than a normal row; 0 where none is seen."""
        if self.task.a == 0:
            return torch.zeros_like(near), torch.zeros_like(near)
        nearest = self.support_distances[:, :, : self.task.a].amin(2)
        ratio = near / (nearest + 1e-3)
        if self.is_own and self.task.a == 1:
            seen = 1 - self.task.itself[0, : self.x.shape[-1]]
            return nearest * seen, ratio * seen
        return nearest, ratio

    def _along(self) -> Tensor:
        """How far from the centre towards the mean of the anomalies seen, as a length; 0 where none is seen."""
        task, a = self.task, self.task.a
        shared = (task.towards_anomaly.mT @ self.centered).squeeze(2)
        if not self.is_own or a == 0:
            return shared
        own = (task.own_towards_anomaly * self.centered[..., :a]).sum(2)
        return torch.cat([own, shared[..., a:]], dim=-1)

    def _background_distances(self) -> list[Tensor]:
        """To the nearest background row, and soft minima of the distances to all, in units h of what is usual.

        −log of the mean of exp(−d/h), and a quarter of the same for 4d: the further a row, the less it counts.
        """
        distance, usual = self.squared_distances[:, :, self.task.a :].sqrt(), self.task.usual
        near = self.nearest / usual
        itself = self.task.itself[self.task.a :, : self.x.shape[-1]]
        seen = (self.task.b - itself.sum(0)).clamp_min(1) if self.is_own else self.task.b
        closeness = (near.unsqueeze(2) - distance / usual.unsqueeze(-1)).exp()  # divided alike: never above 1
        wide, narrow = (part.sum(2).clamp_min(TINY) / seen for part in (closeness, closeness.square().square()))
        return [near, near - wide.log(), near - narrow.log() / 4]
