"""The score of one adapted task in its cheapest form: everything that depends on the task alone is computed once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from oddshot.model.blending import standardised_log
from oddshot.model.compiled_forest import CompiledLevel, CompiledTrees, TreeMemory, compile_trees
from oddshot.model.neighbours import NeighbourScore
from oddshot.model.networks import Network

MAX_CHUNK_ROWS = 16384
MIN_CHUNK_ROWS = 256
CACHE_NUMBERS = (
    2**18
)  # activations of one layer for one chunk: 1 MiB of float32, so that the next layer finds it cached


class CompiledScore(ABC):
    """Scores rows of one task, a chunk at a time."""

    @property
    def runs_in_threads(self) -> bool:
        """Whether several threads may score chunks at the same time."""
        return True

    @property
    @abstractmethod
    def chunk_rows(self) -> int:
        """How many rows to score at once on a CPU."""

    @abstractmethod
    def __call__(self, x: Tensor, buffers: Sequence[Tensor] = ()) -> Tensor:
        """Scores in float64. x: [n, M] -> [n]. buffers: from `make_buffers`, for at least n rows."""

    def make_buffers(self, n: int) -> list[Tensor]:
        """Memory that calls with at most n rows may reuse, so that it stays in the cache."""
        return []


@dataclass(frozen=True)
class Uncompiled(CompiledScore):
    """A score that has no cheaper form."""

    score: Callable[[Tensor], Tensor]

    @property
    def runs_in_threads(self) -> bool:
        """Other libraries have threads of their own."""
        return False

    @property
    def chunk_rows(self) -> int:
        """Always the largest number."""
        return MAX_CHUNK_ROWS

    def __call__(self, x: Tensor, buffers: Sequence[Tensor] = ()) -> Tensor:
        """x: [n, M] -> [n]."""
        return self.score(x[None, None])[0, 0]


@dataclass(frozen=True)
class Layer:
    """ReLU(x W + b). W: [in, out], b: [out] or None."""

    W: Tensor
    b: Tensor | None = None


@dataclass(frozen=True)
class CompiledNetwork(CompiledScore):
    """a(x) = ‖h(x) P − o‖² if `is_distance`, else h(x) P − o, where h is the given layers one after the other.

    P: [units, K], offset: [K] in float64; K = 1 if it is not a distance.
    """

    layers: Sequence[Layer]
    P: Tensor
    offset: Tensor
    is_distance: bool = True

    @property
    def widest(self) -> int:
        """The largest number of activations of a row."""
        return max(self.P.shape[0], *(max(layer.W.shape) for layer in self.layers), 1)

    @property
    def chunk_rows(self) -> int:
        """So many that activations stay in the cache from layer to layer."""
        return rows_in_cache(CACHE_NUMBERS, self.widest)

    def make_buffers(self, n: int) -> list[Tensor]:
        """One buffer for the output of each layer."""
        return [layer.W.new_empty(n, layer.W.shape[1]) for layer in self.layers]

    def __call__(self, x: Tensor, buffers: Sequence[Tensor] = ()) -> Tensor:
        """x: [n, M] -> [n] in float64, so that squares of large float32 numbers stay finite."""
        for k, layer in enumerate(self.layers):
            out = buffers[k][: len(x)] if buffers else None
            x = torch.mm(x, layer.W, out=out) if layer.b is None else torch.addmm(layer.b, x, layer.W, out=out)
            x.relu_()
        projected = (x @ self.P).double().sub_(self.offset)
        return projected.square_().sum(-1) if self.is_distance else projected.squeeze(-1)


@dataclass(frozen=True)
class CompiledMean(CompiledScore):
    """The mean of the scores of an ensemble's members, each divided by its scale."""

    members: Sequence[CompiledScore]
    scales: Sequence[float]

    @property
    def runs_in_threads(self) -> bool:
        """If all members do."""
        return all(member.runs_in_threads for member in self.members)

    @property
    def chunk_rows(self) -> int:
        """Of the member with the shortest chunks."""
        return min(member.chunk_rows for member in self.members)

    def __call__(self, x: Tensor, buffers: Sequence[Tensor] = ()) -> Tensor:
        """x: [n, M] -> [n]."""
        return scaled_mean([member(x) for member in self.members], self.scales)


