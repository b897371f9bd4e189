"""A layer over the rows and columns of many tasks, whose gradient is summed task by task."""

from typing import Any

import torch
from torch import Tensor


class TaskwiseLayer(torch.autograd.Function):
    """W x + b for all positions of all tasks: W [R, out, in], x [R, in, T, P], b [R, out, 1] -> [R, out, T · P].

    The gradient of W is a sum over T · P positions, with few numbers as its result. As one matrix product it would keep
    a few multiprocessors of a GPU busy and all others waiting; here each task is a product of its own.
    """

    @staticmethod
    def forward(ctx: Any, W: Tensor, x: Tensor, b: Tensor | None) -> Tensor:
        """The same product as torch.bmm or torch.baddbmm."""
        ctx.save_for_backward(W, x)
        return torch.bmm(W, x.flatten(2)) if b is None else torch.baddbmm(b, W, x.flatten(2))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Gradients of W, x and b, as far as they are needed."""
        (W, x), (gradient,) = ctx.saved_tensors, gradients
        needs_W, needs_x, needs_b = ctx.needs_input_grad
        of_W = of_x = of_b = None
        if needs_W:
            pairs = zip(gradient.unflatten(2, x.shape[2:]), x, strict=True)
            of_W = torch.stack([torch.bmm(g.transpose(0, 1), y.permute(1, 2, 0)).sum(0) for g, y in pairs])
        if needs_x:
            of_x = torch.bmm(W.mT, gradient).view_as(x)
        if needs_b:
            of_b = gradient.sum(2, keepdim=True)
        return of_W, of_x, of_b


def taskwise_layer(W: Tensor, x: Tensor, b: Tensor | None) -> Tensor:
    """See TaskwiseLayer."""
    out: Tensor = TaskwiseLayer.apply(W, x, b)  # type: ignore[no-untyped-call]
    return out
