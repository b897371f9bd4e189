"""`r2d2`: ridge regression differentiable discriminator (Bertinetto et al., 2019), a last layer solved per task."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from oddshot.methods.contract import Linear, LabelledRows
from oddshot.methods.embedded import Embedded, EmbeddedConfig
from oddshot.methods.settings import require_positive
from oddshot.model.projection import solve_regularised


@dataclass(frozen=True)
class R2D2Config(EmbeddedConfig):
    """ridge: λ at the start of training, scale: what multiplies the ridge output at the start; both are learned."""

    ridge: float = 1.0
    ridge_floor: float = 1e-4
    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "ridge", "ridge_floor", "scale")


class R2D2(Embedded):
    """φ, λ and a scale, shared by all tasks; the last layer is solved for each task by ridge regression."""

    name = "r2d2"
    config_type = R2D2Config

    def __init__(self, n_attributes: int, config: R2D2Config, replicas: int = 1) -> None:
        super().__init__(n_attributes, config, replicas)
        self.log_ridge = nn.Parameter(torch.full((replicas,), math.log(config.ridge)))
        # NOTE[PAPER] its authors learn a bias of the output too; it cancels in the AUC and has no gradient.
        self.log_scale = nn.Parameter(torch.full((replicas,), math.log(config.scale)))

    def adapt(self, support: LabelledRows) -> Linear:
        """Ridge regression of −1 (normal) and 1 (anomaly) on the embedding."""
        self.check_support(support, anomaly=1)
        # NOTE[PAPER] no constant joins the embedding: it validates worse, and the network has biases of its own.
        z = self.phi(support.joined()).double()
        target = z.new_ones(z.shape[2])
        target[: support.normal.shape[2]] = -1.0
        ridge = self.config.ridge_floor + self.log_ridge.double().exp()
        w = solve_ridge(z, target, ridge[:, None]) * self.log_scale.double().exp()[:, None, None]
        return Linear.of(self.phi, w, torch.zeros_like(w[..., :1]))


def solve_ridge(z: Tensor, target: Tensor, ridge: Tensor) -> Tensor:
    """w = argmin ‖Z w − y‖² + λ ‖w‖² by its dual, w = Zᵀ (Z Zᵀ + λ I)⁻¹ y: few rows, many columns.

    z: [..., N, J], target: [..., N], ridge: [...], above 0, float64. Returns w: [..., J].
    """
    target = target.expand(z.shape[:-1]).unsqueeze(-1)
    return (z.mT @ solve_regularised(z @ z.mT, ridge, target)).squeeze(-1)
