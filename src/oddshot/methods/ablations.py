"""`wonn`, `woproj`, `woanomaly`: the proposed method without its networks, its projection, its anomalies (Table 2)."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from oddshot.methods.contract import LabelledRows, Method, Score
from oddshot.methods.eigen import Eigen, EigenConfig, Represented, RepresentedConfig
from oddshot.methods.hyperparameters import require_at_least, require_positive
from oddshot.methods.scores import Distance
from oddshot.model.projection import fit_normal_projection, fit_projection, solve_S_N, to_unit_length


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

    def __init__(self, n_attributes: int, config: WoNNConfig, replicas: int = 1) -> None:
        super().__init__(n_attributes, config, replicas)
        self.log_eta = nn.Parameter(torch.full((replicas,), math.log(config.eta)))
        self.center: Tensor
        self.register_buffer("center", torch.zeros(replicas, n_attributes))

    @torch.no_grad()
    def fix_center(self, support: LabelledRows, normal: Tensor) -> None:
        """The mean of the normal rows."""
        self.center.copy_(normal.mean((1, 2)))

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> Score:
        """Eq. 3 on the attributes themselves; without anomalies, the largest quotient that Eq. 3 can give each row."""
        center = self.center[:, None, None]
        eta = (self.config.eta_floor + self.log_eta.exp()).unsqueeze(-1)
        if support.anomaly.shape[2] == 0:
            W = self._whiten(support.normal - center, eta)
            offset = (center.double() @ W).squeeze(2)
            return WhitenedDistance(None, None, W.to(support.normal.dtype), offset, self.center)
        w = fit_projection(support.normal - center, support.anomaly - center, eta)
        W = to_unit_length(w).unsqueeze(-1)
        return Distance(None, None, W.to(support.normal.dtype), (center.double() @ W).squeeze(2))

    @staticmethod
    def _whiten(z_normal: Tensor, eta: Tensor) -> Tensor:
        """W with W Wᵀ = S_N⁻¹, so that ‖Wᵀ z‖² = max_w (wᵀz)² / wᵀ S_N w. z_normal: [R, T, N, M] -> [R, T, M, M]."""
        # NOTE[PAPER] not in the paper: each row is scored as if it were the labelled anomaly.
        z = z_normal.double()
        identity = torch.eye(z.shape[-1], dtype=z.dtype, device=z.device).expand(*z.shape[:2], -1, -1)
        W: Tensor = torch.linalg.cholesky(solve_S_N(z, eta.double(), identity))
        return W


@dataclass(frozen=True)
class WhitenedDistance(Distance):
    """The whitened distance from the centre, [R, M], of a support without anomalies."""

    center: Tensor

    def span(self, support: LabelledRows) -> tuple[Tensor, Tensor]:
        """0, and the score of a row four units away from the centre in every attribute."""
        far = self.center[:, None, None].expand(-1, support.normal.shape[1], 1, -1) + 4.0
        high = self(far).squeeze(2)
        return torch.zeros_like(high), high


class WoProj(Represented):
    """Scores a row by its distance from the centre in the task's own embedding: a(x|S) = ‖φ([x, r]) − c‖²."""

    name = "woproj"
    config_type = RepresentedConfig

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> Distance:
        """Only r adapts; the support may hold any number of anomalies."""
        P = self.phi.last_weight.unsqueeze(1)
        return Distance(self.phi, self.represent(support), P, self.center.unsqueeze(1).double())


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
    config: WoAnomalyConfig

    @torch.no_grad()
    def fix_center(self, support: LabelledRows, normal: Tensor) -> None:
        """1 in each of the K coordinates."""
        # NOTE[PAPER] how a centre in the projected space is found is not stated. W follows any: only ‖c‖² = K matters.
        self.center.fill_(1.0)

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> Distance:
        """Least squares on the normal support rows; anomalous ones are ignored."""
        support = LabelledRows(support.normal, support.anomaly[:, :, :0])
        r = self.represent(support)
        v = fit_normal_projection(self.phi(support.normal, r), self.eta())
        # W = v cᵀ for any K, so one dimension tells all: ‖Wᵀφ − c‖² = (‖c‖ vᵀφ − ‖c‖)².
        length = self.center.double().norm(dim=-1)[:, None, None]
        return DistanceFromNormal(self.phi, r, self._fold(length * v), length.expand(-1, v.shape[1], -1))

    def _center_size(self) -> int:
        return self.config.n_projected


@dataclass(frozen=True)
class DistanceFromNormal(Distance):
    """The distance from a centre to which least squares bring the normal rows; the offset is ‖c‖, [R, T, 1]."""

    def span(self, support: LabelledRows) -> tuple[Tensor, Tensor]:
        """0, and the score of a row that is embedded at 0, far from all normal rows: ‖c‖²."""
        high = self.offset.square().sum(-1)
        return torch.zeros_like(high), high
