"""Tasks a few at a time, where the memory that all at once would take is too much."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from oddshot.methods.contract import Rows

Loss = Callable[[Rows, Rows], Tensor]  # support, query -> [R], a mean over tasks


def chunks_of(rows: Rows, size: int) -> list[Rows]:
    """The same rows, at most `size` tasks in each."""
    return [Rows(*parts) for parts in zip(*(torch.split(part, size, dim=1) for part in rows), strict=True)]


def loss_by_chunks(loss: Loss, parameters: Sequence[Tensor], support: Rows, query: Rows, size: int) -> Tensor:
    """loss(support, query) with its gradient, as if all tasks had been taken at once: [R].

    Each chunk's gradient is taken before the next chunk is looked at. parameters: [R, ...] each.
    """
    n_tasks = support.normal.shape[1]
    losses: list[Tensor] = []
    gradients = [torch.zeros_like(parameter) for parameter in parameters]
    for chunk in zip(chunks_of(support, size), chunks_of(query, size), strict=True):
        part = loss(*chunk) * (chunk[0].normal.shape[1] / n_tasks)
        losses.append(part.detach())
        if part.requires_grad:
            for sum_, gradient in zip(gradients, torch.autograd.grad(part.sum(), parameters), strict=True):
                sum_ += gradient
    result: Tensor = _KnownGradient.apply(torch.stack(losses).sum(0), gradients, *parameters)  # type: ignore[no-untyped-call]
    return result


class _KnownGradient(torch.autograd.Function):
    """A loss [R] whose gradient with respect to the parameters is known already."""

    @staticmethod
    def forward(ctx: Any, loss: Tensor, gradients: list[Tensor], *parameters: Tensor) -> Tensor:
        ctx.gradients = gradients
        return loss

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:
        (grad,) = grad_outputs
        return None, None, *(g * grad.to(g.dtype).reshape(-1, *[1] * (g.ndim - 1)) for g in ctx.gradients)
