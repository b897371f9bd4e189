import numpy as np
import pytest
import torch

from oddshot.model.neighbours import log_distance, neighbour_distance


@pytest.mark.parametrize("k", [1, 3, 40])
def test_distances_are_those_of_a_loop(k):
    rng = np.random.default_rng(0)
    x, reference = rng.normal(size=(2, 3, 5, 4)), rng.normal(size=(2, 3, 40, 4))
    ours = neighbour_distance(torch.from_numpy(x), torch.from_numpy(reference), k)
    for r, t, i in np.ndindex(2, 3, 5):
        distances = sorted(np.sqrt(np.mean((x[r, t, i] - row) ** 2)) for row in reference[r, t])
        np.testing.assert_allclose(ours[r, t, i], np.mean(distances[:k]), rtol=1e-6)


def test_a_row_is_not_its_own_neighbour():
    rows = torch.tensor([[0.0], [1.0], [5.0]], dtype=torch.float64)
    found = neighbour_distance(rows, rows, 1, torch.eye(3, dtype=torch.bool))
    np.testing.assert_allclose(found, [1, 1, 4])
    np.testing.assert_allclose(neighbour_distance(rows, rows, 2, torch.eye(3, dtype=torch.bool)), [3, 2.5, 4.5])


def test_the_logarithm_of_no_distance_is_finite():
    assert float(log_distance(torch.tensor(0.0))) == pytest.approx(np.log(1e-3))
    assert float(log_distance(torch.tensor(2.0))) == pytest.approx(np.log(2.001))
