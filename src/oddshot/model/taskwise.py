"""A layer over the rows and columns of many tasks, with a backward pass that makes no copies."""

from typing import Any

import torch
from torch import Tensor


class TaskwiseLayer(torch.autograd.Function):
    """W x + b at all positions of all tasks, or its ReLU: W [R, out, in], x [R, in, T, ...] -> [R, out, T, ...].

    b: [R, out, 1], anything else that expands to the result, or None. What torch records for in-place steps on a view
    would copy the gradient several times.
    """

    @staticmethod
    def forward(ctx: Any, W: Tensor, x: Tensor, b: Tensor | None, is_rectified: bool) -> Tensor:
        """The layer as one matrix product for each replica."""
        out = affine(W, x, b)
        if is_rectified:
            out.clamp_min_(0)
        ctx.bias_shape, ctx.is_rectified = None if b is None else b.shape, is_rectified
        ctx.save_for_backward(W, x, *([out] if is_rectified else []))
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        """Gradients of W, x and b, as far as they are needed."""
        W, x, *saved = ctx.saved_tensors
        (gradient,) = gradients
        if ctx.is_rectified:
            gradient = torch.ops.aten.threshold_backward(gradient, saved[0], 0)
        needs_W, needs_x, needs_b, _ = ctx.needs_input_grad
        of_W = _gradient_of_weights(gradient, x) if needs_W else None
        of_x = torch.bmm(W.mT, gradient.flatten(2)).view_as(x) if needs_x else None
        of_b = _like(gradient, ctx.bias_shape).sum_to_size(ctx.bias_shape) if needs_b else None
        return of_W, of_x, of_b, None


def taskwise_layer(W: Tensor, x: Tensor, b: Tensor | None = None, is_rectified: bool = False) -> Tensor:
    """See TaskwiseLayer."""
    if torch.is_grad_enabled():
        out: Tensor = TaskwiseLayer.apply(W, x, b, is_rectified)  # type: ignore[no-untyped-call]
        return out
    out = affine(W, x, b)
    return out.clamp_min_(0) if is_rectified else out


def affine(W: Tensor, x: Tensor, b: Tensor | None) -> Tensor:
    """W x + b: [R, out, in], [R, in, T, ...] -> [R, out, T, ...]."""
    shape = (*W.shape[:2], *x.shape[2:])
    if b is None:
        return torch.bmm(W, x.flatten(2)).view(shape)
    if b.dim() == 3:
        return torch.baddbmm(b, W, x.flatten(2)).view(shape)
    out = b.expand(shape).clone(memory_format=torch.contiguous_format)
    out.flatten(2).baddbmm_(W, x.flatten(2))
    return out


def _like(gradient: Tensor, bias_shape: torch.Size) -> Tensor:
    """The gradient with as many dimensions as the bias."""
    return gradient.flatten(2) if len(bias_shape) == 3 else gradient


def _gradient_of_weights(gradient: Tensor, x: Tensor) -> Tensor:
    """[R, out, T, ...], [R, in, T, ...] -> [R, out, in], a sum over all positions, with few numbers as its result.

    As one matrix product it would keep a few multiprocessors of a GPU busy and all others waiting; there, each task is
    a product of its own.
    """
    if not x.is_cuda:
        return torch.bmm(gradient.flatten(2), x.flatten(2).mT)
    pairs = zip(gradient.flatten(3), x.flatten(3), strict=True)
    return torch.stack([torch.bmm(g.transpose(0, 1), y.permute(1, 2, 0)).sum(0) for g, y in pairs])
