import math

import numpy as np
import pytest
import torch

from oddshot.model.neighbours import MIN_SPREAD, column_spread, compress, mean_distance


@pytest.mark.parametrize("k", [1, 3, 40])
def test_distances_are_those_of_a_loop(k):
    rng = np.random.default_rng(0)
    x, reference = rng.normal(size=(2, 3, 5, 4)), rng.normal(size=(2, 3, 40, 4))
    ours = mean_distance(torch.from_numpy(x), torch.from_numpy(reference), k)
    for r, t, i in np.ndindex(2, 3, 5):
        distances = sorted(np.sqrt(np.mean((x[r, t, i] - row) ** 2)) for row in reference[r, t])
        np.testing.assert_allclose(ours[r, t, i], np.mean(distances[:k]), rtol=1e-6)


def test_a_row_is_not_its_own_neighbour():
    rows = torch.tensor([[0.0], [1.0], [5.0]], dtype=torch.float64)
    found = mean_distance(rows, rows, 1, torch.eye(3, dtype=torch.bool))
    np.testing.assert_allclose(found, [1, 1, 4])
    np.testing.assert_allclose(mean_distance(rows, rows, 2, torch.eye(3, dtype=torch.bool)), [3, 2.5, 4.5])
    assert float(mean_distance(rows[:1], rows[:1], 1, torch.ones(1, 1, dtype=torch.bool))) == math.inf


def test_large_values_become_logarithms():
    x = torch.tensor([0.0, 0.01, -0.01, 1e4, -1e4], dtype=torch.float64)
    np.testing.assert_allclose(compress(x), [0, 0.01, -0.01, math.log(2e4), -math.log(2e4)], rtol=1e-4)


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float32, 1e-6), (torch.float64, 1e-14)])
def test_compressed_values_are_those_of_asinh(dtype, rtol):
    x = torch.cat([torch.zeros(1), torch.logspace(-12, 9, 200)]).to(dtype)
    x = torch.cat([x, -x])
    np.testing.assert_allclose(compress(x), np.arcsinh(x.double().numpy()), rtol=rtol)


@pytest.mark.parametrize("k", [1, 2, 10])
def test_equal_rows_are_at_no_distance(k):
    x = torch.randn(40, 5, generator=torch.Generator().manual_seed(0)) * 100
    reference = torch.cat([x, x + 1])
    others = sorted(float((x[0].double() - row.double()).square().mean().sqrt()) for row in reference)
    assert float(mean_distance(x, reference, k)[0]) == pytest.approx(sum(others[:k]) / k, rel=1e-4)
    assert others[0] == 0


def test_the_spread_of_a_column_has_a_least_value():
    rows = torch.tensor([[1.0, 5.0, 0.0], [3.0, 5.0, 0.01]], dtype=torch.float64)
    np.testing.assert_allclose(column_spread(rows[:, [0, 2]]), [[1.0, MIN_SPREAD]])


def test_constant_columns_do_not_make_differences_smaller():
    rows, x = torch.randn(6, 3, dtype=torch.float64), torch.randn(4, 3, dtype=torch.float64)

    def distance(rows, x):
        spread = column_spread(rows)
        return mean_distance(x / spread, rows / spread, 2)

    constant = [torch.cat([part, part.new_full((len(part), 5), 2.0)], dim=1) for part in (rows, x)]
    torch.testing.assert_close(distance(*constant), distance(rows, x))
    torch.testing.assert_close(column_spread(rows[:1]), rows.new_full((1, 3), MIN_SPREAD))


def test_near_rows_of_one_column_are_as_far_apart_as_they_are():
    reference = torch.tensor([[0.0], [100.0], [-50.0]])
    x = torch.tensor([[100.00003], [0.001], [-49.9]])
    expected = (x.double() - reference.double()[[1, 0, 2]]).abs().squeeze(-1)
    torch.testing.assert_close(mean_distance(x, reference, 1), expected, rtol=1e-6, atol=0)
