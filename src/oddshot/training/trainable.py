"""The weights of a method as tensors that are trained: those of R replicas, the splits of a dataset or the members of
an ensemble, together. Here the methods, which know no torch, meet it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oddshot.errors import InputError
from oddshot.methods.contract import Method, Weight
from oddshot.methods.relative import Relative
from oddshot.score.rows import LabelledRows

MAX_TRAINED_COLUMNS = 200  # that the networks over columns see in a training step


class Trainable:
    """R replicas of a method. tensors: their weights by name, [R, ...] each; method: what is computed of them.

    noise: the generator that dropout and the sampling of columns draw from; while there is one, the method is trained.
    shard_margins: tasks of the whole batch before and after those given; see `drop`.
    """

    def __init__(self, kind: type[Method], n_attributes: int, config: Any, replicas: int = 1) -> None:
        self.kind, self.n_attributes, self.config, self.replicas = kind, n_attributes, config, replicas
        self.weights: dict[str, Weight] = kind.weights_of(n_attributes, config)
        self.tensors = {name: _empty(replicas, weight) for name, weight in self.weights.items()}
        self.noise: torch.Generator | None = None
        self.shard_margins = (0, 0)
        self.is_in_training_step = False

    @classmethod
    def of(cls, method: Method) -> "Trainable":
        """A method as a single replica."""
        made = cls(type(method), method.n_attributes, method.config)
        made.load({name: torch.from_numpy(np.array(value))[None] for name, value in method.weights.items()})
        return made

    @property
    def method(self) -> Method:
        """The method over the tensors as they are."""
        made = self.kind(self.n_attributes, self.config, self.tensors)
        if self.is_in_training_step:
            made.drop, made.seen_columns = self._drop, self._seen_columns()
        return made

    @property
    def is_learned(self) -> bool:
        """Whether there is anything to train."""
        return any(weight.is_learned for weight in self.weights.values())

    @property
    def parameters(self) -> list[Tensor]:
        """The tensors that are learned."""
        return [self.tensors[name] for name, weight in self.weights.items() if weight.is_learned]

    @property
    def device(self) -> torch.device:
        """Where the tensors are; a method without weights works on the CPU."""
        return next((tensor.device for tensor in self.tensors.values()), torch.device("cpu"))

    def initialise(self, generators: Sequence[torch.Generator], start: Method | None = None) -> None:
        """Random weights, each replica's from its own generator, on the CPU; or those of a trained method."""
        for name, weight in self.weights.items():
            with torch.no_grad():
                for replica, generator in zip(self.tensors[name], generators, strict=True):
                    _start(replica, weight, generator)
        if start is not None:
            self._start_from(start)

    def to(self, device: torch.device | str) -> "Trainable":
        """Move all tensors, in place."""
        for name, tensor in self.tensors.items():
            self.tensors[name] = tensor.detach().to(device).requires_grad_(tensor.requires_grad)
        return self

    @torch.no_grad()
    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Copy these numbers, which replicas may share, into the tensors."""
        for name, tensor in self.tensors.items():
            tensor.copy_(tensors[name])

    def state(self) -> dict[str, Tensor]:
        """Copies of all tensors."""
        return {name: tensor.detach().clone() for name, tensor in self.tensors.items()}

    def subset(self, which: Tensor) -> "Trainable":
        """Some replicas, with copies of their weights. which: [n], their indices, on the device of the weights."""
        made = Trainable(self.kind, self.n_attributes, self.config, len(which)).to(self.device)
        made.noise = self.noise
        made.load({name: tensor.detach()[which] for name, tensor in self.tensors.items()})
        return made

    def trained(self, replica: int = 0) -> Method:
        """A replica as it is used: its weights in NumPy."""
        return self.kind(self.n_attributes, self.config, self.numbers(replica))

    def all_trained(self) -> list[Method]:
        """Every replica."""
        return [self.trained(replica) for replica in range(self.replicas)]

    def numbers(self, replica: int) -> dict[str, NDArray[Any]]:
        """The weights of a replica."""
        return {name: tensor.detach()[replica].cpu().numpy().copy() for name, tensor in self.tensors.items()}

    def loss(self, support: LabelledRows, query: LabelledRows, unlabelled: Tensor | None = None) -> Tensor:
        """Of each replica, the mean over tasks: [R]."""
        self.is_in_training_step = self.noise is not None
        try:
            loss: Tensor = self.method.loss(support, query, unlabelled).mean(-1)
        finally:
            self.is_in_training_step = False
        return loss

    @torch.no_grad()
    def fix_center(self, support: LabelledRows, normal: Tensor) -> None:
        """Fix the centre c, if the method has one, from one episode of every training task (Alg. 1, line 2)."""
        center = self.method.center_of(support, normal)
        if center is not None:
            self.tensors["center"].copy_(center)

    def _start_from(self, start: Method) -> None:
        """Take the weights of a trained method for all replicas."""
        weights = dict(start.weights)
        if issubclass(self.kind, Relative):
            own = {name: tensor.detach().cpu().numpy() for name, tensor in self.tensors.items()}
            weights = self.kind.weights_from(start.weights, own)
        for name, tensor in self.tensors.items():
            if tuple(weights[name].shape[-len(self.weights[name].shape) :] or ()) != self.weights[name].shape:
                raise InputError(
                    f"the model to start from is for {start.n_attributes} attributes, these tasks have "
                    f"{self.n_attributes}"
                )
            with torch.no_grad():
                tensor.copy_(torch.from_numpy(np.ascontiguousarray(weights[name])).expand_as(tensor))

    def _drop(self, x: Tensor) -> Tensor:
        return drop(x, self.config.dropout, self.noise, self.shard_margins)

    def _seen_columns(self) -> Tensor | None:
        """In a training step of `relative` on wide tables, the random columns over which means are taken: [n].

        They estimate the means over all columns, most of the cost of a step. None for all columns.
        """
        if not issubclass(self.kind, Relative) or self.n_attributes <= MAX_TRAINED_COLUMNS:
            return None
        draws = torch.rand(self.n_attributes, device=self.device, generator=self.noise)
        return draws.argsort()[:MAX_TRAINED_COLUMNS]


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


def _empty(replicas: int, weight: Weight) -> Tensor:
    return torch.zeros(replicas, *weight.shape, requires_grad=weight.is_learned)


def _start(replica: Tensor, weight: Weight, generator: torch.Generator) -> None:
    """The first values of a weight, in place."""
    if weight.start == "uniform":  # as PyTorch initialises layers
        bound = 1.0 / math.sqrt(weight.fan_in)
        replica.copy_(torch.empty(replica.shape).uniform_(-bound, bound, generator=generator))
    elif weight.start == "normal":
        replica.copy_(torch.randn(replica.shape, generator=generator))
    else:
        replica.fill_(float(weight.start))
