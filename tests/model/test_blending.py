import math

import numpy as np
import pytest
import torch

from oddshot.model.blending import standardise_own, standardised_log


def spread_of(logs):
    """With what is known before any row: as much as of 20 rows with a standard deviation of 0.35."""
    return math.sqrt((sum((one - np.mean(logs)) ** 2 for one in logs) + 20 * 0.35**2) / (len(logs) + 20))


def test_logarithms_are_standardised_by_what_is_finite():
    distance = torch.tensor([[1.0, 2.0, math.inf, 8.0]], dtype=torch.float64)
    logs = np.log(np.array([1.0, 2.0, 8.0]) + 1e-3)
    statistics, own = standardise_own(distance)
    np.testing.assert_allclose(statistics, [[logs.mean(), spread_of(logs)]])
    expected = (logs - logs.mean()) / spread_of(logs)
    for found in (own, standardised_log(distance, statistics)):
        np.testing.assert_allclose(found, [[*expected[:2], 0, expected[2]]])


def test_many_rows_tell_their_spread():
    logs = np.random.default_rng(0).normal(scale=2.0, size=5000)
    assert float(standardise_own(torch.from_numpy(np.exp(logs)))[0][1]) == pytest.approx(logs.std(), rel=0.01)


def test_equal_and_unknown_distances_are_finite():
    for distance in (torch.zeros(4), torch.full((1,), math.inf), torch.full((3,), 7.0)):
        statistics, own = standardise_own(distance)
        assert torch.isfinite(statistics).all()
        assert float(statistics[1]) > 0.1
        assert (own == 0).all()
        assert (standardised_log(distance, statistics) == 0).all()


def test_no_distance_is_finite():
    assert float(standardised_log(torch.zeros(1), torch.tensor([0.0, 1.0]))) == pytest.approx(math.log(1e-3))
