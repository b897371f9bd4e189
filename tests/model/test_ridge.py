import itertools

import numpy as np
import pytest
import torch

from oddshot.model.ridge import solve_ridge
from tests import references


@pytest.mark.parametrize(("n", "J"), [(1, 4), (3, 8), (8, 3)])
def test_weights_are_those_of_the_normal_equations(n, J):
    rng = np.random.default_rng(0)
    z, target, ridge = rng.normal(size=(2, 3, n, J)), rng.normal(size=(2, 3, n)), rng.uniform(0.1, 2, size=(2, 3))
    ours = solve_ridge(*map(torch.from_numpy, (z, target, ridge)))
    assert ours.shape == (2, 3, J)
    for r, t in itertools.product(range(2), range(3)):
        expected = references.ridge_weights(z[r, t], target[r, t], ridge[r, t])
        np.testing.assert_allclose(ours[r, t], expected, rtol=1e-8, atol=1e-10)


def test_one_target_for_all_tasks_is_that_of_each():
    rng = np.random.default_rng(1)
    z, target = torch.from_numpy(rng.normal(size=(2, 3, 5, 4))), torch.from_numpy(rng.normal(size=5))
    ridge = torch.tensor(0.3, dtype=torch.float64)
    torch.testing.assert_close(solve_ridge(z, target, ridge), solve_ridge(z, target.repeat(2, 3, 1), ridge))
