"""Several processes that train one model together, as torchrun starts them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, distributed

from oddshot.errors import InputError
from oddshot.model.device import resolve_device


@dataclass(frozen=True)
class Ranks:
    """This process's number and how many there are. Every one draws the same batches and works on its part of each."""

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that prints and writes."""
        return self.rank == 0

    def part(self, n_tasks: int) -> tuple[int, int]:
        """First task and end of this process's part of a batch; parts differ by one task at most."""
        return self.rank * n_tasks // self.size, (self.rank + 1) * n_tasks // self.size

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor, in place, by its sum over all processes."""
        if self.size == 1:
            return
        message = torch.cat([tensor.detach().reshape(-1).double() for tensor in tensors])
        distributed.all_reduce(message)
        for tensor, total in zip(tensors, message.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.detach().copy_(total.view_as(tensor))

    def agree(self, value: Tensor) -> Tensor:
        """The first process's value, so that all of them stop at the same epoch."""
        if self.size > 1:
            distributed.broadcast(value, 0)
        return value


@contextmanager
def joined_ranks(device: str) -> Iterator[tuple[Ranks, str]]:
    """The processes that torchrun started, and this one's device; outside of torchrun, this process alone.

    They exchange gradients by NCCL where they compute on GPUs, one each, and by Gloo elsewhere.
    """
    size = int(os.environ["WORLD_SIZE"]) if "TORCHELASTIC_RUN_ID" in os.environ else 1
    if size == 1:
        yield Ranks(), device
        return
    on_cuda = resolve_device(device).type == "cuda"
    if on_cuda and device in ("auto", "cuda"):
        device = f"cuda:{os.environ['LOCAL_RANK']}"
    if on_cuda:
        torch.cuda.set_device(resolve_device(device))
    try:
        distributed.init_process_group("nccl" if on_cuda else "gloo")
    except (RuntimeError, ValueError) as error:
        raise InputError(f"the processes of torchrun cannot be joined: {str(error).splitlines()[0]}") from None
    try:
        yield Ranks(distributed.get_rank(), size), device
    finally:
        distributed.destroy_process_group()
