"""Layers of tasks that differ by a low-rank matrix, against a weight matrix for each task."""

import itertools

import numpy as np
import pytest
import torch

from oddshot.model.low_rank import LowRankLayer

R, T, N_IN, N_OUT = 2, 3, 4, 5


def draw(seed, *shape):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def stepped(steps):
    """A layer after steps on so many rows each, and its weights by loops over rows: [R][T] of [in, out]."""
    W = draw(0, R, N_IN, N_OUT)
    layer, dense = LowRankLayer.start(W, T), [[W[r].numpy().copy() for _ in range(T)] for r in range(R)]
    for k, n_rows in enumerate(steps):
        x, change = draw([1, k], R, T, n_rows, N_IN), draw([2, k], R, T, n_rows, N_OUT)
        layer = layer.step(x, change)
        for r, t, n in itertools.product(range(R), range(T), range(n_rows)):
            dense[r][t] += np.outer(x[r, t, n], change[r, t, n])
    return layer, dense


@pytest.mark.parametrize("steps", [(), (1,), (3, 3), (2, 1, 4)])
def test_a_layer_is_the_product_with_the_weight_of_its_task(steps):
    layer, dense = stepped(steps)
    x, y = draw(3, R, T, 6, N_IN), draw(4, R, T, 6, N_OUT)
    forward, backward = layer(x), layer.backward(y)
    assert (forward.shape, backward.shape) == ((R, T, 6, N_OUT), (R, T, 6, N_IN))
    for r, t in itertools.product(range(R), range(T)):
        np.testing.assert_allclose(layer.weight(r, t), dense[r][t], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(forward[r, t], x[r, t].numpy() @ dense[r][t], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(backward[r, t], y[r, t].numpy() @ dense[r][t].T, rtol=1e-10, atol=1e-12)


def test_a_step_leaves_the_layer_before_it_as_it_was():
    layer, _ = stepped((2,))
    before = layer.weight(1, 2)
    layer.step(draw(5, R, T, 1, N_IN), draw(6, R, T, 1, N_OUT))
    torch.testing.assert_close(layer.weight(1, 2), before, rtol=0, atol=0)
