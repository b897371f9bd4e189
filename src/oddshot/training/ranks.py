"""Several processes that train one model together, as torchrun starts them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, distributed

from oddshot.errors import InputError
from oddshot.training.device import resolve_device


@dataclass(frozen=True)
class Ranks:
    """The rank of this process and the number of processes.

    Every process draws the same batches and works on its own shard of the tasks of each batch.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that prints and writes files."""
        return self.rank == 0

    def shard(self, n_tasks: int) -> tuple[int, int]:
        """First task and end of this process's shard of a batch; the sizes of shards differ by at most one task."""
        return self.rank * n_tasks // self.size, (self.rank + 1) * n_tasks // self.size

    def all_reduce_sum(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor, in place, by its sum over all processes."""
        if self.size == 1:
            return
        message = torch.cat([tensor.detach().reshape(-1).double() for tensor in tensors])
        distributed.all_reduce(message)
        for tensor, total in zip(tensors, message.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.detach().copy_(total.view_as(tensor))

    def broadcast(self, value: Tensor) -> Tensor:
        """The value of the first process, in all processes."""
        if self.size > 1:
            distributed.broadcast(value, 0)
        return value


@contextmanager
def torchrun_ranks(device: str) -> Iterator[tuple[Ranks, str]]:
    """Join the processes that torchrun started. Yields them and this process's device.

    Without torchrun there is only this process. Gradients are exchanged by NCCL if the processes compute on GPUs, one
    for each process, and by Gloo otherwise.
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
