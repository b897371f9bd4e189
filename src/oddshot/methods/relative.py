"""`relative`: the proposed method on rows described by their relation to the task's own rows, not by their attributes.

No weight depends on the number of attributes, so one model serves tables of any width.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from oddshot.methods.contract import Distance, Rows
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.methods.settings import require_at_least
from oddshot.model.networks import Network
from oddshot.model.relations import LARGEST, N_COLUMN, N_FACT, N_FIGURE, N_PAIR, Hidden, Relations

HIDDEN_SHARE = 4  # every fourth task of a training batch has its anomalies hidden: it learns to do without


@dataclass(frozen=True)
class RelativeConfig(EigenConfig):
    """Networks of the proposed method, narrower; pair_units, column_units: of those that describe a row."""

    units: int = 128
    dropout: float = 0.0
    pair_units: int = 64
    column_units: int = 24

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, pair_units=1, column_units=1)


@dataclass(frozen=True)
class RelativeScore:
    """Score function of an adapted task: rows are described, then scored as in the proposed method."""

    method: "Relative"
    relations: Relations
    distance: Distance

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M]. Returns [R, T, N] in float64."""
        return self.distance(self.method.describe(self.relations, x))

    def project(self, x: Tensor) -> Tensor:
        """Where rows lie in the projected space, seen from the centre (Fig. 2c). x: [R, T, N, M] -> [R, T, N, 1]."""
        return self.distance.project(self.method.describe(self.relations, x))

    @property
    def widest(self) -> int:
        """Numbers that the largest step of the description takes for one row."""
        config: RelativeConfig = self.method.config
        K, M = self.relations.support.shape[2:]
        return max(M * config.column_units, K * config.pair_units)


