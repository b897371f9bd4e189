"""Means over the columns of curves between two knots, with a backward pass of few steps."""

from typing import Any

import torch
from torch import Tensor


class CurvePooling(torch.autograd.Function):
    """Weighted means over the columns of the curves, and the mean of their fourth powers with the first weights.

    knots: [R, C, T, M, 2 N], C curves at the knots left and then right of N values. share: [R, 1, T, M, N], of the
    right knot. weights: [R, T, H, M]. Returns means: [R, C, T, H, N] and powers: [R, C, T, 1, N].
    """

    @staticmethod
    def forward(ctx: Any, knots: Tensor, share: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Both are linear between the knots: the mean is that of the value, and that of the fourth power."""
        value, power = (between_knots(part, share) for part in (knots, fourth_power(knots)))
        ctx.save_for_backward(knots, share, weights, value, power)
        return weights.unsqueeze(1) @ value, weights[:, None, :, :1] @ power

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Gradients of knots, share and weights, as far as they are needed."""
        knots, share, weights, value, power = ctx.saved_tensors
        of_means, of_powers = gradients
        needs_knots, needs_share, needs_weights = ctx.needs_input_grad
        of_knots = of_share = of_weights = None
        if needs_weights:
            of_weights = (of_means @ value.mT).sum(1)
            of_weights[:, :, :1] += (of_powers @ power.mT).sum(1)
        if needs_knots or needs_share:
            of_value = weights.mT.unsqueeze(1) @ of_means
            of_power = weights[:, None, :, :1].mT * of_powers
        if needs_knots:
            both = knots.unflatten(-1, (2, -1))
            cubes = both.square().mul_(both).mul_(4)
            of_both = torch.addcmul(of_value.unsqueeze(-2), cubes, of_power.unsqueeze(-2), out=cubes)
            of_knots = of_both.mul_(torch.stack([1 - share, share], dim=-2)).flatten(-2)
        if needs_share:
            (left, right), (left4, right4) = (part.chunk(2, -1) for part in (knots, fourth_power(knots)))
            of_share = torch.addcmul(of_value * (right - left), of_power, right4 - left4).sum(1, keepdim=True)
        return of_knots, of_share, of_weights


def pool_curves(knots: Tensor, share: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """See CurvePooling."""
    means, powers = CurvePooling.apply(knots, share, weights)  # type: ignore[no-untyped-call]
    return means, powers


def between_knots(knots: Tensor, share: Tensor) -> Tensor:
    """[R, C, T, M, 2 N], share of the right knot: [R, 1, T, M, N] -> [R, C, T, M, N]."""
    left, right = knots.chunk(2, dim=-1)
    return torch.lerp(left, right, share)


def fourth_power(x: Tensor) -> Tensor:
    """In its mean over columns the largest value counts most."""
    return x.square().square()