@dataclass(frozen=True)
class CompiledBlend(CompiledScore):
    """A learned score, standardised, plus what is added to it; see `blended`. statistics: [2]."""

    learned: CompiledScore
    statistics: Tensor

    @abstractmethod
    def added(self, x: Tensor, buffers: Sequence[Tensor] = ()) -> Tensor:
        """x: [n, M] -> [n]. buffers: from `make_added_buffers`."""

    def make_added_buffers(self, n: int) -> list[Tensor]:
        """Memory that `added` may reuse for n rows."""
        return []

    @property
    def chunk_rows(self) -> int:
        """Those of the learned score."""
        return self.learned.chunk_rows

    @property
    def runs_in_threads(self) -> bool:
        """If the learned score does."""
        return self.learned.runs_in_threads

    def __call__(self, x: Tensor, buffers: Sequence[Tensor] = ()) -> Tensor:
        """x: [n, M] -> [n]."""
        n_added = len(self.make_added_buffers(0)) if buffers else 0
        of_added, of_learned = buffers[:n_added], buffers[n_added:]
        learned = standardised_log(self.learned(x, of_learned).clamp_min_(0).sqrt_(), self.statistics)
        return learned.add_(self.added(x, of_added))

    def make_buffers(self, n: int) -> list[Tensor]:
        """Those of what is added, then those of the learned score; none where that needs none, for a few rows."""
        learned = self.learned.make_buffers(n)
        return [*self.make_added_buffers(n), *learned] if learned else []


@dataclass(frozen=True)
class CompiledDensity(CompiledBlend):
    """Blended with distances to nearest rows; see `density`."""

    neighbours: NeighbourScore

    def added(self, x: Tensor, buffers: Sequence[Tensor] = ()) -> Tensor:
        """x: [n, M] -> [n]."""
        return self.neighbours(x)


@dataclass(frozen=True)
class CompiledForest(CompiledBlend):
    """Blended with the share of anomalies that a forest gives; see `forest`."""

    levels: Sequence[CompiledLevel]
    weight: float

    def make_added_buffers(self, n: int) -> list[Tensor]:
        """The memory of the trees."""
        return list(self._trees.make_memory(n))

    def added(self, x: Tensor, buffers: Sequence[Tensor] = ()) -> Tensor:
        """x: [n, M] -> [n]."""
        trees = self._trees
        memory = TreeMemory(*buffers) if buffers and buffers[0].shape[1] == len(x) else trees.make_memory(len(x))
        return self.weight * trees(x.T.contiguous(), memory)

    @cached_property
    def _trees(self) -> CompiledTrees:
        return compile_trees(self.levels)


def scaled_mean(values: Sequence[Tensor], scales: Sequence[float]) -> Tensor:
    """Mean of tensors of one shape, each divided by its scale."""
    return torch.stack([value / scale for value, scale in zip(values, scales, strict=True)]).mean(0)


def network_layers(network: Network | None, r: Tensor | None) -> list[Layer]:
    """φ up to its last layer for one task; r, [1, 1, H], is the same for all rows, so its part is a bias."""
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


def compile_weights(weights: Sequence[Tensor], center: Tensor) -> CompiledNetwork:
    """The squared distance of a bias-free network's output from the centre. weights: [in, out] each, center: [1, J]."""
    layers = [Layer(W.contiguous()) for W in weights[:-1]]
    return CompiledNetwork(layers, weights[-1].contiguous(), center[0].double())


def rows_in_cache(numbers: int, numbers_per_row: int) -> int:
    """How many rows to score at once so that so many numbers stay in the cache."""
    return min(max(numbers // numbers_per_row, MIN_CHUNK_ROWS), MAX_CHUNK_ROWS)