class Relative(Eigen):
    """Networks over pairs of rows and over columns describe a row; f, g, φ, c and η see the description."""

    name = "relative"
    config_type = RelativeConfig

    def __init__(self, n_attributes: int, config: RelativeConfig, replicas: int = 1) -> None:
        pair, column = config.pair_units, config.column_units
        super().__init__(3 * pair + 3 * column + 2 * N_FIGURE + N_FACT, config, replicas)
        self.n_attributes = n_attributes
        self.pair = Network([N_PAIR + 1, pair, pair], replicas=replicas)
        self.column = Network([N_COLUMN, column, column], replicas=replicas)
        self.attention = Network([3, 16, 1], replicas=replicas)
        self.imagined = nn.Parameter(torch.zeros(replicas, config.units))  # stands for the anomaly where none is known

    def initialise(self, generators: Sequence[torch.Generator]) -> None:
        """Initial weights, each replica from a generator of its own."""
        super().initialise(generators)
        with torch.no_grad():
            for replica, generator in zip(self.imagined, generators, strict=True):
                replica.copy_(torch.randn(replica.shape, generator=generator))

    def adapt(self, support: Rows) -> RelativeScore:
        """Describe the support, each row without itself, and solve Eq. 3 for the described rows."""
        return self.adapt_with(support, None)

    def adapt_with(self, support: Rows, unlabelled: Tensor | None) -> RelativeScore:
        """The same with unlabelled rows of each task beside its support: [R, T, u, M]."""
        self.check_support(support)
        relations = _relations(support, unlabelled)
        described = self.describe_support(relations)
        described_support = _split(described, support.normal.shape[2])
        return RelativeScore(self, relations, self.solve(described_support, self.imagined))

    def loss(self, support: Rows, query: Rows) -> Tensor:
        """[R], minus the smooth AUC of the queries, some tasks without their anomalies."""
        n_tasks = support.normal.shape[1]
        hidden = n_tasks // HIDDEN_SHARE
        with_anomaly, without = (Rows(*(part[:, cut] for part in support)) for cut in _cuts(hidden))
        queries, hidden_queries = (Rows(*(part[:, cut] for part in query)) for cut in _cuts(hidden))
        loss = super().loss(with_anomaly, queries)
        if hidden == 0:
            return loss
        hidden_loss = super().loss(Rows(without.normal, without.anomaly[:, :, :0]), hidden_queries)
        return (loss * (n_tasks - hidden) + hidden_loss * hidden) / n_tasks

    @torch.no_grad()
    def fix_center(self, support: Rows, normal: Tensor) -> None:
        """The mean embedding of training normals at the initial weights (Alg. 1, line 2)."""
        relations = _relations(support, None)
        described = self.describe_support(relations)
        super().fix_center(_split(described, support.normal.shape[2]), self.describe(relations, normal))

    def describe(self, relations: Relations, x: Tensor) -> Tensor:
        """x: [R, T, N, M] -> [R, T, N, D], whatever M is."""
        x = x.clamp(-LARGEST, LARGEST)
        return self._join(relations, x, None, relations.figures(x))

    def describe_support(self, relations: Relations) -> Tensor:
        """Every support row without itself: [R, T, K, D]."""
        hidden = relations.hidden_from_support()
        return self._join(relations, relations.support, hidden, relations.support_figures())

    def _join(self, relations: Relations, x: Tensor, hidden: Hidden | None, figures: Tensor) -> Tensor:
        parts = [*self._describe_pairs(relations, x, hidden), *self._describe_columns(relations, x, hidden)]
        return torch.cat([*parts, figures, relations.facts(hidden).expand(*x.shape[:3], -1)], dim=-1)

    def _describe_pairs(self, relations: Relations, x: Tensor, hidden: Hidden | None) -> list[Tensor]:
        """Mean over the normal rows seen, mean over the anomalies seen, largest over the normal rows."""
        n, K = relations.normal.shape[2], relations.support.shape[2]
        pairs = relations.pairs(x)
        label = (torch.arange(K, device=x.device) >= n).to(x.dtype)[:, None].expand(*pairs.shape[:-1], 1)
        out = torch.relu(_rowwise(self.pair, torch.cat([pairs, label], dim=-1)))
        seen = x.new_ones(1, K) if hidden is None else 1 - hidden.support
        out = out * seen[..., None]
        parts = [part.sum(-2) for part in (out[..., :n, :], out[..., n:, :])]
        counts = (seen[:, :n].sum(-1, keepdim=True), seen[:, n:].sum(-1, keepdim=True))
        return [part / count.clamp_min(1) for part, count in zip(parts, counts, strict=True)] + [
            out[..., :n, :].amax(-2)
        ]

    def _describe_columns(self, relations: Relations, x: Tensor, hidden: Hidden | None) -> list[Tensor]:
        """Mean and largest over the columns, and a mean weighted by how much each tells the anomalies."""
        alive = relations.alive[:, :, None]
        out = torch.relu(_rowwise(self.column, relations.columns(x, hidden))) * alive[..., None]
        weight = _rowwise(self.attention, relations.anomaly_columns(hidden)).squeeze(-1)
        weight = torch.where(alive > 0, weight, -LARGEST).softmax(-1)
        mean = out.sum(-2) / relations.width[..., None, None]
        return [mean, out.amax(-2), (weight.unsqueeze(-2) @ out).squeeze(-2)]


def _relations(support: Rows, unlabelled: Tensor | None) -> Relations:
    rows = (None if part is None else part.clamp(-LARGEST, LARGEST) for part in (*support, unlabelled))
    normal, anomaly, others = rows
    assert normal is not None
    assert anomaly is not None
    return Relations(normal, anomaly, others)


def _split(rows: Tensor, n_normal: int) -> Rows:
    return Rows(rows[:, :, :n_normal], rows[:, :, n_normal:])


def _cuts(hidden: int) -> tuple[slice, slice]:
    return slice(hidden, None), slice(None, hidden)


def _rowwise(network: Network, x: Tensor) -> Tensor:
    """A network over the last dimension. x: [R, T, N, K, in] -> [R, T, N, K, out]."""
    out: Tensor = network(x.flatten(2, 3)).unflatten(2, x.shape[2:4])
    return out
