"""`svdd`, `ssvdd`, `deepsad`, `proto`, `r2d2`: one network embeds the rows of every task alike."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from array_api_compat import device

from oddshot.methods.contract import Method, Score, Weight, mean_of_rows, network_weights
from oddshot.methods.hyperparameters import require_at_least, require_dropout, require_one_of, require_positive
from oddshot.methods.scores import Distance, Linear, shared_distance
from oddshot.score.arrays import Array, float64, namespace
from oddshot.score.networks import mlp
from oddshot.score.projection import solve_ridge
from oddshot.score.rows import LabelledRows

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
    has_biases: ClassVar[bool] = True

    @classmethod
    def weights_of(cls, n_attributes: int, config: Any) -> dict[str, Weight]:
        """Those of φ."""
        return network_weights("phi", [n_attributes] + [config.units] * (config.layers - 1), cls.has_biases)


class Centered(Embedding):
    """Scores a row by its distance from the centre c: a(x) = ‖φ(x) − c‖². The support is ignored."""

    has_biases = False  # or φ could map every row to the centre (hypersphere collapse)

    @classmethod
    def weights_of(cls, n_attributes: int, config: Any) -> dict[str, Weight]:
        """φ and c."""
        center = Weight((config.units,), 0.0, is_learned=False)
        return {"center": center, **super().weights_of(n_attributes, config)}

    def center_of(self, support: LabelledRows, normal: Array) -> Array | None:
        """The mean embedding of training normals at the initial weights."""
        return mean_of_rows(mlp(normal, self.layers("phi")))

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """The same score for every task."""
        return self.shared_score()

    def shared_score(self) -> Distance:
        """‖φ(x) − c‖² with the weights that all tasks share."""
        return shared_distance(self.layers("phi"), self.weights["center"], self.drop)


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

    def loss(self, support: LabelledRows, query: LabelledRows, unlabelled: Array | None = None) -> Array:
        """[...], the mean squared distance of normal rows from the centre."""
        xp, normal = namespace(support.normal), support.normal
        if self.config.rows == "episode":
            normal = xp.concat([normal, query.normal], axis=-2)
        return xp.mean(self.shared_score()(normal), axis=-1)


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

    def loss(self, support: LabelledRows, query: LabelledRows, unlabelled: Array | None = None) -> Array:
        """[...], mean over all rows of the episode: d of a normal row, η / d of an anomaly, with d = ‖φ(x) − c‖²."""
        xp, score = namespace(support.normal), self.shared_score()
        normal, anomaly = (score(xp.concat(list(rows), axis=-2)) for rows in zip(support, query, strict=True))
        return xp.mean(xp.concat([normal, self.config.eta / (anomaly + MIN_DISTANCE)], axis=-1), axis=-1)


class Proto(Embedding):
    """Prototypical networks (Snell et al., 2017): ‖z − m_N‖² − ‖z − m_A‖², the logit of the anomaly's probability."""

    name = "proto"

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Linear:
        """m_N, m_A: the mean embeddings of the normal and of the anomalous support rows."""
        self.check_support(support, anomaly=1)
        xp, phi = namespace(support.normal), self.layers("phi")
        z = float64(mlp(support.joined(), phi, drop=self.drop))
        m_N, m_A = (xp.mean(rows, axis=-2) for rows in (z[..., : support.n_normal, :], z[..., support.n_normal :, :]))
        # NOTE[PAPER] whether the AUC is of the probability or of its logit is not stated: of the logit.
        # The squares of z cancel: the score is 2 (m_A − m_N)ᵀ z + ‖m_N‖² − ‖m_A‖².
        offset = xp.sum((m_N - m_A) * (m_N + m_A), axis=-1, keepdims=True)
        return Linear.of(phi, 2 * (m_A - m_N), offset, self.drop)


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

    @classmethod
    def weights_of(cls, n_attributes: int, config: Any) -> dict[str, Weight]:
        """φ, λ and the scale."""
        # NOTE[PAPER] its authors learn a bias of the output too; it cancels in the AUC and has no gradient.
        numbers = {"log_ridge": Weight((), math.log(config.ridge)), "log_scale": Weight((), math.log(config.scale))}
        return {**numbers, **super().weights_of(n_attributes, config)}

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Linear:
        """Ridge regression of −1 (normal) and 1 (anomaly) on the embedding."""
        self.check_support(support, anomaly=1)
        # NOTE[PAPER] no constant joins the embedding: it validates worse, and the network has biases of its own.
        xp, phi = namespace(support.normal), self.layers("phi")
        z = float64(mlp(support.joined(), phi, drop=self.drop))
        place = xp.arange(z.shape[-2], device=device(z))
        target = xp.where(place < support.n_normal, -xp.ones_like(z[..., 0]), xp.ones_like(z[..., 0]))
        ridge, scale = (xp.exp(float64(self.weights[name])) for name in ("log_ridge", "log_scale"))
        if z.ndim > ridge.ndim + 2:  # tasks
            ridge, scale = ridge[..., None], scale[..., None]
        w = solve_ridge(z, target, self.config.ridge_floor + ridge) * scale[..., None]
        return Linear.of(phi, w, xp.zeros_like(w[..., :1]), self.drop)
