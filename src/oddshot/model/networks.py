"""Feed-forward networks whose weights carry a leading replica dimension R (f, g of Eq. 1, bias-free φ)."""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


class Network(nn.Module):
    """Layers of one network for R replicas: ReLU and dropout between them, none after the last.

    sizes: widths from input to output. Weights: [R, in, out]; biases: [R, 1, out], or none.
    """

    def __init__(self, sizes: Sequence[int], *, replicas: int = 1, bias: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        if len(sizes) < 2:
            raise ValueError(f"a network needs an input and an output width, got {sizes}")
        pairs = list(pairwise(sizes))
        self.weights = nn.ParameterList(torch.empty(replicas, n_in, n_out) for n_in, n_out in pairs)
        self.biases = nn.ParameterList(torch.empty(replicas, 1, n_out) for _, n_out in pairs) if bias else None
        self.dropout = dropout
        self.noise: torch.Generator | None = None  # of dropout; set while training
        self.shard_margins = (0, 0)  # tasks of the whole batch before and after those given; see `drop`

    def initialise(self, generators: Sequence[torch.Generator]) -> None:
        """Initialise as PyTorch does, uniformly within ±1/√in, each replica with its own generator on the CPU."""
        # NOTE[PAPER] the initialisation is not stated: PyTorch's default; see docs/PAPER.md for the choice.
        with torch.no_grad():
            for k, weight in enumerate(self.weights):
                bound = 1.0 / math.sqrt(weight.shape[1])
                for parameter in (weight,) if self.biases is None else (weight, self.biases[k]):
                    for replica, generator in zip(parameter, generators, strict=True):
                        replica.copy_(torch.empty(replica.shape).uniform_(-bound, bound, generator=generator))

    def forward(self, x: Tensor, r: Tensor | None = None) -> Tensor:
        """x: [R, T, N, in]; r: [R, T, H], concatenated to every row of its task. Returns [R, T, N, out]."""
        return self._layer(len(self.weights) - 1, self.hidden(x, r))

    def hidden(self, x: Tensor, r: Tensor | None = None) -> Tensor:
        """The input of the last layer: [R, T, N, units]; x itself if there is only one layer and no r."""
        n_layers = len(self.weights)
        if r is not None:
            # [x, r] W = x W_x + r W_r: the second part is the same for all rows of a task.
            if n_layers == 1:
                raise ValueError("a task representation needs a network of two layers or more")
            x = self.drop(torch.relu(self._first_layer(x, r)))
        for k in range(0 if r is None else 1, n_layers - 1):
            x = self.drop(torch.relu(self._layer(k, x)))
        return x

    def drop(self, x: Tensor) -> Tensor:
        """Dropout between layers, in training only. x: [R, T, ...]."""
        return drop(x, self.dropout if self.training else 0.0, self.noise, self.shard_margins)

    @property
    def last_weight(self) -> Tensor:
        """The weights of the last layer: [R, units, out]."""
        last: Tensor = self.weights[-1]
        return last

    def _layer(self, k: int, x: Tensor) -> Tensor:
        flat, weight = x.flatten(1, 2), self.weights[k]
        out = torch.bmm(flat, weight) if self.biases is None else torch.baddbmm(self.biases[k], flat, weight)
        rows: Tensor = out.unflatten(1, x.shape[1:3])
        return rows

    def _first_layer(self, x: Tensor, r: Tensor) -> Tensor:
        weight, n = self.weights[0], x.shape[-1]
        of_task = torch.bmm(r, weight[:, n:])
        if self.biases is not None:
            of_task = of_task + self.biases[0]
        of_rows: Tensor = torch.bmm(x.flatten(1, 2), weight[:, :n]).unflatten(1, x.shape[1:3])
        return of_rows + of_task.unsqueeze(2)


def drop(x: Tensor, rate: float, noise: torch.Generator | None, shard_margins: tuple[int, int] = (0, 0)) -> Tensor:
    """Inverted dropout: each entry is 0 with probability `rate` (in steps of 2⁻¹⁶), else divided by 1 − rate.

    x: [R, T, ...]. noise: the random generator; without one there is no dropout. shard_margins: if x is a shard of a
    batch, the numbers of tasks of that batch before and after the shard; the same entries are then dropped as without
    sharding.
    """
    if rate == 0.0 or noise is None:
        return x
    before, after = shard_margins
    batch_shape = torch.Size([x.shape[0], before + x.shape[1] + after, *x.shape[2:]])
    # Four 16-bit draws from each 64-bit integer: five times faster on a CPU than bernoulli_.
    n = batch_shape.numel()
    words = torch.empty((n + 3) // 4, dtype=torch.int64, device=x.device)
    draws = words.random_(-(2**63), None, generator=noise).view(torch.int16)[:n].view(batch_shape)
    draws = draws.narrow(1, before, x.shape[1])
    kept, scale = draws >= round(rate * 65536) - 32768, 1.0 / (1.0 - rate)
    if x.is_cuda:  # x · kept · scale in one pass over memory, whose bandwidth limits training on a GPU
        out: Tensor = torch.ops.aten.native_dropout_backward(x, kept, scale)
        return out
    return x * kept.to(x.dtype).mul_(scale)
