"""Synthetic tasks of many kinds and widths, which the universal model learns from; no real table is behind them."""

import math

import torch
from torch import Tensor

from oddshot.methods.contract import LabelledRows

LATENT, CLUSTERS, HIDDEN = 12, 6, 24  # largest numbers of latent dimensions, clusters and hidden units of a task
LARGEST = 30.0  # z-scored values beyond are cut
WHOLE = 0.5  # share of the tasks that are scaled by all of their rows

# How the anomalies of a task differ from its normal rows, and how often.
KINDS = {
    "new cluster": 1.0,  # they gather somewhere else, far away
    "other cluster": 2.0,  # they gather where another cluster of normal rows could be
    "wider": 0.5,  # the same clusters, more spread out
    "pushed": 1.0,  # all pushed in one direction
    "few columns": 2.0,  # shifted in a few columns only
    "broken": 0.7,  # columns as usual, each for itself, but not together
    "anywhere": 0.3,  # uniform over the range
    "class": 4.0,  # another mean and spread in every column, or in some
}
# What becomes of a column at the end, in the tasks where any is changed, and how often.
COLUMNS = {"plain": 0.45, "skewed": 0.2, "rounded": 0.12, "two values": 0.08, "heavy tails": 0.09, "mostly zero": 0.06}
CHANGED = 0.7  # share of the tasks in which columns are changed
ALIKE = 0.3  # share of these in which all columns are changed in the same way, each way as often


