"""`wonn`, `woproj`, `woanomaly`: the proposed method without its networks, its projection, its anomalies (Table 2)."""

import math
from dataclasses import dataclass
from typing import Any

from array_api_compat import device

from oddshot.methods.contract import Method, Score, Weight, mean_of_rows
from oddshot.methods.eigen import Eigen, EigenConfig, ProjectedDistance, Represented, RepresentedConfig
from oddshot.methods.hyperparameters import require_at_least, require_positive
from oddshot.methods.scores import NO_LAYERS, Distance, fold_last_layer
from oddshot.score.arrays import Array, float64, namespace, over_tasks
from oddshot.score.networks import mlp
from oddshot.score.projection import fit_normal_projection, fit_projection, solve_S_N, to_unit_length
from oddshot.score.rows import LabelledRows


@dataclass(frozen=True)
class WoNNConfig:
    """η at the start of training; it is all that is learned."""

    eta: float = 1.0
    eta_floor: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, "eta", "eta_floor")


class WoNN(Method):
    """Scores a row by its projected distance from the centre c, the mean of normal rows, on the raw attributes."""

    name = "wonn"
    config_type = WoNNConfig

    @classmethod
    def weights_of(cls, n_attributes: int, config: Any) -> dict[str, Weight]:
        """η and c."""
        center = Weight((n_attributes,), 0.0, is_learned=False)
        return {"log_eta": Weight((), math.log(config.eta)), "center": center}

    def center_of(self, support: LabelledRows, normal: Array) -> Array | None:
        """The mean of the normal rows."""
        return mean_of_rows(normal)

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Score:
        """Eq. 3 on the attributes themselves; without anomalies, the largest quotient that Eq. 3 can give each row."""
        xp, normal = namespace(support.normal), support.normal
        center = over_tasks(self.weights["center"][..., None, :], normal, 2)
        eta = self.config.eta_floor + xp.exp(float64(self.weights["log_eta"]))
        eta = eta[..., None] if normal.ndim > eta.ndim + 2 else eta
        if support.n_anomaly == 0:
            W = self._whiten(normal - center, eta)
            return WhitenedDistance(NO_LAYERS, None, xp.astype(W, normal.dtype), float64(center) @ W, None, center)
        w = fit_projection(normal - center, support.anomaly - center, eta)
        W = to_unit_length(w)[..., None]
        return Distance(NO_LAYERS, None, xp.astype(W, normal.dtype), float64(center) @ W)

    @staticmethod
    def _whiten(z_normal: Array, eta: Array) -> Array:
        """W with W Wᵀ = S_N⁻¹, so that ‖Wᵀ z‖² = max_w (wᵀz)² / wᵀ S_N w. z_normal: [..., n, M] -> [..., M, M]."""
        # NOTE[PAPER] not in the paper: each row is scored as if it were the labelled anomaly.
        xp, z = namespace(z_normal), float64(z_normal)
        identity = xp.eye(z.shape[-1], dtype=z.dtype, device=device(z))
        identity = xp.broadcast_to(identity, (*z.shape[:-2], *identity.shape))
        return xp.linalg.cholesky(solve_S_N(z, float64(eta), identity))


@dataclass(frozen=True)
class WhitenedDistance(Distance):
    """The whitened distance from the centre, [..., 1, M], of a support without anomalies."""

    center: Array = None

    def score_range(self, support: LabelledRows) -> tuple[Array, Array]:
        """0, and the score of a row four units away from the centre in every attribute."""
        xp = namespace(self.center)
        far = xp.broadcast_to(self.center + 4.0, (*support.normal.shape[:-2], 1, self.center.shape[-1]))
        high = self(far)[..., 0]
        return xp.zeros_like(high), high


class WoProj(Represented):
    """Scores a row by its distance from the centre in the task's own embedding: a(x|S) = ‖φ([x, r]) − c‖²."""

    name = "woproj"
    config_type = RepresentedConfig

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Distance:
        """Only r adapts; the support may hold any number of anomalies."""
        phi, center = self.layers("phi"), float64(self.weights["center"])[..., None, :]
        return Distance(phi, self.represent(support), phi.weights[-1], center, self.drop)


@dataclass(frozen=True)
class WoAnomalyConfig(EigenConfig):
    """As the proposed method's; n_projected is K, the width of the projected space.

    eta is the ridge: small, as the paper has none, and the embeddings are small at first.
    """

    eta: float = 0.01
    n_projected: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_at_least(self, n_projected=1)


class WoAnomaly(Eigen):
    """The form for normal rows only (Sec. 3.4): W brings the normal support rows to a centre in the projected space."""

    name = "woanomaly"
    config_type = WoAnomalyConfig

    @classmethod
    def center_size(cls, config: Any) -> int:
        """K."""
        size: int = config.n_projected
        return size

    def center_of(self, support: LabelledRows, normal: Array) -> Array | None:
        """1 in each of the K coordinates."""
        # NOTE[PAPER] how a centre in the projected space is found is not stated. W follows any: only ‖c‖² = K matters.
        return namespace(normal).ones_like(self.weights["center"])

    def adapt(self, support: LabelledRows, unlabelled: Array | None = None) -> Distance:
        """Least squares on the normal support rows; anomalous ones are ignored."""
        xp, phi = namespace(support.normal), self.layers("phi")
        r = self.represent(LabelledRows(support.normal, support.anomaly[..., :0, :]))
        v = fit_normal_projection(mlp(support.normal, phi, r, self.drop), self.eta(r))
        # W = v cᵀ for any K, so one dimension tells all: ‖Wᵀφ − c‖² = (‖c‖ vᵀφ − ‖c‖)².
        center = float64(self.weights["center"])
        length = over_tasks(xp.sqrt(xp.sum(center * center, axis=-1, keepdims=True)), v, 1)  # [..., 1]
        offset = xp.broadcast_to(length[..., None], (*v.shape[:-1], 1, 1))
        return DistanceFromNormal(phi, r, fold_last_layer(phi, length * v), offset, self.drop, self)


@dataclass(frozen=True)
class DistanceFromNormal(ProjectedDistance):
    """The distance from a centre to which least squares bring the normal rows; the offset is ‖c‖, [..., 1, 1]."""

    def score_range(self, support: LabelledRows) -> tuple[Array, Array]:
        """0, and the score of a row that is embedded at 0, far from all normal rows: ‖c‖²."""
        high = self.offset[..., 0, 0] ** 2
        return namespace(high).zeros_like(high), high
