"""Scores that are a network's embedding and one linear map: squared distances from a centre, and linear scores."""

from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.compiled import CompiledNetwork, network_layers
from oddshot.methods.contract import Score
from oddshot.model.networks import Network


@dataclass(frozen=True)
class Distance(Score):
    """a(x) = ‖h(x) P − o‖² (Eq. 2 with the projection folded in).

    h is φ up to its last layer (x itself without a network); that layer's weight is folded into P, so that scoring a
    row costs one layer less. r: [R, T, H], P: [R, T, units, K], offset: [R, T, K]; a 1 in the place of T serves all
    tasks alike.
    """

    network: Network | None
    r: Tensor | None
    P: Tensor
    offset: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M] -> [R, T, N] in float64, so that squares of large float32 numbers stay finite."""
        return self.project(x).square().sum(-1)

    def project(self, x: Tensor) -> Tensor:
        """Rows in the projected space, relative to the centre (Fig. 2c). x: [R, T, N, M] -> [R, T, N, K]."""
        h = x if self.network is None else self.network.hidden(x, self.r)
        return _project(h, self.P) - self.offset.unsqueeze(2)

    @property
    def representation(self) -> Tensor:
        """r: [R, T, H]."""
        return super().representation if self.r is None else self.r

    @torch.no_grad()
    def compiled(self) -> CompiledNetwork:
        """r becomes a bias of the first layer."""
        return CompiledNetwork(network_layers(self.network, self.r), self.P[0, 0], self.offset[0, 0].double())


@dataclass(frozen=True)
class Linear(Score):
    """A score that is linear in the embedding: a(x) = h(x) P + o.

    h and P as in Distance, with P: [R, T, units, 1] and offset: [R, T, 1].
    """

    network: Network
    P: Tensor
    offset: Tensor

    @classmethod
    def of(cls, network: Network, w: Tensor, offset: Tensor) -> "Linear":
        """a(x) = wᵀ z + o with z = network(x). w: [R, T, J], offset: [R, T, 1], both float64."""
        last = network.last_weight
        P = last.unsqueeze(1) @ w.to(last.dtype).unsqueeze(-1)
        if network.biases is not None:
            offset = offset + (w * network.biases[-1]).sum(-1, keepdim=True)
        return cls(network, P, offset)

    def __call__(self, x: Tensor) -> Tensor:
        """x: [R, T, N, M] -> [R, T, N] in float64."""
        return _project(self.network.hidden(x), self.P).squeeze(-1) + self.offset

    @torch.no_grad()
    def compiled(self) -> CompiledNetwork:
        """The same layers without leading dimensions."""
        layers = network_layers(self.network, None)
        return CompiledNetwork(layers, self.P[0, 0], -self.offset[0, 0].double(), is_distance=False)


def _project(h: Tensor, P: Tensor) -> Tensor:
    """h: [R, T, N, units], P: [R, T, units, K] or [R, 1, units, K]. Returns [R, T, N, K] in float64."""
    if P.shape[1] == 1:  # one product over the rows of all tasks, rather than a copy of P for each
        return torch.bmm(h.flatten(1, 2), P.squeeze(1)).reshape(*h.shape[:3], P.shape[-1]).double()
    return (h @ P).double()
