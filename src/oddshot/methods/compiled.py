"""One adapted task in its cheapest form: plain layers, with all that depends on the task folded into them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from oddshot.methods.contract import Distance, Linear, ScoreFunction
from oddshot.methods.ensemble import Averaged, average
from oddshot.methods.maml import SteppedDistance
from oddshot.methods.relative import RelativeScore
from oddshot.methods.taskwise import TaskDistance
from oddshot.model.description import Describer
from oddshot.model.networks import Network


@dataclass(frozen=True)
class Layer:
    """ReLU(x W + b). W: [in, out], b: [out] or None."""

    W: Tensor
    b: Tensor | None = None


@dataclass(frozen=True)
class Folded:
    """Score function of one task: a(x) = ‖h(x) P − o‖² where it is a distance, else h(x) P − o.

    h: the layers, one after the other. P: [units, K], offset: [K] in float64; K = 1 where it is no distance.
    """

    layers: Sequence[Layer]
    P: Tensor
    offset: Tensor
    is_distance: bool = True

    @property
    def widest(self) -> int:
        """How many numbers a row becomes at most."""
        return max(self.P.shape[0], *(max(layer.W.shape) for layer in self.layers), 1)

    def room(self, n: int) -> list[Tensor]:
        """Memory for what each layer gives, for n rows at most: used again and again, it stays in the cache."""
        return [layer.W.new_empty(n, layer.W.shape[1]) for layer in self.layers]

    def __call__(self, x: Tensor, room: Sequence[Tensor] | None = None) -> Tensor:
        """x: [n, M]. Returns [n] in float64: squares of large float32 numbers stay finite."""
        for k, layer in enumerate(self.layers):
            out = None if room is None else room[k][: len(x)]
            x = torch.mm(x, layer.W, out=out) if layer.b is None else torch.addmm(layer.b, x, layer.W, out=out)
            x.relu_()
        projected = (x @ self.P).double().sub_(self.offset)
        return projected.square_().sum(-1) if self.is_distance else projected.squeeze(-1)


@dataclass(frozen=True)
class FoldedRelative:
    """Score function of one task of `relative`: rows are described, then scored by layers from the left.

    A description comes with its rows last, and W ᵀ x needs no turning.
    """

    describe: Describer
    folded: Folded

    @property
    def widest(self) -> int:
        """How many numbers a row becomes at most."""
        return self.describe.widest

    def __call__(self, x: Tensor) -> Tensor:
        """x: [n, M]. Returns [n] in float64."""
        z = self.describe.rows_last(x[None, None])[0, 0]
        for layer in self.folded.layers:
            z = layer.W.T @ z if layer.b is None else torch.addmm(layer.b[:, None], layer.W.T, z)
            z.relu_()
        projected = (self.folded.P.T @ z).double().sub_(self.folded.offset[:, None])
        return projected.square_().sum(0)


@dataclass(frozen=True)
class FoldedMean:
    """Score function of one task of an ensemble."""

    parts: Sequence["FoldedScore"]
    scales: Sequence[float]

    @property
    def widest(self) -> int:
        """How many numbers a row becomes at most."""
        return max(part.widest for part in self.parts)

    def __call__(self, x: Tensor) -> Tensor:
        """x: [n, M]. Returns [n] in float64."""
        return average([part(x) for part in self.parts], self.scales)


FoldedScore = Folded | FoldedRelative | FoldedMean


@torch.no_grad()
def fold(score: ScoreFunction) -> FoldedScore | None:
    """The only task of a score function with R = T = 1; None where a method scores by something else than layers."""
    match score:
        case Averaged(scores, scales):
            parts = [folded for one in scores if (folded := fold(one)) is not None]
            return FoldedMean(parts, scales) if len(parts) == len(scores) else None
        case RelativeScore(describe, distance):
            folded = fold(distance)
            assert isinstance(folded, Folded)
            return FoldedRelative(describe, folded)
        case Distance(network, r, P, offset):
            return Folded(_layers(network, r), P[0, 0], offset[0, 0].double())
        case Linear(network, P, offset):
            return Folded(_layers(network, None), P[0, 0], -offset[0, 0].double(), is_distance=False)
        case SteppedDistance(layers, center):
            return _of_weights([layer.W[0] + layer.X[0, 0].mT @ layer.C[0, 0] for layer in layers], center)
        case TaskDistance(weights, center):
            return _of_weights([weight[0, 0] for weight in weights], center)
    return None


def _layers(network: Network | None, r: Tensor | None) -> list[Layer]:
    """φ up to its last layer. r is the same for all rows: its part of the first layer is a bias."""
    if network is None:
        return []
    weights = [weight[0] for weight in network.weights][:-1]
    biases = [None] * len(weights) if network.biases is None else [bias[0, 0] for bias in network.biases][:-1]
    if r is not None:
        n_attributes = weights[0].shape[0] - r.shape[-1]
        of_task = r[0, 0] @ weights[0][n_attributes:]
        biases[0] = of_task if biases[0] is None else of_task + biases[0]
        weights[0] = weights[0][:n_attributes]
    return [Layer(W.contiguous(), b) for W, b in zip(weights, biases, strict=True)]


def _of_weights(weights: Sequence[Tensor], center: Tensor) -> Folded:
    """A bias-free network's distance from the centre. center: [1, J]."""
    return Folded([Layer(W.contiguous()) for W in weights[:-1]], weights[-1].contiguous(), center[0].double())
