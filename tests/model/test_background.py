"""Distances to a background in place, compared with plain formulas."""

import numpy as np
import pytest
import torch

from oddshot.model.background import fill_soft_minima, smallest_first


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("bandwidth", [0.01, 0.7, 1e8])
@pytest.mark.parametrize("dim", [0, 1])
def test_soft_minima_are_those_of_the_formula(size, bandwidth, dim):
    distance = (size * (1 + torch.rand(30, 50, generator=torch.Generator().manual_seed(0)))).clamp_max(1e9)
    out = torch.empty(3, 30 if dim == 1 else 50)
    nearest = distance.amin(dim)
    out[0] = nearest
    exact, least = distance.double().numpy() / bandwidth, nearest.double().numpy() / bandwidth
    n = distance.shape[dim]
    expected = [least]
    for power in (1, 4):
        closeness = np.exp(power * (np.expand_dims(least, dim) - exact)).sum(axis=dim)
        expected.append(least - np.log(closeness / n) / power)
    fill_soft_minima(distance, dim, bandwidth, n, out)
    np.testing.assert_allclose(out, expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_smallest_come_first(dtype):
    values = torch.rand(3, 4, 30, generator=torch.Generator().manual_seed(0)).to(dtype).square_()
    values[0, 0, 5], values[1, 2, :7] = 0.0, torch.inf
    ordered = values.sort(-1).values
    found = smallest_first(values, 6)
    assert found is values
    assert torch.equal(found[..., :6].sort(-1).values, ordered[..., :6])
    assert torch.equal(found.sort(-1).values, ordered)