class Prior:
    """Draws tasks with at most `width` columns; narrower ones are padded with columns of 0, as `relative` allows."""

    def __init__(self, width: int, generator: torch.Generator) -> None:
        self.width, self.generator, self.device = width, generator, generator.device

    def episodes(
        self,
        n_tasks: int,
        normal: int,
        anomaly: int,
        unlabelled: int,
        query_normal: int,
        query_anomaly: int,
        whole: float = WHOLE,
    ) -> tuple[LabelledRows, LabelledRows, Tensor | None]:
        """Support, query and unlabelled rows (None for 0 of them) of new tasks, z-scored: [1, T, n, M] each.

        whole: the share of the tasks that are scaled by all of their rows, not by those that the user has.
        """
        hidden = max(unlabelled // 2, 8)  # anomalies that may be among the unlabelled rows
        normals, anomalies, alive = self.tasks(
            n_tasks, normal + query_normal + unlabelled, anomaly + query_anomaly + hidden
        )
        support = LabelledRows(normals[:, :normal], anomalies[:, :anomaly])
        query = LabelledRows(
            normals[:, normal : normal + query_normal], anomalies[:, anomaly : anomaly + query_anomaly]
        )
        others = self._contaminated(normals[:, normal + query_normal :], anomalies[:, anomaly + query_anomaly :])
        seen = torch.cat([*support, others], dim=1)
        everyone = torch.cat([normals, anomalies[:, : max(1, anomalies.shape[1] // 4)]], dim=1)
        mean, spread = self._scale(seen, everyone, whole)

        def scaled(rows: Tensor) -> Tensor:
            return (((rows - mean) / spread).clamp(-LARGEST, LARGEST) * alive).unsqueeze(0)

        support, query = (LabelledRows(*(scaled(rows) for rows in part)) for part in (support, query))
        return support, query, scaled(others) if unlabelled else None

    def tasks(self, n_tasks: int, n_normal: int, n_anomaly: int) -> tuple[Tensor, Tensor, Tensor]:
        """Normal rows [T, n, M] and anomalous ones [T, a, M], not scaled, and which columns exist [T, 1, M]."""
        T, M = n_tasks, self.width
        width = torch.exp(self._uniform(math.log(min(2, M)), math.log(M), T, 1)).round()
        alive = (torch.arange(M, device=self.device) < width).float().unsqueeze(1)
        kind = self._choose(list(KINDS.values()), T, 1, 1)
        n_latent = torch.ceil(width.clamp_max(LATENT) * self._random(T, 1)).clamp_min(1)
        normal, anomaly = self._latent_rows(kind, n_normal, n_anomaly)
        latent = torch.cat([normal, anomaly], dim=1)
        latent = latent * (torch.arange(LATENT, device=self.device) < n_latent).float().unsqueeze(1)
        x = self._to_columns(latent, n_latent)
        spread = x[:, :n_normal].std(1, keepdim=True) + 1e-3
        noise = torch.exp(0.8 * self._normal(T, 1, M) + 0.7 * self._normal(T, 1, 1) - 1.5)
        x = x / spread + noise * self._normal(*x.shape)
        normal, anomaly = x[:, :n_normal], x[:, n_normal:]
        anomaly = self._changed_in_columns(kind, normal, anomaly, width)
        x = self._transformed(torch.cat([normal, anomaly], dim=1)) * alive
        return x[:, :n_normal], x[:, n_normal:], alive

    def _latent_rows(self, kind: Tensor, n_normal: int, n_anomaly: int) -> tuple[Tensor, Tensor]:
        """LabelledRows of clusters in a latent space, [T, n, LATENT] and [T, a, LATENT]."""
        T = len(kind)
        n_clusters = 1 + torch.floor(self._random(T, 1) * (CLUSTERS - 1))
        exists = (torch.arange(CLUSTERS, device=self.device) < n_clusters).float()
        weight = exists * (0.1 + self._random(T, CLUSTERS))
        apart = self._uniform(0, 3, T, 1, 1)
        mean = self._normal(T, CLUSTERS, LATENT) * apart
        spread = torch.exp(0.5 * self._normal(T, CLUSTERS, LATENT) + 0.5 * self._normal(T, CLUSTERS, 1))
        heavy = self._random(T, 1, 1) < 0.25

        def noise(n: int) -> Tensor:
            normal = self._normal(T, n, LATENT)
            tail = (self._normal(T, n, 4).square().mean(-1, keepdim=True) + 1e-2).sqrt()
            return torch.where(heavy, normal / tail, normal)

        def members(n: int) -> tuple[Tensor, Tensor]:
            chosen = torch.multinomial(weight, n, replacement=True, generator=self.generator)
            chosen = chosen.unsqueeze(-1).expand(-1, -1, LATENT)
            return mean.gather(1, chosen), spread.gather(1, chosen)

        center, width = members(n_normal)
        normal = center + width * noise(n_normal)
        center, width = members(n_anomaly)
        away, other_spread = (
            self._normal(T, 1, LATENT),
            torch.exp(0.5 * self._normal(T, 1, LATENT) + 0.5 * self._normal(T, 1, 1)),
        )
        drawn = noise(n_anomaly)
        by_kind = {
            "new cluster": away * self._uniform(0.5, 4, T, 1, 1) + other_spread * drawn,
            "other cluster": away * apart.clamp_min(0.5) + other_spread * drawn,
            "wider": center + self._uniform(1.5, 5, T, 1, 1) * width * drawn,
            "pushed": center + width * drawn + _unit(away) * self._uniform(0.5, 3, T, 1, 1),
        }
        return normal, self._of_kind(kind, by_kind, center + width * drawn)

    def _to_columns(self, latent: Tensor, n_latent: Tensor) -> Tensor:
        """Latent rows as columns: through a matrix, through a network, or each column one latent dimension."""
        T, M, scale = len(latent), self.width, n_latent.unsqueeze(-1).sqrt()
        linear = latent @ (self._normal(T, LATENT, M) / scale)
        hidden = latent @ (self._normal(T, LATENT, HIDDEN) / scale) + self._normal(T, 1, HIDDEN)
        hidden = torch.where(self._random(T, 1, 1) < 0.5, hidden.tanh(), hidden.relu())
        network = hidden @ (2 * self._normal(T, HIDDEN, M) / math.sqrt(HIDDEN))
        place = torch.floor(self._random(T, 1, M) * n_latent.unsqueeze(-1)).long().clamp_max(LATENT - 1)
        plain = latent.gather(2, place.expand(-1, latent.shape[1], -1))
        way = self._choose([0.4, 0.4, 0.2], T, 1, 1)
        return torch.where(way == 0, linear, torch.where(way == 1, network, plain))

    def _changed_in_columns(self, kind: Tensor, normal: Tensor, anomaly: Tensor, width: Tensor) -> Tensor:
        """The kinds of anomalies that are made column by column: [T, a, M]."""
        (T, n, M), a = normal.shape, anomaly.shape[1]
        columns = torch.arange(M, device=self.device)
        some = self._random(T, 1, M) < 0.5 * self._random(T, 1, 1).square()
        some = some | (columns == torch.floor(self._random(T, 1, 1) * width.unsqueeze(-1)))  # at least one
        same_sign = self._random(T, 1, 1) < 0.7
        sign = torch.where(same_sign, self._normal(T, 1, M).sign(), self._normal(T, a, M).sign())
        low, high = normal.amin(1, keepdim=True), normal.amax(1, keepdim=True)
        rows = torch.randint(0, n, (T, a, M), generator=self.generator, device=self.device)
        by_kind = {
            "few columns": torch.where(some, anomaly + sign * self._uniform(1, 6, T, 1, 1), anomaly),
            "broken": normal.gather(1, rows),
            "anywhere": low + (high - low) * (1.2 * self._random(T, a, M) - 0.1),
            "class": self._of_another_class(anomaly),
        }
        return self._of_kind(kind, by_kind, anomaly)

    def _of_another_class(self, anomaly: Tensor) -> Tensor:
        """Another mean and spread in every column, or in some; in some tasks not for all of the rows."""
        T, a, M = anomaly.shape
        tail = (self._normal(T, 1, M, 3).square().mean(-1) + 0.05).sqrt()
        touched = self._random(T, 1, M) < 0.05 + 0.6 * self._random(T, 1, 1)
        touched = touched | (self._random(T, 1, 1) < 0.5)
        effect = self._normal(T, 1, M) / tail * touched * torch.exp(self._uniform(math.log(0.3), math.log(3), T, 1, 1))
        ratio = torch.exp(0.3 * self._normal(T, 1, M) + self._uniform(-0.2, 0.7, T, 1, 1))
        concerned = (self._random(T, a, 1) < 0.7) | (self._random(T, 1, 1) < 0.6)
        return torch.where(concerned, anomaly * ratio + effect * self._uniform(0.3, 1.7, T, a, 1), anomaly)

    def _transformed(self, x: Tensor) -> Tensor:
        """Columns as tables have them: skewed, rounded, with two values, with heavy tails, mostly zero."""
        T, _, M = x.shape
        one_for_all, alike = self._choose([1.0] * len(COLUMNS), T, 1, 1), self._random(T, 1, 1) < ALIKE
        way = torch.where(alike, one_for_all, self._choose(list(COLUMNS.values()), T, 1, M))
        way = way * (self._random(T, 1, 1) < CHANGED)
        size = torch.exp(0.5 * self._normal(T, 1, M))
        by_way = {
            "skewed": (0.8 * size * x).clamp(-6, 6).exp(),
            "rounded": (x * size).round() / size,
            "two values": (x > self._normal(T, 1, M)).float(),
            "heavy tails": x * x.abs(),
            "mostly zero": (x - size + 0.5).relu(),
        }
        names = list(COLUMNS)
        for name, changed in by_way.items():
            x = torch.where(way == names.index(name), changed, x)
        return x

    def _contaminated(self, normal: Tensor, anomaly: Tensor) -> Tensor:
        """Unlabelled rows: mostly normal ones, up to 30 % of them anomalies. normal: [T, u, M] -> [T, u, M]."""
        T, u = normal.shape[:2]
        k = min(u, anomaly.shape[1])
        share = 0.3 * self._random(T, 1, 1) * (self._random(T, 1, 1) < 0.8)
        hidden = self._random(T, k, 1) < (2 * share).clamp_max(0.9)  # of half of the rows
        return torch.cat([torch.where(hidden, anomaly[:, :k], normal[:, :k]), normal[:, k:]], dim=1)

    def _scale(self, seen: Tensor, everyone: Tensor, share: float) -> tuple[Tensor, Tensor]:
        """Mean and spread to z-score with, [T, 1, M] each: of what the user has, or of the whole population."""
        whole = self._random(len(seen), 1, 1) < share
        mean = torch.where(whole, everyone.mean(1, keepdim=True), seen.mean(1, keepdim=True))
        spread = torch.where(whole, everyone.std(1, keepdim=True), seen.std(1, keepdim=True, correction=0))
        return mean, torch.where(spread > 1e-4, spread, 1.0)

    def _of_kind(self, kind: Tensor, by_kind: dict[str, Tensor], other: Tensor) -> Tensor:
        names = list(KINDS)
        for name, rows in by_kind.items():
            other = torch.where(kind == names.index(name), rows, other)
        return other

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, device=self.device)

    def _random(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.generator, device=self.device)

    def _uniform(self, low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * self._random(*shape)

    def _choose(self, weights: list[float], *shape: int) -> Tensor:
        """Numbers of the weights, drawn with their chances."""
        chances = torch.tensor(weights, device=self.device)
        n = math.prod(shape)
        return torch.multinomial(chances, n, replacement=True, generator=self.generator).reshape(shape)


def _unit(x: Tensor) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / length.clamp_min(1e-6)
