"""`woanomaly`: the proposed method for supports with normal rows only (Sec. 3.4)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.contract import Distance, LabelledRows, ScoreFunction
from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.methods.settings import require_at_least
from oddshot.model.projection import fit_normal_projection


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
    """f, g and φ of the proposed method; W brings the normal support rows to a centre in the projected space."""

    name = "woanomaly"
    config_type = WoAnomalyConfig
    config: WoAnomalyConfig

    @torch.no_grad()
    def fix_center(self, support: LabelledRows, normal: Tensor) -> None:
        """1 in each of the K coordinates."""
        # NOTE[PAPER] how a centre in the projected space is found is not stated. W follows any: only ‖c‖² = K matters.
        self.center.fill_(1.0)

    def adapt(self, support: LabelledRows) -> Distance:
        """Least squares on the normal support rows; anomalous ones are not looked at."""
        support = LabelledRows(support.normal, support.anomaly[:, :, :0])
        r = self.represent(support)
        v = fit_normal_projection(self.phi(support.normal, r), self.eta())
        # W = v cᵀ for any K, so one dimension tells all: ‖Wᵀφ − c‖² = (‖c‖ vᵀφ − ‖c‖)².
        length = self.center.double().norm(dim=-1)[:, None, None]
        return Distance(self.phi, r, self._fold(length * v), length.expand(-1, v.shape[1], -1))

    def span(self, score: ScoreFunction, support: LabelledRows) -> tuple[Tensor, Tensor]:
        """0, and the score of a row that is embedded at 0, far from all normal rows: ‖c‖²."""
        high = self.center.double().square().sum(-1, keepdim=True).expand(support.normal.shape[:2])
        return torch.zeros_like(high), high

    def _center_size(self) -> int:
        return self.config.n_projected
