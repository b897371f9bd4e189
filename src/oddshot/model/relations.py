"""How a row relates to the other rows of its task: features whose number does not depend on the number of columns.

Columns are expected to have about unit spread (the encoding, or the z-score of a task, sees to that). Tensors here have
the rows that are described last, [R, T, ..., N]: what is computed for every pair of rows runs over adjacent numbers.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from oddshot.model.background import (
    MAX_ABS_VALUE,
    MIN_SQUARE,
    N_NEIGHBOURS,
    ROUNDING_SHARE,
    fill_soft_minima,
    nearest_first,
)

MIN_BANDWIDTH = 1e-3
MIN_RATIO_DISTANCE = 1e-3  # added to the distance to the nearest anomaly before it divides another distance
MIN_FEATURE_SPREAD = 0.05
N_PAIR_FEATURES, N_ROW_FEATURES, N_TASK_FEATURES = 10, 11, 5  # of a pair of rows, of a row (each twice), of a task
BEYOND_ALL = 1e18  # a distance of which exp(-d) is 0, and finite, so that gradients are
MIN_LONG_BACKGROUND = 64  # rows to which distances are computed apart from those to labelled rows
CHUNK_DISTANCES = 2**19  # computed at a time, so that they stay in the cache


def signed_log1p(x: Tensor) -> Tensor:
    """sign(x) log(1 + |x|), so that large numbers have no large effects."""
    return x.abs().log1p().copysign(x)


@dataclass(frozen=True, eq=False)
class TaskContext:
    """The labelled and unlabelled rows of tasks, to which other rows are related.

    normal: [R, T, N_N, M], anomaly: [R, T, N_A, M] (N_A may be 0), unlabelled: [R, T, U, M] or None. The background is
    the normal and the unlabelled rows together: what most rows of the task look like.
    """

    normal: Tensor
    anomaly: Tensor
    unlabelled: Tensor | None = None

    @cached_property
    def n_anomaly(self) -> int:
        """Number of labelled anomalies."""
        return self.anomaly.shape[2]

    @cached_property
    def n_labelled(self) -> int:
        """Number of labelled rows."""
        return self.n_anomaly + self.normal.shape[2]

    @cached_property
    def n_background(self) -> int:
        """Number of background rows."""
        return self.rows.shape[2] - self.n_anomaly

    @property
    def normal_rows(self) -> slice:
        """Where the normal rows are among `rows`."""
        return slice(self.n_anomaly, self.n_labelled)

    @property
    def log_size(self) -> float:
        """The number of background rows as a feature."""
        return math.log(self.n_background) / 5

    @cached_property
    def rows(self) -> Tensor:
        """[R, T, L, M]: anomalies, normal rows, unlabelled rows, so that support and background are slices."""
        parts = [self.anomaly, self.normal, self.unlabelled]
        return torch.cat([part for part in parts if part is not None], dim=2)

    @cached_property
    def background(self) -> Tensor:
        """The background rows, transposed: [R, T, M, B]."""
        return self.rows[:, :, self.n_anomaly :].mT.contiguous()

    @cached_property
    def column_mask(self) -> Tensor:
        """[R, T, M], 0 for columns that are 0 in all rows of the task, padding and constant ones, else 1."""
        return self.rows.any(2).to(self.rows.dtype)

    @cached_property
    def n_columns(self) -> Tensor:
        """Number of columns without padding: [R, T, 1]."""
        return self.column_mask.sum(-1, keepdim=True).clamp_min(1)

    @cached_property
    def has_single_columns(self) -> bool:
        """Whether any of the tasks has one column only; on a GPU always true, as a recorded step cannot ask."""
        return self.rows.is_cuda or bool((self.n_columns == 1).any())

    @cached_property
    def center(self) -> Tensor:
        """The mean of the normal rows: [R, T, M, 1]."""
        return self.normal.mean(2).unsqueeze(-1)

    @cached_property
    def scaled_rows(self) -> tuple[Tensor, Tensor]:
        """Rows divided by the number of columns, for mean products: the labelled ones from the origin, [R, T, K, M],
        and all of them from the centre, [R, T, L, M]."""
        n_columns = self.n_columns.unsqueeze(-1)
        return self.rows[:, :, : self.n_labelled] / n_columns, (self.rows - self.center.mT) / n_columns

    @cached_property
    def squared_lengths(self) -> Tensor:
        """Mean squares of all rows, relative to the centre: [R, T, L, 1]."""
        return self.leave_one_out.lengths[1].square().unsqueeze(3)

    @cached_property
    def support_lengths(self) -> Tensor:
        """Lengths of the labelled rows, from the origin and from the centre: [R, 2, T, K, 1]."""
        return self.leave_one_out.both_lengths[..., : self.n_labelled].unsqueeze(-1)

    @cached_property
    def others(self) -> Tensor:
        """[K, L], 0 where a labelled row meets itself, else 1."""
        return self.rows.new_ones(self.n_labelled, self.rows.shape[2]).fill_diagonal_(0)

    @cached_property
    def leave_one_out(self) -> "LeaveOneOutView":
        """All rows of the tasks, each related to the others."""
        view = LongLeaveOneOutView if self._is_long else LeaveOneOutView
        return view(self, self.rows.mT.contiguous())

    def forget_leave_one_out(self) -> None:
        """Let go of what was computed of all rows: it refers to this context, so that only a search would free both."""
        del self.__dict__["leave_one_out"]

    @property
    def _is_long(self) -> bool:
        """Whether it is one task with so many background rows that distances to them are computed in place."""
        is_one = self.rows.shape[:2] == (1, 1) and self.n_background >= MIN_LONG_BACKGROUND
        return is_one and not (torch.is_grad_enabled() or self.rows.is_cuda or self.has_single_columns)

    @cached_property
    def support_leave_one_out(self) -> "LeaveOneOutView":
        """The labelled rows, each related to the others."""
        if self.unlabelled is None:
            return self.leave_one_out
        return LeaveOneOutView(self, self.rows[:, :, : self.n_labelled].mT.contiguous())

    def of_columns(self, columns: Tensor) -> "TaskContext":
        """The same rows with some of their columns. columns: [n], indices."""
        normal, anomaly = (part.index_select(3, columns) for part in (self.normal, self.anomaly))
        return TaskContext(normal, anomaly, None if self.unlabelled is None else self.unlabelled[..., columns])

    def query(self, x: Tensor) -> "QueryView":
        """Rows that are not of the task's own. x: [R, T, N, M]."""
        return QueryView(self, x.clamp(-MAX_ABS_VALUE, MAX_ABS_VALUE).mT.contiguous())

    @cached_property
    def mean_anomaly(self) -> Tensor:
        """The mean of the anomalies, or the centre where there is none: [R, T, M, 1]."""
        return self.center if self.n_anomaly == 0 else self.anomaly.mean(2).unsqueeze(-1)

    @cached_property
    def other_mean_anomaly(self) -> Tensor:
        """For each anomaly, the mean of the others, or the centre where there is none: [R, T, M, N_A]."""
        if self.n_anomaly <= 1:
            return self.center[..., : self.n_anomaly]
        others = self.others[: self.n_anomaly, : self.n_anomaly]
        return self.anomaly.mT @ (others / (self.n_anomaly - 1))

    @cached_property
    def anomaly_direction(self) -> Tensor:
        """From the centre to the mean anomaly; the mean product with it is a length. [R, T, M, 1]."""
        return self._unit_direction(self.mean_anomaly)

    @cached_property
    def other_anomaly_direction(self) -> Tensor:
        """The same for each anomaly without itself: [R, T, M, N_A]."""
        return self._unit_direction(self.other_mean_anomaly)

    def _unit_direction(self, anomaly: Tensor) -> Tensor:
        direction, n_columns = anomaly - self.center, self.n_columns.unsqueeze(-1)
        length = (direction.square().sum(2, keepdim=True) / n_columns + MIN_SQUARE).sqrt()
        return direction / (length * n_columns)

    @cached_property
    def bandwidth(self) -> Tensor:
        """Median nearest-neighbour distance of the background rows, 1 where there is only one: [R, T, 1]."""
        if self.n_background == 1:
            return torch.ones_like(self.n_columns)
        nearest = self.leave_one_out.nearest_background[..., self.n_anomaly :]
        return nearest.median(-1, keepdim=True).values.clamp(MIN_BANDWIDTH, MAX_ABS_VALUE)

    @cached_property
    def background_features(self) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of the background's own row features by leave-one-out: [R, T, 11, 1] each."""
        features = self.leave_one_out.log_row_features[..., self.n_anomaly :]
        variance, mean = torch.var_mean(features, dim=-1, correction=0, keepdim=True)
        return mean, (variance + MIN_FEATURE_SPREAD**2).sqrt()

    def task_features(self, has_anomaly: Tensor) -> Tensor:
        """What is the same for all rows: log numbers of background rows and columns, the share of anomalies among the
        labelled rows, whether a row is related to any anomaly, and the log number of normal rows.
        has_anomaly: [N] -> [R, T, 5, N]."""
        n_columns = (self.n_columns.log() / 5).expand(-1, -1, len(has_anomaly))
        log_size = torch.full_like(n_columns, self.log_size)
        share = torch.full_like(n_columns, self.n_anomaly / self.n_labelled)
        log_normal = torch.full_like(n_columns, math.log(self.normal.shape[2]) / 5)
        return torch.stack([log_size, n_columns, share, has_anomaly.expand_as(n_columns), log_normal], dim=2)


