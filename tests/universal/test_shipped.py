import numpy as np
import pytest

from oddshot import FewShotDetector, load_universal
from oddshot.score.rows import LabelledRows


def test_the_file_is_read_once():
    assert load_universal() is load_universal()


def test_it_is_used_as_it_is():
    """Everybody has the same object: nothing that is done with it may change it."""
    before = {name: value.copy() for name, value in load_universal().method.weights.items()}
    rows = np.eye(4)
    once, again = (FewShotDetector(load_universal()).fit(rows, [0, 0, 0, 1]).score_samples(rows) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    for name, value in load_universal().method.weights.items():
        np.testing.assert_array_equal(value, before[name])


@pytest.mark.parametrize("n_anomaly", [0, 1, 2])
@pytest.mark.parametrize("kind", ["normal", "whole", "heavy"])
def test_many_rows_of_one_column_score_the_same_in_single_and_double_precision(kind, n_anomaly):
    rng = np.random.default_rng(3)
    draw = {
        "normal": lambda n: rng.normal(size=n),
        "whole": lambda n: rng.integers(0, 9, n),
        "heavy": lambda n: rng.standard_t(1.5, n),
    }[kind]
    parts = [draw(n).astype(np.float32)[:, None] for n in (5, n_anomaly, 1000, 200)]
    single = load_universal().method
    scores = []
    for dtype in (np.float32, np.float64):
        weights = {name: value.astype(dtype) for name, value in single.weights.items()}
        method = type(single)(single.n_attributes, single.config, weights)
        normal, anomaly, unlabelled, query = (part.astype(dtype) for part in parts)
        scores.append(method.relate(LabelledRows(normal, anomaly + 3), unlabelled)(query))
    np.testing.assert_allclose(*scores, rtol=1e-3, atol=1e-5 * scores[1].max())
