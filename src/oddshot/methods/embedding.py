"""`svdd`, `ssvdd`, `deepsad`, `proto`, `r2d2`: one network embeds the rows of every task alike."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from oddshot.methods.contract import LabelledRows, Method, Score
from oddshot.methods.hyperparameters import require_at_least, require_dropout, require_one_of, require_positive
from oddshot.methods.scores import Distance, Linear
from oddshot.model.networks import Network
from oddshot.model.ridge import solve_ridge

MIN_DISTANCE = 1e-6  # Deep SAD's guard against the inverse of 0, its authors' value


@dataclass(frozen=True)
class EmbeddingConfig:
    """The paper's network (Sec. 4.3), the same as φ in the proposed method but for its input; layers as there."""

    units: int = 256
    layers: int = 4
    dropout: float = 0.1

    def __post_init__(self) -> None:
        require_at_least(self, units=1, layers=2)
        require_dropout(self)


class Embedding(Method):
    """A network φ that embeds rows of every task alike."""

    config_type: ClassVar[type] = EmbeddingConfig
    bias: ClassVar[bool] = True

    def __init__(self, n_attributes: int, config: EmbeddingConfig, replicas: int = 1) -> None:
        super().__init__(n_attributes, config, replicas)
        sizes = [n_attributes] + [config.units] * (config.layers - 1)
        self.phi = Network(sizes, replicas=replicas, bias=self.bias, dropout=config.dropout)


class Centered(Embedding):
    """Scores a row by its distance from the centre c: a(x) = ‖φ(x) − c‖². The support is ignored."""

    bias = False  # or φ could map every row to the centre (hypersphere collapse)

    def __init__(self, n_attributes: int, config: EmbeddingConfig, replicas: int = 1) -> None:
        super().__init__(n_attributes, config, replicas)
        self.center: Tensor
        self.register_buffer("center", torch.zeros(replicas, config.units))

    @torch.no_grad()
    def fix_center(self, support: LabelledRows, normal: Tensor) -> None:
        """The mean embedding of training normals at the initial weights."""
        self.center.copy_(self.phi(normal).mean((1, 2)))

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> Score:
        """The same score for every task."""
        return self.shared_score()

    def shared_score(self) -> Distance:
        """‖φ(x) − c‖² with the weights that all tasks share."""
        return Distance(self.phi, None, self.phi.last_weight.unsqueeze(1), self.center.unsqueeze(1).double())


@dataclass(frozen=True)
class SVDDConfig(EmbeddingConfig):
    """rows: which normal rows of an episode are gathered, the support's as in the paper or the queries' too."""

    rows: Literal["support", "episode"] = "support"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of(self, "rows", ("support", "episode"))


class SVDD(Centered):
    """Deep support vector data description (Ruff et al., 2018). One-class: anomalies are ignored, also in training."""

    name = "svdd"
    config_type = SVDDConfig

    def loss(self, support: LabelledRows, query: LabelledRows, unlabelled: Tensor | None = None) -> Tensor:
        """[R], the mean squared distance of normal rows from the centre."""
        normal = support.normal
        if self.config.rows == "episode":
            normal = torch.cat([normal, query.normal], dim=2)
        return self.shared_score()(normal).mean((1, 2))


class SSVDD(Centered):
    """Supervised SVDD: the distance from a centre, trained for the AUC on the labels of training tasks (Sec. 4.2)."""

    name = "ssvdd"


@dataclass(frozen=True)
class DeepSADConfig(EmbeddingConfig):
    """eta: weight of an anomaly's inverse distance against a normal row's distance; its authors' value."""

    eta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "eta")


class DeepSAD(Centered):
    """Deep SAD (Ruff et al., 2020): normal rows are gathered at a centre, anomalies of training tasks pushed away."""

    name = "deepsad"
    config_type = DeepSADConfig

    def loss(self, support: LabelledRows, query: LabelledRows, unlabelled: Tensor | None = None) -> Tensor:
        """[R], mean over all rows of the episode: d of a normal row, η / d of an anomaly, with d = ‖φ(x) − c‖²."""
        score = self.shared_score()
        normal, anomaly = (score(torch.cat(rows, dim=2)) for rows in zip(support, query, strict=True))
        terms = torch.cat([normal, self.config.eta / (anomaly + MIN_DISTANCE)], dim=2)
        return terms.mean((1, 2))


class Proto(Embedding):
    """Prototypical networks (Snell et al., 2017): ‖z − m_N‖² − ‖z − m_A‖², the logit of the anomaly's probability."""

    name = "proto"

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> Linear:
        """m_N, m_A: the mean embeddings of the normal and of the anomalous support rows."""
        self.check_support(support, anomaly=1)
        z = self.phi(support.joined()).double()
        n_normal = support.normal.shape[2]
        m_N, m_A = z[:, :, :n_normal].mean(2), z[:, :, n_normal:].mean(2)
        # NOTE[PAPER] whether the AUC is of the probability or of its logit is not stated: of the logit.
        # The squares of z cancel: the score is 2 (m_A − m_N)ᵀ z + ‖m_N‖² − ‖m_A‖².
        offset = (m_N - m_A) * (m_N + m_A)
        return Linear.of(self.phi, 2 * (m_A - m_N), offset.sum(-1, keepdim=True))


@dataclass(frozen=True)
class R2D2Config(EmbeddingConfig):
    """ridge: λ at the start of training, scale: what multiplies the ridge output at the start; both are learned."""

    ridge: float = 1.0
    ridge_floor: float = 1e-4
    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "ridge", "ridge_floor", "scale")


class R2D2(Embedding):
    """Ridge regression differentiable discriminator (Bertinetto et al., 2019): φ, λ and a scale are shared by all
    tasks; the last layer is solved for each task."""

    name = "r2d2"
    config_type = R2D2Config

    def __init__(self, n_attributes: int, config: R2D2Config, replicas: int = 1) -> None:
        super().__init__(n_attributes, config, replicas)
        self.log_ridge = nn.Parameter(torch.full((replicas,), math.log(config.ridge)))
        # NOTE[PAPER] its authors learn a bias of the output too; it cancels in the AUC and has no gradient.
        self.log_scale = nn.Parameter(torch.full((replicas,), math.log(config.scale)))

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> Linear:
        """Ridge regression of −1 (normal) and 1 (anomaly) on the embedding."""
        self.check_support(support, anomaly=1)
        # NOTE[PAPER] no constant joins the embedding: it validates worse, and the network has biases of its own.
        z = self.phi(support.joined()).double()
        target = z.new_ones(z.shape[2])
        target[: support.normal.shape[2]] = -1.0
        ridge = self.config.ridge_floor + self.log_ridge.double().exp()
        w = solve_ridge(z, target, ridge[:, None]) * self.log_scale.double().exp()[:, None, None]
        return Linear.of(self.phi, w, torch.zeros_like(w[..., :1]))
