"""`eigen`: the proposed method (Sec. 3.2), a task-specific embedding and a closed-form one-dimensional projection."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from oddshot.methods.contract import Distance, LabelledRows, ScoreFunction
from oddshot.methods.represented import Represented, RepresentedConfig
from oddshot.methods.settings import require_positive
from oddshot.model.projection import fit_projection, to_unit_length


@dataclass(frozen=True)
class EigenConfig(RepresentedConfig):
    """The paper's values (Sec. 4.3); what it leaves open is marked in docs/PAPER.md."""

    eta: float = 1.0
    eta_floor: float = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "eta", "eta_floor")


class Eigen(Represented):
    """f, g (Eq. 1), bias-free φ, the centre c and η, shared by all tasks; w is solved for each task (Eq. 3)."""

    name = "eigen"
    config_type = EigenConfig

    def __init__(self, n_attributes: int, config: EigenConfig, replicas: int = 1) -> None:
        super().__init__(n_attributes, config, replicas)
        # NOTE[PAPER] how η > 0 is kept is not stated: η = floor + exp(log η).
        self.log_eta = nn.Parameter(torch.full((replicas,), math.log(config.eta)))

    def adapt(self, support: LabelledRows) -> ScoreFunction:
        """Solve Eq. 3 for each task; N_A may be any number from 1 up."""
        self.check_support(support, anomaly=1)
        return self.solve(support)

    def solve(self, support: LabelledRows, imagined: Tensor | None = None) -> Distance:
        """Eq. 3 for each task. imagined: [R, J], an embedding to take for the anomaly where a support has none."""
        r = self.represent(support)
        z = self.embed(support.joined(), r)
        n_normal = support.normal.shape[2]
        z_anomaly = z[:, :, n_normal:]
        if imagined is not None and z_anomaly.shape[2] == 0:
            z_anomaly = imagined[:, None, None].expand(-1, z.shape[1], -1, -1)
        w = to_unit_length(fit_projection(z[:, :, :n_normal], z_anomaly, self.eta()))
        offset = (w * self.center[:, None]).sum(-1, keepdim=True)
        return Distance(self.phi, r, self._fold(w), offset)

    def eta(self) -> Tensor:
        """η: [R, 1], above its floor."""
        eta: Tensor = self.config.eta_floor + self.log_eta.exp()
        return eta.unsqueeze(-1)

    def _fold(self, w: Tensor) -> Tensor:
        """φ's last layer and the projection in one: [R, units, J] and [R, T, J] -> [R, T, units, 1]."""
        last = self.phi.last_weight
        return (w.to(last.dtype) @ last.mT).unsqueeze(-1)
