"""The layer whose gradient is summed task by task."""

import pytest
import torch

from oddshot.model.taskwise import taskwise_layer


@pytest.mark.parametrize("with_bias", [True, False])
def test_values_and_gradients_are_those_of_one_matrix_product(with_bias: bool) -> None:
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()

    W, x, b, weights = draw(2, 3, 4), draw(2, 4, 5, 6), draw(2, 3, 1), draw(2, 3, 30)
    inputs = (W, x, b) if with_bias else (W, x)
    out = taskwise_layer(W, x, b if with_bias else None)
    plain = torch.bmm(W, x.flatten(2)) + (b if with_bias else 0)
    torch.testing.assert_close(out, plain)
    found = torch.autograd.grad((out * weights).sum(), inputs)
    expected = torch.autograd.grad((plain * weights).sum(), inputs)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_rows_need_no_gradient() -> None:
    W, x = torch.ones(1, 2, 3, requires_grad=True), torch.ones(1, 3, 4, 5)
    taskwise_layer(W, x, None).sum().backward()
    torch.testing.assert_close(W.grad, torch.full((1, 2, 3), 20.0))