@dataclass(frozen=True, eq=False)
class RowView(ABC):
    """Rows in relation to the context of their task. x: [R, T, M, N], within ±MAX_ABS_VALUE."""

    context: TaskContext
    x: Tensor

    @abstractmethod
    def count(self, rows: slice) -> Tensor | int:
        """To how many of these context rows each row is related: [N], or the same number for all."""

    @abstractmethod
    def hidden(self, distances: Tensor) -> Tensor:
        """Distances to context rows, with BEYOND_ALL where a row is not related to one: [R, T, ., N]."""

    @abstractmethod
    def mean(self, rows: slice) -> Tensor:
        """Mean distance to the context rows that a row is related to, 0 where there is none: [R, T, N]."""

    @abstractmethod
    def along_anomaly_direction(self) -> Tensor:
        """How far from the centre towards the mean of the anomalies, as a length; 0 where there is none: [R, T, N]."""

    def minimum(self, rows: slice) -> Tensor:
        """Smallest distance to the context rows that a row is related to, 0 where there is none: [R, T, N]."""
        return self._where_any(self.distances[:, :, rows].amin(2), rows)

    def _where_any(self, values: Tensor, rows: slice) -> Tensor:
        """Values of rows that are related to any of these context rows, 0 for the others: [R, T, N]."""
        return values if self._are_several(rows) else values * self.count(rows)

    def divisor(self, rows: slice) -> Tensor | int:
        """To how many of these context rows each row is related, 1 where there is none."""
        count = self.count(rows)
        if isinstance(count, int):
            return max(count, 1)
        return count if self._are_several(rows) else count.clamp_min(1)

    def _are_several(self, rows: slice) -> bool:
        """Whether every row is related to some of these context rows, as it leaves out itself at most."""
        return len(range(*rows.indices(self.context.rows.shape[2]))) > 1

    @cached_property
    def centered(self) -> Tensor:
        """Relative to the mean of the normal rows: [R, T, M, N]."""
        return self.x - self.context.center

    @cached_property
    def both_lengths(self) -> Tensor:
        """Root mean squares over the columns, from the origin and from the centre: [R, 2, T, N]."""
        squares = torch.stack([self.x, self.centered], dim=1).square().sum(3)
        return (squares / self.context.n_columns.unsqueeze(1) + MIN_SQUARE).sqrt()

    @cached_property
    def lengths(self) -> tuple[Tensor, Tensor]:
        """The same: [R, T, N] each."""
        from_origin, from_center = self.both_lengths.unbind(1)
        return from_origin, from_center

    def related(self, values: Tensor) -> Tensor:
        """Of values for all context rows, [R, T, L, .], those of `products` and `squared_distances`: all of them."""
        return values

    @cached_property
    def products(self) -> tuple[Tensor, Tensor]:
        """Mean products: with labelled rows from the origin, [R, T, K, N]; with all from the centre, [R, T, L, N]."""
        support, others = self.context.scaled_rows
        return support @ self.x, self.related(others) @ self.centered

    @cached_property
    def squared_distances(self) -> Tensor:
        """Mean squared differences from all context rows: [R, T, L, N]."""
        squares = self.lengths[1].square().unsqueeze(2) + self.related(self.context.squared_lengths)
        distances = torch.add(squares - MIN_SQUARE, self.products[1], alpha=-2)
        # Equal rows have a distance of MIN_SQUARE, not what rounding leaves of the difference of large numbers.
        distances = distances.masked_fill(distances < ROUNDING_SHARE * squares, MIN_SQUARE)
        if not self.context.has_single_columns:
            return distances
        return torch.where(self.context.n_columns.unsqueeze(-1) == 1, self._single_column_distances(), distances)

    def _single_column_distances(self) -> Tensor:
        """The same for tasks of one column, of which many rows lie so near that products leave rounding errors only."""
        mask = self.context.column_mask.unsqueeze(-1)
        values, padding = (self.x * mask).sum(2, keepdim=True), (self.x * (1 - mask)).square().sum(2, keepdim=True)
        return (self.context.rows.sum(-1, keepdim=True) - values).square() + padding + MIN_SQUARE

    @cached_property
    def distances(self) -> Tensor:
        """To all context rows, BEYOND_ALL where a row is not related to one: [R, T, L, N]."""
        return self.hidden(self.squared_distances.sqrt())

    @cached_property
    def nearest_background(self) -> Tensor:
        """Distance to the nearest background row: [R, T, N]."""
        return self.minimum(slice(self.context.n_anomaly, None)).clamp_max(MAX_ABS_VALUE)

    def pair_features(self) -> Tensor:
        """Every row with every labelled row that it is related to: [R, 7, T, K, N].

        Cosine from both origins; distance; inner product and the row's length, from both origins. What depends on the
        labelled row alone, its lengths and its label, is added by the describer and makes it ten.
        """
        n_labelled, lengths = self.context.n_labelled, self.both_lengths.unsqueeze(3)
        products = torch.stack([self.products[0], self.products[1][:, :, :n_labelled]], dim=1)
        cosines = products / (lengths * self.context.support_lengths)
        rest = [self.distances[:, None, :, :n_labelled], products, lengths.expand_as(products)]
        return torch.cat([cosines, signed_log1p(torch.cat(rest, dim=1))], dim=1)

    @cached_property
    def row_features(self) -> Tensor:
        """[R, T, 11, N]: distance to the nearest normal row and mean distance to all of them; distance to the nearest
        anomaly and the ratio of the two; lengths; length along the anomaly direction; distances to the background."""
        nearest = self.nearest_background  # the normal rows, if there are no others
        if self.context.unlabelled is not None:
            nearest = self.minimum(self.context.normal_rows).clamp_max(MAX_ABS_VALUE)
        features = [
            nearest,
            self.mean_to_normal,
            *self._anomaly_features(nearest),
            *self.lengths,
            self.along_anomaly_direction(),
        ]
        return torch.stack([*features, *self._background_distances()], dim=2)

    @cached_property
    def mean_to_normal(self) -> Tensor:
        """Mean distance to the normal rows: [R, T, N]."""
        return self.mean(self.context.normal_rows)

    @cached_property
    def log_row_features(self) -> Tensor:
        """Row features on a log scale: [R, T, 11, N]."""
        return signed_log1p(self.row_features)

    def standardised_row_features(self) -> Tensor:
        """Row features on a log scale, and the same standardised by those of the background: [R, T, 22, N].

        A single background row tells nothing of their spread: the standardised ones are then 0.
        """
        features = self.log_row_features
        if self.context.n_background == 1:
            return torch.cat([features, torch.zeros_like(features)], dim=2)
        mean, spread = self.context.background_features
        return torch.cat([features, signed_log1p((features - mean) / spread)], dim=2)

    def _anomaly_features(self, nearest_normal: Tensor) -> tuple[Tensor, Tensor]:
        """Distance to the nearest anomaly, and how many times nearer that is than a normal row; 0 without anomalies."""
        rows = slice(0, self.context.n_anomaly)
        if self.context.n_anomaly == 0:
            return torch.zeros_like(nearest_normal), torch.zeros_like(nearest_normal)
        nearest = self.minimum(rows)
        return nearest, self._where_any(nearest_normal / (nearest + MIN_RATIO_DISTANCE), rows)

    def _background_distances(self) -> list[Tensor]:
        """Distance to the nearest background row, two soft minima of the distances to all, and the mean distance to the
        N_NEIGHBOURS nearest, in bandwidths. All are 0 without other rows.

        Soft minima: −log of the mean of exp(−d/h), and a quarter of the same for 4d.
        """
        rows, bandwidth = slice(self.context.n_anomaly, None), self.context.bandwidth
        nearest, count = self.nearest_background / bandwidth, self.divisor(rows)
        distance = self.distances[:, :, rows] / bandwidth.unsqueeze(-1)
        closeness = (nearest.unsqueeze(2) - distance).exp()  # never above 1
        soft = []
        for part, power in ((closeness, 1), (closeness.square().square(), 4)):
            mean = part.sum(2).clamp_min(MIN_SQUARE) / count
            soft.append(self._where_any(nearest.sub(mean.log(), alpha=1 / power), rows))
        return [nearest, *soft, self._neighbour_distance(rows) / bandwidth]

    def _neighbour_distance(self, rows: slice) -> Tensor:
        """Mean distance to the N_NEIGHBOURS nearest of the background rows: [R, T, N]."""
        if self.context.n_background > N_NEIGHBOURS:
            return self.distances[:, :, rows].topk(N_NEIGHBOURS, 2, largest=False, sorted=False).values.mean(2)
        return self.mean_to_normal if self.context.unlabelled is None else self.mean(rows)


