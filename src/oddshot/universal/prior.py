"""The distribution of synthetic tasks that the universal model is trained on; no real table is behind them."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from oddshot.score.arrays import Array
from oddshot.score.rows import LabelledRows

MAX_LATENT_DIMS, MAX_CLUSTERS = 12, 6  # of one task
N_HIDDEN_UNITS = 24  # of the random network that maps latent rows to columns
MAX_ABS_Z_SCORE = 30.0  # larger z-scored values are clipped
N_QUERY_NORMAL, N_QUERY_ANOMALY = 24, 12  # rows on which an adapted task is evaluated, in training and calibration
POPULATION_SCALED_SHARE = 0.1  # of the tasks: these are z-scored with the statistics of all of their rows
FAULT_CLUSTER_SHARE = 0.1  # of the tasks: their anomalies are repetitions of one fault, close to each other

# How the anomalies of a task differ from its normal rows, with relative frequencies.
ANOMALY_KINDS = {
    "distant cluster": 1.0,  # one cluster of their own, far from the normal rows
    "neighbouring cluster": 2.0,  # one cluster of their own, where another cluster of normal rows could be
    "wider spread": 0.5,  # the clusters of the normal rows with a larger spread
    "common shift": 1.0,  # all shifted in one direction of the latent space
    "few columns": 2.0,  # shifted in a few columns only
    "independent columns": 0.7,  # each column distributed as in normal rows, but independently of the others
    "uniform": 0.3,  # uniform over the range of each column
    "other class": 4.0,  # another mean and spread in all columns or in some
}
# The final transformation of a column, with relative frequencies, in those tasks where columns are transformed.
COLUMN_TRANSFORMATIONS = {
    "identity": 0.45,
    "skewed": 0.2,
    "rounded": 0.12,
    "binary": 0.08,
    "heavy tails": 0.09,
    "mostly zero": 0.06,
}
TRANSFORMED_SHARE = 0.7  # of the tasks: in these, columns are transformed
SAME_TRANSFORMATION_SHARE = 0.3  # of the tasks: one transformation, all equally likely, for all columns


class Contamination(NamedTuple):
    """The share of anomalies among the unlabelled rows of a task: `most` times a power of a uniform number, in this
    share of the tasks, 0 in the others."""

    most: float = 0.35
    power: float = 1.0
    share_of_tasks: float = 0.85


class SyntheticEpisodes(NamedTuple):
    """Episodes of T tasks, z-scored: support and query; unlabelled rows [1, T, u, M], or None if there are none, and
    which of them are anomalies, [T, u]."""

    support: LabelledRows
    query: LabelledRows
    unlabelled: Tensor | None
    is_anomaly: Tensor


def in_numpy(episodes: SyntheticEpisodes) -> tuple[LabelledRows, LabelledRows, Array | None]:
    """Support, query and unlabelled rows as a method adapts to them: [T, n, M] in NumPy."""
    support, query = (LabelledRows(*(rows[0].numpy() for rows in part)) for part in (episodes.support, episodes.query))
    return support, query, None if episodes.unlabelled is None else episodes.unlabelled[0].numpy()


class Prior:
    """Draws tasks with at most `width` columns.

    Narrower tasks are padded with columns of zeros, which do not change the scores of `relative`.
    """

    def __init__(self, width: int, generator: torch.Generator) -> None:
        self.width, self.generator, self.device = width, generator, generator.device

    def episodes(
        self,
        n_tasks: int,
        n_normal: int,
        n_anomaly: int,
        n_unlabelled: int,
        n_query_normal: int = N_QUERY_NORMAL,
        n_query_anomaly: int = N_QUERY_ANOMALY,
        population_scaled_share: float = POPULATION_SCALED_SHARE,
        contamination: Contamination | None = None,
    ) -> SyntheticEpisodes:
        """Episodes of new tasks.

        population_scaled_share: the share of the tasks that are z-scored with the statistics of all of their rows; the
        others use those of support and unlabelled rows only, as the detector does.
        """
        n_candidates = max(n_unlabelled // 2, 8)  # anomalies that may be mixed into the unlabelled rows
        normals, anomalies, column_exists = self.tasks(
            n_tasks, n_normal + n_query_normal + n_unlabelled, n_anomaly + n_query_anomaly + n_candidates
        )
        last_normal, last_anomaly = n_normal + n_query_normal, n_anomaly + n_query_anomaly
        support = LabelledRows(normals[:, :n_normal], anomalies[:, :n_anomaly])
        query = LabelledRows(normals[:, n_normal:last_normal], anomalies[:, n_anomaly:last_anomaly])
        unlabelled, is_anomaly = self._contaminated(
            normals[:, last_normal:], anomalies[:, last_anomaly:], contamination or Contamination()
        )
        given = torch.cat([*support, unlabelled], dim=1)
        population = torch.cat([normals, anomalies[:, : max(1, anomalies.shape[1] // 4)]], dim=1)
        mean, spread = self._scale(given, population, population_scaled_share)

        def scaled(rows: Tensor) -> Tensor:
            z_scores = ((rows - mean) / spread).clamp(-MAX_ABS_Z_SCORE, MAX_ABS_Z_SCORE)
            return (z_scores * column_exists).unsqueeze(0)

        support, query = (LabelledRows(*(scaled(rows) for rows in part)) for part in (support, query))
        return SyntheticEpisodes(support, query, scaled(unlabelled) if n_unlabelled else None, is_anomaly)

    def tasks(self, n_tasks: int, n_normal: int, n_anomaly: int) -> tuple[Tensor, Tensor, Tensor]:
        """Normal rows [T, n, M] and anomalies [T, a, M], not scaled, and 1 where a column exists, else 0: [T, 1, M]."""
        T, M = n_tasks, self.width
        width = torch.exp(self._uniform(math.log(min(2, M)), math.log(M), T, 1)).round()
        column_exists = (torch.arange(M, device=self.device) < width).float().unsqueeze(1)
        kind = self._choose(list(ANOMALY_KINDS.values()), T, 1, 1)
        n_latent = torch.ceil(width.clamp_max(MAX_LATENT_DIMS) * self._random(T, 1)).clamp_min(1)
        normal, anomaly = self._latent_rows(kind, n_normal, n_anomaly)
        latent = torch.cat([normal, anomaly], dim=1)
        latent = latent * (torch.arange(MAX_LATENT_DIMS, device=self.device) < n_latent).float().unsqueeze(1)
        x = self._to_columns(latent, n_latent)
        spread = x[:, :n_normal].std(1, keepdim=True) + 1e-3
        noise = torch.exp(0.8 * self._normal(T, 1, M) + 0.7 * self._normal(T, 1, 1) - 1.5)
        x = x / spread + noise * self._normal(*x.shape)
        normal, anomaly = x[:, :n_normal], x[:, n_normal:]
        anomaly = self._with_fault_clusters(self._with_column_anomalies(kind, normal, anomaly, width))
        x = self._transformed(torch.cat([normal, anomaly], dim=1)) * column_exists
        return x[:, :n_normal], x[:, n_normal:], column_exists

    def _latent_rows(self, kind: Tensor, n_normal: int, n_anomaly: int) -> tuple[Tensor, Tensor]:
        """Normal rows [T, n, L] of a mixture of clusters in a latent space of L dimensions, and anomalies [T, a, L].

        kind: [T, 1, 1], the index of each task's kind of anomalies.
        """
        T, L = len(kind), MAX_LATENT_DIMS
        n_clusters = 1 + torch.floor(self._random(T, 1) * (MAX_CLUSTERS - 1))
        exists = (torch.arange(MAX_CLUSTERS, device=self.device) < n_clusters).float()
        weight = exists * (0.1 + self._random(T, MAX_CLUSTERS))
        separation = self._uniform(0, 3, T, 1, 1)
        mean = self._normal(T, MAX_CLUSTERS, L) * separation
        spread = torch.exp(0.5 * self._normal(T, MAX_CLUSTERS, L) + 0.5 * self._normal(T, MAX_CLUSTERS, 1))
        is_heavy_tailed = self._random(T, 1, 1) < 0.25

        def noise(n: int) -> Tensor:
            gaussian = self._normal(T, n, L)
            divisor = (self._normal(T, n, 4).square().mean(-1, keepdim=True) + 1e-2).sqrt()
            return torch.where(is_heavy_tailed, gaussian / divisor, gaussian)

        def clusters(n: int) -> tuple[Tensor, Tensor]:
            """Mean and spread of a random cluster for each of n rows: [T, n, L] each."""
            chosen = torch.multinomial(weight, n, replacement=True, generator=self.generator)
            chosen = chosen.unsqueeze(-1).expand(-1, -1, L)
            return mean.gather(1, chosen), spread.gather(1, chosen)

        row_mean, row_spread = clusters(n_normal)
        normal = row_mean + row_spread * noise(n_normal)
        row_mean, row_spread = clusters(n_anomaly)
        direction = self._normal(T, 1, L)
        other_spread = torch.exp(0.5 * self._normal(T, 1, L) + 0.5 * self._normal(T, 1, 1))
        deviation = noise(n_anomaly)
        by_kind = {
            "distant cluster": direction * self._uniform(0.5, 4, T, 1, 1) + other_spread * deviation,
            "neighbouring cluster": direction * separation.clamp_min(0.5) + other_spread * deviation,
            "wider spread": row_mean + self._uniform(1.5, 5, T, 1, 1) * row_spread * deviation,
            "common shift": row_mean
            + row_spread * deviation
            + _to_unit_length(direction) * self._uniform(0.5, 3, T, 1, 1),
        }
        return normal, _select_by_name(kind, ANOMALY_KINDS, by_kind, row_mean + row_spread * deviation)

    def _to_columns(self, latent: Tensor, n_latent: Tensor) -> Tensor:
        """Map latent rows [T, n, L] to columns [T, n, M]: linearly, by a network, or one latent dimension a column.

        n_latent: [T, 1], the number of latent dimensions that each task uses.
        """
        T, M, scale = len(latent), self.width, n_latent.unsqueeze(-1).sqrt()
        linear = latent @ (self._normal(T, MAX_LATENT_DIMS, M) / scale)
        hidden = latent @ (self._normal(T, MAX_LATENT_DIMS, N_HIDDEN_UNITS) / scale)
        hidden = hidden + self._normal(T, 1, N_HIDDEN_UNITS)
        hidden = torch.where(self._random(T, 1, 1) < 0.5, hidden.tanh(), hidden.relu())
        network = hidden @ (2 * self._normal(T, N_HIDDEN_UNITS, M) / math.sqrt(N_HIDDEN_UNITS))
        dimension = torch.floor(self._random(T, 1, M) * n_latent.unsqueeze(-1)).long().clamp_max(MAX_LATENT_DIMS - 1)
        copied = latent.gather(2, dimension.expand(-1, latent.shape[1], -1))
        mapping = self._choose([0.4, 0.4, 0.2], T, 1, 1)
        return torch.where(mapping == 0, linear, torch.where(mapping == 1, network, copied))

    def _with_column_anomalies(self, kind: Tensor, normal: Tensor, anomaly: Tensor, width: Tensor) -> Tensor:
        """The anomalies [T, a, M], changed column by column in the tasks whose kind of anomalies is of that sort."""
        (T, n, M), a = normal.shape, anomaly.shape[1]
        columns = torch.arange(M, device=self.device)
        is_shifted = self._random(T, 1, M) < 0.5 * self._random(T, 1, 1).square()
        is_shifted = is_shifted | (columns == torch.floor(self._random(T, 1, 1) * width.unsqueeze(-1)))  # at least one
        same_sign = self._random(T, 1, 1) < 0.7
        sign = torch.where(same_sign, self._normal(T, 1, M).sign(), self._normal(T, a, M).sign())
        low, high = normal.amin(1, keepdim=True), normal.amax(1, keepdim=True)
        rows = torch.randint(0, n, (T, a, M), generator=self.generator, device=self.device)
        by_kind = {
            "few columns": torch.where(is_shifted, anomaly + sign * self._uniform(1, 6, T, 1, 1), anomaly),
            "independent columns": normal.gather(1, rows),
            "uniform": low + (high - low) * (1.2 * self._random(T, a, M) - 0.1),
            "other class": self._of_another_class(anomaly),
        }
        return _select_by_name(kind, ANOMALY_KINDS, by_kind, anomaly)

    def _with_fault_clusters(self, anomaly: Tensor) -> Tensor:
        """The anomalies [T, a, M], in some tasks drawn towards the first of them: repetitions of one fault."""
        T = len(anomaly)
        is_cluster = self._random(T, 1, 1) < FAULT_CLUSTER_SHARE
        spread = torch.exp(self._uniform(math.log(0.03), math.log(0.6), T, 1, 1))
        return torch.where(is_cluster, anomaly[:, :1] + spread * (anomaly - anomaly[:, :1]), anomaly)

    def _of_another_class(self, anomaly: Tensor) -> Tensor:
        """Rows [T, a, M] with another mean and spread in all columns or in some; in some tasks not in all rows."""
        T, a, M = anomaly.shape
        divisor = (self._normal(T, 1, M, 3).square().mean(-1) + 0.05).sqrt()
        is_affected = self._random(T, 1, M) < 0.05 + 0.6 * self._random(T, 1, 1)
        is_affected = is_affected | (self._random(T, 1, 1) < 0.5)
        effect = self._normal(T, 1, M) / divisor * is_affected
        effect = effect * torch.exp(self._uniform(math.log(0.3), math.log(3), T, 1, 1))
        ratio = torch.exp(0.3 * self._normal(T, 1, M) + self._uniform(-0.2, 0.7, T, 1, 1))
        is_changed_row = (self._random(T, a, 1) < 0.7) | (self._random(T, 1, 1) < 0.6)
        return torch.where(is_changed_row, anomaly * ratio + effect * self._uniform(0.3, 1.7, T, a, 1), anomaly)

    def _transformed(self, x: Tensor) -> Tensor:
        """Rows [T, n, M] with columns as real tables have them: skewed, rounded, binary, heavy-tailed, mostly zero."""
        T, _, M = x.shape
        shared, is_shared = (
            self._choose([1.0] * len(COLUMN_TRANSFORMATIONS), T, 1, 1),
            self._random(T, 1, 1) < SAME_TRANSFORMATION_SHARE,
        )
        chosen = torch.where(is_shared, shared, self._choose(list(COLUMN_TRANSFORMATIONS.values()), T, 1, M))
        chosen = chosen * (self._random(T, 1, 1) < TRANSFORMED_SHARE)  # 0 is the identity
        size = torch.exp(0.5 * self._normal(T, 1, M))
        by_transformation = {
            "skewed": (0.8 * size * x).clamp(-6, 6).exp(),
            "rounded": (x * size).round() / size,
            "binary": (x > self._normal(T, 1, M)).float(),
            "heavy tails": x * x.abs(),
            "mostly zero": (x - size + 0.5).relu(),
        }
        return _select_by_name(chosen, COLUMN_TRANSFORMATIONS, by_transformation, x)

    def _contaminated(self, normal: Tensor, anomaly: Tensor, contamination: Contamination) -> tuple[Tensor, Tensor]:
        """Unlabelled rows [T, u, M], normal ones of which a share is replaced by anomalies, and which are: [T, u]."""
        T, u = normal.shape[:2]
        k = min(u, anomaly.shape[1])  # only the first rows may be replaced, so these are so much more often
        share = contamination.most * self._random(T, 1) ** contamination.power
        share = share * (self._random(T, 1) < contamination.share_of_tasks)
        is_anomaly = self._random(T, k) < (share * (u / max(k, 1))).clamp_max(0.95)
        rows = torch.where(is_anomaly.unsqueeze(-1), anomaly[:, :k], normal[:, :k])
        return torch.cat([rows, normal[:, k:]], dim=1), torch.nn.functional.pad(is_anomaly, (0, u - k))

    def _scale(self, given: Tensor, population: Tensor, population_scaled_share: float) -> tuple[Tensor, Tensor]:
        """Mean and spread to z-score each task with, [T, 1, M] each: those of the rows given, or of all rows."""
        of_population = self._random(len(given), 1, 1) < population_scaled_share
        mean = torch.where(of_population, population.mean(1, keepdim=True), given.mean(1, keepdim=True))
        spread = torch.where(of_population, population.std(1, keepdim=True), given.std(1, keepdim=True, correction=0))
        return mean, torch.where(spread > 1e-4, spread, 1.0)

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, device=self.device)

    def _random(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.generator, device=self.device)

    def _uniform(self, low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * self._random(*shape)

    def _choose(self, weights: list[float], *shape: int) -> Tensor:
        """Random indices into the weights, with probabilities in proportion to them."""
        probabilities = torch.tensor(weights, device=self.device)
        n = math.prod(shape)
        return torch.multinomial(probabilities, n, replacement=True, generator=self.generator).reshape(shape)


def _select_by_name(
    chosen: Tensor, names: dict[str, float], alternatives: dict[str, Tensor], default: Tensor
) -> Tensor:
    """For each task or column, the alternative whose name has the chosen index; the default where there is none."""
    positions = list(names)
    for name, rows in alternatives.items():
        default = torch.where(chosen == positions.index(name), rows, default)
    return default


def _to_unit_length(x: Tensor) -> Tensor:
    length: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x / length.clamp_min(1e-6)
