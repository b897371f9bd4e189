"""`eigen`: the proposed method (Sec. 3.2), a task-specific embedding and a closed-form one-dimensional projection."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from oddshot.errors import InputError
from oddshot.methods.contract import Distance, Method, Rows, ScoreFunction
from oddshot.model.networks import Network
from oddshot.model.projection import fit_projection


@dataclass(frozen=True)
class EigenConfig:
    """The paper's values (Sec. 4.3); what it leaves open is marked in docs/PAPER.md."""

    units: int = 256
    layers_f: int = 3
    layers_g: int = 3
    layers_phi: int = 4
    dropout: float = 0.1
    eta: float = 1.0
    eta_floor: float = 1e-4

    def __post_init__(self) -> None:
        for name, least in {"units": 1, "layers_f": 1, "layers_g": 1, "layers_phi": 2}.items():
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        if not 0.0 <= self.dropout < 1.0:
            raise InputError(f"dropout is {self.dropout}; it must be at least 0 and below 1")
        if not (self.eta > 0.0 and self.eta_floor > 0.0):
            raise InputError(f"eta is {self.eta} and eta_floor {self.eta_floor}; both must be above 0")


class Eigen(Method):
    """f, g (Eq. 1), bias-free φ, the centre c and η, shared by all tasks; w is solved for each task (Eq. 3)."""

    name = "eigen"
    config_type = EigenConfig

    def __init__(self, n_attributes: int, config: EigenConfig, replicas: int = 1) -> None:
        super().__init__(n_attributes, config, replicas)
        units = config.units
        self.f = self._network(n_attributes + 1, config.layers_f)
        self.g = self._network(units, config.layers_g)
        # φ has no biases, or it could map every row to the centre (hypersphere collapse).
        self.phi = self._network(n_attributes + units, config.layers_phi, bias=False)
        # NOTE[PAPER] how η > 0 is kept is not stated: η = floor + exp(log η).
        self.log_eta = nn.Parameter(torch.full((replicas,), config.eta).log())
        self.center: Tensor
        self.register_buffer("center", torch.zeros(replicas, self._center_size()))

    def represent(self, support: Rows) -> Tensor:
        """Task representation r (Eq. 1): [R, T, units]."""
        labelled = [nn.functional.pad(rows, (0, 1), value=float(y)) for y, rows in enumerate(support)]
        mean = self.f(torch.cat(labelled, dim=2)).mean(2, keepdim=True)
        r: Tensor = self.g(mean).squeeze(2)
        return r

    @torch.no_grad()
    def fix_center(self, support: Rows, normal: Tensor) -> None:
        """The mean embedding of training normals at the initial weights (Alg. 1, line 2)."""
        # NOTE[PAPER] which support sets give r here is not stated: one episode's, of every training task.
        embedded = self.phi(normal, self.represent(support)).mean((1, 2))
        self.center.copy_(embedded[:, : self.center.shape[1]])

    def adapt(self, support: Rows) -> ScoreFunction:
        """Solve Eq. 3 for each task; N_A may be any number from 1 up."""
        if support.anomaly.shape[2] == 0:
            raise InputError(
                f"method {self.name!r} needs at least one labelled anomaly; for normal rows alone train 'woanomaly'"
            )
        r = self.represent(support)
        z = self.phi(support.joined(), r) - self.center[:, None, None]
        n_normal = support.normal.shape[2]
        w = fit_projection(z[:, :, :n_normal], z[:, :, n_normal:], self.eta())
        offset = (w * self.center[:, None]).sum(-1, keepdim=True)
        return Distance(self.phi, r, self._fold(w.unsqueeze(-1)), offset)

    def eta(self) -> Tensor:
        """η: [R, 1], above its floor."""
        return (self.config.eta_floor + self.log_eta.exp()).unsqueeze(-1)

    def _fold(self, W: Tensor) -> Tensor:
        """φ's last layer and the projection in one: [R, units, J] and [R, T, J, K] -> [R, T, units, K]."""
        last = self.phi.last_weight
        return last.unsqueeze(1) @ W.to(last.dtype)

    def _center_size(self) -> int:
        return self.config.units

    def _network(self, n_in: int, layers: int, bias: bool = True) -> Network:
        units, dropout = self.config.units, self.config.dropout
        return Network([n_in] + [units] * layers, replicas=self.replicas, bias=bias, dropout=dropout)