@dataclass(frozen=True, eq=False)
class QueryView(RowView):
    """Rows that are not part of the context: each is related to all of it."""

    def count(self, rows: slice) -> int:
        """All of them."""
        return len(range(*rows.indices(self.context.rows.shape[2])))

    def hidden(self, distances: Tensor) -> Tensor:
        """None is hidden."""
        return distances

    def mean(self, rows: slice) -> Tensor:
        """Of all distances."""
        return self.distances[:, :, rows].mean(2)

    def along_anomaly_direction(self) -> Tensor:
        """Towards the mean of all anomalies."""
        return (self.context.anomaly_direction.mT @ self.centered).squeeze(2)


@dataclass(frozen=True, eq=False)
class LeaveOneOutView(RowView):
    """The first N rows of the context itself: each is related to all others."""

    def count(self, rows: slice) -> Tensor:
        """All but the row itself."""
        first, end, _ = rows.indices(self.context.rows.shape[2])
        if (first, end) not in self._counts:
            count = self.x.new_full((self.x.shape[-1],), end - first)
            count[first:end].sub_(1)
            self._counts[first, end] = count
        return self._counts[first, end]

    @cached_property
    def _counts(self) -> dict[tuple[int, int], Tensor]:
        """Those that are known, by the first row and the end."""
        return {}

    def hidden(self, distances: Tensor) -> Tensor:
        """Only the row itself is hidden."""
        diagonal = distances.new_full((*distances.shape[:2], min(distances.shape[2:])), BEYOND_ALL)
        return torch.diagonal_scatter(distances, diagonal, dim1=2, dim2=3)

    def mean(self, rows: slice) -> Tensor:
        """Of those that are not hidden."""
        distances = self.distances[:, :, rows]
        return distances.masked_fill(distances == BEYOND_ALL, 0.0).sum(2) / self.divisor(rows)

    def along_anomaly_direction(self) -> Tensor:
        """For an anomaly, towards the mean of the other ones."""
        context, n_anomaly = self.context, self.context.n_anomaly
        shared = (context.anomaly_direction.mT @ self.centered).squeeze(2)
        if n_anomaly <= 1:
            return self._where_any(shared, slice(0, n_anomaly))
        own = (context.other_anomaly_direction * self.centered[..., :n_anomaly]).sum(2)
        return torch.cat([own, shared[..., n_anomaly:]], dim=-1)


