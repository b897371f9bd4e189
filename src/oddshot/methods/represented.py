"""What the proposed method and its ablations share: a task representation r and an embedding that sees it (Eq. 1)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from oddshot.methods.contract import Method, LabelledRows
from oddshot.methods.settings import require_at_least, require_dropout
from oddshot.model.networks import Network


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
    """f, g (Eq. 1), bias-free φ and the centre c, shared by all tasks."""

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
        """z = φ([x, r]) − c, rows as the task sees them from the centre. x: [R, T, N, M] -> [R, T, N, units]."""
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
