"""`eigen`: the proposed method (Sec. 3.2), a task-specific embedding and a closed-form one-dimensional projection."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from oddshot.methods.contract import LabelledRows, Method, Score
from oddshot.methods.hyperparameters import require_at_least, require_dropout, require_positive
from oddshot.methods.scores import Distance
from oddshot.model.networks import Network
from oddshot.model.projection import fit_projection, to_unit_length


@dataclass(frozen=True)
class RepresentedConfig:
    """The paper's networks (Sec. 4.3). Layers are counted with the input: three layers are two weight matrices."""

    units: int = 256
    layers_f: int = 3
    layers_g: int = 3
    layers_phi: int = 4
    dropout: float = 0.1

    def __post_init__(self) -> None:
        require_at_least(self, units=1, layers_f=2, layers_g=2, layers_phi=3)
        require_dropout(self)


class Represented(Method):
    """What the proposed method and its ablations share: f, g (Eq. 1), bias-free φ and the centre c."""

    def __init__(self, n_attributes: int, config: RepresentedConfig, replicas: int = 1) -> None:
        super().__init__(n_attributes, config, replicas)
        units = config.units
        self.f = self._network(n_attributes + 1, config.layers_f)
        self.g = self._network(units, config.layers_g)
        # φ has no biases, or it could map every row to the centre (hypersphere collapse).
        self.phi = self._network(n_attributes + units, config.layers_phi, bias=False)
        self.center: Tensor
        self.register_buffer("center", torch.zeros(replicas, self._center_size()))

    def represent(self, support: LabelledRows) -> Tensor:
        """Task representation r (Eq. 1): [R, T, units]."""
        labelled = [nn.functional.pad(rows, (0, 1), value=float(y)) for y, rows in enumerate(support)]
        mean = self.f(torch.cat(labelled, dim=2)).mean(2, keepdim=True)
        r: Tensor = self.g(mean).squeeze(2)
        return r

    def embed(self, x: Tensor, r: Tensor) -> Tensor:
        """z = φ([x, r]) − c, the embedding relative to the centre. x: [R, T, N, M] -> [R, T, N, units]."""
        z: Tensor = self.phi(x, r) - self.center[:, None, None]
        return z

    @torch.no_grad()
    def fix_center(self, support: LabelledRows, normal: Tensor) -> None:
        """The mean embedding of training normals at the initial weights (Alg. 1, line 2)."""
        # NOTE[PAPER] which support sets give r here is not stated: one episode's, of every training task.
        embedded = self.phi(normal, self.represent(support)).mean((1, 2))
        self.center.copy_(embedded[:, : self.center.shape[1]])

    def _center_size(self) -> int:
        size: int = self.config.units
        return size

    def _network(self, n_in: int, layers: int, bias: bool = True) -> Network:
        # NOTE[PAPER] whether "four-layered" counts the input is not stated; so it validates better.
        units, dropout = self.config.units, self.config.dropout
        return Network([n_in] + [units] * (layers - 1), replicas=self.replicas, bias=bias, dropout=dropout)


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

    def adapt(self, support: LabelledRows, unlabelled: Tensor | None = None) -> Score:
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

    def embed_rows(self, score: Score, x: Tensor) -> Tensor:
        """Rows in the embedded space of an adapted task, relative to the centre (Fig. 2b): [R, T, N, units]."""
        return self.embed(x, score.representation)

    def eta(self) -> Tensor:
        """η: [R, 1], above its floor."""
        eta: Tensor = self.config.eta_floor + self.log_eta.exp()
        return eta.unsqueeze(-1)

    def _fold(self, w: Tensor) -> Tensor:
        """φ's last layer and the projection in one: [R, units, J] and [R, T, J] -> [R, T, units, 1]."""
        last = self.phi.last_weight
        return (w.to(last.dtype) @ last.mT).unsqueeze(-1)