@dataclass(frozen=True, eq=False)
class LongLeaveOneOutView(LeaveOneOutView):
    """All rows of one task with a long background, without gradients; see `TaskContext`."""

    def related(self, values: Tensor) -> Tensor:
        """Those of the labelled rows: distances to the background are computed apart."""
        return values[:, :, : self.context.n_labelled]

    @cached_property
    def _chunks(self) -> list[Tensor]:
        """Distances to the background, some rows at a time, [n, B]: the nearest first, infinite to the row itself."""
        context, chunks = self.context, []
        background = context.scaled_rows[1][0, 0, context.n_anomaly :].T.contiguous()
        squares = context.squared_lengths[0, 0]
        others, step = squares[context.n_anomaly :, 0], max(CHUNK_DISTANCES // context.n_background, 1)
        for start in range(0, len(squares), step):
            rows, own = self.centered[0, 0, :, start : start + step].T, squares[start : start + step]
            squared = torch.addmm(others - MIN_SQUARE, rows, background, alpha=-2).add_(own)
            squared.diagonal(start - context.n_anomaly).fill_(math.inf)
            chunks.append(nearest_first(squared, own, others))
        return chunks

    @cached_property
    def nearest_background(self) -> Tensor:
        """Distance to the nearest background row: [1, 1, N]."""
        nearest = torch.cat([distance[:, :N_NEIGHBOURS].amin(1) for distance in self._chunks])
        return nearest.clamp_max_(MAX_ABS_VALUE)[None, None]

    def _background_distances(self) -> list[Tensor]:
        """The same, in the place of the distances."""
        bandwidth, count = float(self.context.bandwidth), self.count(slice(self.context.n_anomaly, None))
        out = count.new_empty(4, len(count))
        out[0] = self.nearest_background[0, 0]
        start = 0
        for distance in self._chunks:
            own = slice(start, start := start + len(distance))
            torch.mean(distance[:, :N_NEIGHBOURS], 1, out=out[3, own]).div_(bandwidth)
            fill_soft_minima(distance, 1, bandwidth, count[own], out[:3, own])
        del self.__dict__["_chunks"]
        return list(out[:, None, None])
