"""The layer over the rows and columns of many tasks."""

import pytest
import torch

from oddshot.model.taskwise import taskwise_layer


def draw(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


@pytest.mark.parametrize("bias_shape", [None, (2, 3, 1), (2, 3, 1, 1), (2, 3, 5, 1), (2, 3, 1, 6), (2, 3, 5, 6)])
@pytest.mark.parametrize("is_rectified", [False, True])
def test_values_and_gradients_are_those_of_one_matrix_product(
    bias_shape: tuple[int, ...] | None, is_rectified: bool
) -> None:
    W, x, weights = draw(2, 3, 4), draw(2, 4, 5, 6), draw(2, 3, 5, 6)
    b = None if bias_shape is None else draw(*bias_shape)
    inputs = (W, x) if b is None else (W, x, b)
    out = taskwise_layer(W, x, b, is_rectified)
    plain = torch.einsum("roi,ritn->rotn", W, x) + (0 if b is None else b.view(*b.shape, *[1] * (4 - b.dim())))
    plain = plain.relu() if is_rectified else plain
    torch.testing.assert_close(out, plain)
    found = torch.autograd.grad((out * weights).sum(), inputs)
    expected = torch.autograd.grad((plain * weights).sum(), inputs)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    with torch.no_grad():
        assert torch.equal(taskwise_layer(W, x, b, is_rectified), out)


def test_rows_need_no_gradient() -> None:
    W, x = torch.ones(1, 2, 3, requires_grad=True), torch.ones(1, 3, 4, 5)
    taskwise_layer(W, x, None).sum().backward()
    torch.testing.assert_close(W.grad, torch.full((1, 2, 3), 20.0))


@pytest.mark.parametrize("with_gradient", [True, False])
def test_the_bias_is_not_written_to(with_gradient: bool) -> None:
    W, x, b = torch.ones(1, 2, 3), torch.ones(1, 3, 4, 5), torch.zeros(1, 2, 4, 5)
    with torch.set_grad_enabled(with_gradient):
        taskwise_layer(W, x, b)
    assert not b.any()
