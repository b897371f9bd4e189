"""`wonn`: the proposed method without neural networks, on the raw attributes (Table 2)."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from oddshot.methods.contract import Distance, Method, LabelledRows, ScoreFunction
from oddshot.methods.settings import require_positive
from oddshot.model.projection import fit_projection, solve_S_N, to_unit_length


@dataclass(frozen=True)
class WoNNConfig:
    """η at the start of training; it is all that is learned."""

    eta: float = 1.0
    eta_floor: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(self, "eta", "eta_floor")


class WoNN(Method):
    """Scores a row by its projected distance from the centre c, the mean of normal rows."""

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

    def adapt(self, support: LabelledRows) -> ScoreFunction:
        """Eq. 3 on the attributes themselves; without anomalies, the largest quotient that Eq. 3 can give each row."""
        center = self.center[:, None, None]
        eta = (self.config.eta_floor + self.log_eta.exp()).unsqueeze(-1)
        if support.anomaly.shape[2] == 0:
            W = self._whiten(support.normal - center, eta)
        else:
            w = fit_projection(support.normal - center, support.anomaly - center, eta)
            W = to_unit_length(w).unsqueeze(-1)
        offset = (center.double() @ W).squeeze(2)
        return Distance(None, None, W.to(support.normal.dtype), offset)

    def span(self, score: ScoreFunction, support: LabelledRows) -> tuple[Tensor, Tensor]:
        """As for every method; without anomalies, 0 and the score of a row four units away in every attribute."""
        if support.anomaly.shape[2] > 0:
            return super().span(score, support)
        far = self.center[:, None, None].expand(-1, support.normal.shape[1], 1, -1) + 4.0
        high = score(far).squeeze(2)
        return torch.zeros_like(high), high

    @staticmethod
    def _whiten(z_normal: Tensor, eta: Tensor) -> Tensor:
        """W with W Wᵀ = S_N⁻¹, so that ‖Wᵀ z‖² = max_w (wᵀz)² / wᵀ S_N w. z_normal: [R, T, N, M] -> [R, T, M, M]."""
        # NOTE[PAPER] not in the paper: each row is scored as if it were the labelled anomaly.
        z = z_normal.double()
        identity = torch.eye(z.shape[-1], dtype=z.dtype, device=z.device).expand(*z.shape[:2], -1, -1)
        W: Tensor = torch.linalg.cholesky(solve_S_N(z, eta.double(), identity))
        return W
