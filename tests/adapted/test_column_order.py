"""Neither the order of columns nor constant ones change a ranking or a decision."""

import numpy as np
import pytest

from oddshot import FewShotDetector


def move(X, order):
    """Two constant columns more, and all columns in another order."""
    return np.column_stack([X, np.full((len(X), 2), [3.0, -1e6])])[:, order]


@pytest.mark.parametrize(
    ("n_normal", "n_anomaly", "n_unlabelled"), [(5, 1, 0), (5, 0, 0), (20, 4, 0), (5, 1, 200), (20, 0, 200)]
)
@pytest.mark.parametrize("width", [3, 80])
def test_scores_and_decisions_do_not_depend_on_the_order_of_columns_nor_on_constant_ones(
    n_normal, n_anomaly, n_unlabelled, width
):
    rng = np.random.default_rng(0)
    X, new = (rng.standard_t(3, size=(n, width)) for n in (n_normal + n_anomaly + n_unlabelled, 500))
    X[n_normal : n_normal + n_anomaly] += 1
    y = np.repeat([0, 1, -1], [n_normal, n_anomaly, n_unlabelled])
    order = rng.permutation(width + 2)
    plain, moved = FewShotDetector().fit(X, y), FewShotDetector().fit(move(X, order), y)
    expected, found = plain.score_samples(new), moved.score_samples(move(new, order))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * expected.std())
    assert (moved.predict(move(new, order)) == plain.predict(new)).mean() >= 0.999
    np.testing.assert_allclose(moved.decision_scores_, plain.decision_scores_, rtol=0, atol=1e-4 * expected.std())
