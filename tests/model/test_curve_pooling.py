"""Means over columns of curves that are linear between two knots."""

import torch

from oddshot.model.curve_pooling import pool_curves


def draw(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.rand(shape, generator=generator, dtype=torch.float64).requires_grad_()


def test_means_are_those_of_a_loop_over_columns() -> None:
    knots, share, weights = (part.detach() for part in (draw(2, 3, 4, 5, 12), draw(2, 1, 4, 5, 6), draw(2, 4, 2, 5)))
    means, powers = pool_curves(knots, share, weights)
    r, c, t, n = 1, 2, 3, 4
    expected, expected_power = [0.0, 0.0], 0.0
    for m in range(5):
        left, right, s = knots[r, c, t, m, n], knots[r, c, t, m, 6 + n], share[r, 0, t, m, n]
        for h in range(2):
            expected[h] += float(weights[r, t, h, m] * (left + s * (right - left)))
        expected_power += float(weights[r, t, 0, m] * (left**4 + s * (right**4 - left**4)))
    torch.testing.assert_close(means[r, c, t, :, n].tolist(), expected)
    torch.testing.assert_close(float(powers[r, c, t, 0, n]), expected_power)


def test_gradients_are_those_of_finite_differences() -> None:
    knots, share, weights = draw(1, 2, 2, 3, 4), draw(1, 1, 2, 3, 2), draw(1, 2, 2, 3)
    assert torch.autograd.gradcheck(pool_curves, (knots, share, weights))
    assert torch.autograd.gradcheck(lambda one: pool_curves(one, share.detach(), weights.detach()), knots)
    assert torch.autograd.gradcheck(lambda one: pool_curves(knots.detach(), share.detach(), one), weights)
