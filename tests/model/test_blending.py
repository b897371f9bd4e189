import math

import numpy as np
import torch

from oddshot.model.blending import MIN_LOG_SPREAD, log_statistics, standardised_log


def test_logarithms_are_standardised_by_what_is_finite():
    distance = torch.tensor([[1.0, 2.0, math.inf, 8.0]], dtype=torch.float64)
    logs = np.log(np.array([1.0, 2.0, 8.0]) + 1e-3)
    statistics = log_statistics(distance)
    np.testing.assert_allclose(statistics, [[logs.mean(), logs.std()]])
    expected = (logs - logs.mean()) / logs.std()
    np.testing.assert_allclose(standardised_log(distance, statistics), [[*expected[:2], 0, expected[2]]])


def test_equal_and_unknown_distances_have_the_least_spread():
    for distance in (torch.zeros(4), torch.full((1,), math.inf), torch.full((3,), 7.0)):
        statistics = log_statistics(distance)
        assert torch.isfinite(statistics).all()
        assert float(statistics[1]) == MIN_LOG_SPREAD
        assert (standardised_log(distance, statistics) == 0).all()


def test_no_distance_is_finite():
    assert float(standardised_log(torch.zeros(1), torch.tensor([0.0, 1.0]))) == np.log(1e-3)
