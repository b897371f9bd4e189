"""A few numbers far outside of the others, such as 99999 for a broken sensor, do not change the scale of the others."""

import math
import statistics

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from oddshot import FewShotDetector
from oddshot.data.encoding import Encoding
from oddshot.data.encoding.scaling import compute_robust_moments


def reference_range(values: list[float]) -> tuple[float, float]:
    """The plausible range of at least 20 numbers, from its description alone."""
    median = statistics.median(values)
    deviating = sorted(abs(value - median) for value in values if value != median)
    n_outside = max(1, math.floor(0.02 * len(deviating)))
    if len(deviating) <= n_outside:
        return -math.inf, math.inf
    farthest = 10 * deviating[-1 - n_outside]
    return median - farthest, median + farthest


@given(
    st.lists(st.floats(-10, 10, width=32) | st.sampled_from([0.0, 1e5, -1e7]), min_size=20, max_size=130),
    st.integers(0, 19),
)
def test_agrees_with_loops(values: list[float], n_missing: int) -> None:
    low, high = reference_range(values)
    clipped = [min(max(value, low), high) for value in values]
    mean = math.fsum(clipped) / len(clipped)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in clipped) / len(clipped))
    column = np.array([*values, *[np.nan] * n_missing])[:, None]
    moments = compute_robust_moments([column[:7], column[7:]])
    assert moments.mean[0] == pytest.approx(mean, rel=1e-9, abs=1e-9)
    if min(clipped) < max(clipped):
        assert moments.scale[0] == pytest.approx(deviation, rel=1e-9)
        assert moments.limit[0] == pytest.approx(min(2**30, max(high - mean, mean - low) / deviation), rel=1e-6)


def test_few_numbers_tell_nothing_of_what_is_far() -> None:
    values = np.array([*np.linspace(-1, 1, 18), 1e6])[:, None]
    moments = compute_robust_moments([values])
    assert moments.scale[0] == pytest.approx(values.std())
    assert moments.limit[0] == 2**30


def test_a_distant_number_is_said_and_clipped_where_it_is_learned_from() -> None:
    numbers = [*np.linspace(-1, 1, 40).tolist(), 99999.0]
    with pytest.warns(UserWarning, match=r"column 'a': 1 of 41 numbers is far outside of the others, such as 99999"):
        encoding = Encoding.fit([pa.table({"a": numbers})])
    rows = encoding.transform(pa.table({"a": [1.0, 99999.0, 1e9]}))
    usual, distant, farther = encoding.clip(rows)[:, 0].tolist()
    assert 0.1 < usual < 1.5
    assert 10 * usual - 3 < distant == farther < 20
    assert rows[0, 0] == usual < distant < rows[1, 0] < rows[2, 0]
    again = Encoding.from_dict(encoding.to_dict())
    np.testing.assert_array_equal(again.clip(rows), encoding.clip(rows))


def test_a_wild_cell_among_the_unlabelled_rows_does_not_ruin_the_ranking() -> None:
    rng = np.random.default_rng(0)
    normal, signs = rng.normal(size=(505, 3)), rng.choice([-1, 1], (51, 3))
    anomalous = rng.normal(size=(51, 3)) + signs * [4, 0, 4]
    rows = np.concatenate([normal[:205], anomalous[:1]])
    labels = np.array([0] * 5 + [-1] * 200 + [1])
    queries, truth = np.concatenate([normal[205:], anomalous[1:]]), np.repeat([0, 1], [300, 50])
    wild = rows.copy()
    wild[7] = 99999
    with pytest.warns(UserWarning, match="far outside"):
        detector = FewShotDetector().fit(wild, labels)
    clean = roc_auc_score(truth, FewShotDetector().fit(rows, labels).score_samples(queries))
    assert roc_auc_score(truth, detector.score_samples(queries)) > clean - 0.02
