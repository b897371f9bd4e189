"""The scores of the rows that tasks were adapted with."""

import numpy as np
import pytest

from oddshot.decisions import support_scores as module
from oddshot.decisions.support_scores import SupportScores
from oddshot.score.rows import LabelledRows
from tests.decisions.samples import SumScore, make_scores
from tests.methods.samples import build, pick, random_rows, without_anomalies


def rows_of(*numbers):
    """Tasks with such rows of two columns that add up to the numbers: [T, n, 2]."""
    total = np.array(numbers, dtype=np.float32)
    return np.stack([total - 1, np.ones_like(total)], axis=-1)


def test_scores_of_each_kind_of_rows_are_told_apart():
    support = LabelledRows(rows_of([1, 2, 3], [4, 5, 6]), rows_of([10, 20], [30, 40]))
    found = SupportScores.of(SumScore(), support, rows_of([100], [200]))
    assert found.normal.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found.anomaly.tolist() == [[10, 20], [30, 40]]
    assert found.unlabelled.tolist() == [[100], [200]]
    assert not found.is_leave_one_out
    assert not found.is_standardised
    assert found.normal.dtype == found.anomaly.dtype == found.unlabelled.dtype == np.float64


def test_without_anomalies_and_unlabelled_rows_there_are_no_such_scores():
    support = LabelledRows(rows_of([1, 2]), rows_of([]))
    found = SupportScores.of(SumScore(), support)
    assert (found.anomaly.shape, found.unlabelled.shape) == ((1, 0), (1, 0))


@pytest.mark.parametrize("with_unlabelled", [False, True])
@pytest.mark.parametrize("n_anomaly", [0, 2])
def test_a_method_that_leaves_rows_out_tells_their_scores(n_anomaly, with_unlabelled):
    support = random_rows(1, n_anomaly=n_anomaly)
    unlabelled = random_rows(2, n_normal=6).normal if with_unlabelled else None
    score = build("relative").adapt(support, unlabelled)
    found, own = SupportScores.of(score, support, unlabelled), score.own()
    assert found.is_leave_one_out
    assert found.is_standardised is (n_anomaly == 0)
    np.testing.assert_array_equal(found.anomaly, own.scores[:, :n_anomaly])
    np.testing.assert_array_equal(found.normal, own.scores[:, n_anomaly : n_anomaly + 5])
    np.testing.assert_array_equal(found.unlabelled, own.scores[:, n_anomaly + 5 :])
    assert found.unlabelled.shape == (3, 6 if with_unlabelled else 0)


@pytest.mark.parametrize("name", ["eigen", "relative", "woanomaly"])
def test_a_task_alone_has_the_scores_it_has_among_others(name):
    support = random_rows(1) if name != "woanomaly" else without_anomalies(random_rows(1))
    unlabelled = random_rows(2, n_normal=6).normal
    together = SupportScores.of(build(name).adapt(support, unlabelled), support, unlabelled)
    for t in range(3):
        one = pick(support, t)
        alone = SupportScores.of(build(name).adapt(one, unlabelled[t]), one, unlabelled[t])
        for part in ("normal", "anomaly", "unlabelled", "n_columns"):
            np.testing.assert_allclose(getattr(alone, part)[0], getattr(together, part)[t], rtol=1e-9)


def test_of_many_rows_some_are_scored_evenly_spaced_from_the_first_to_the_last(monkeypatch):
    monkeypatch.setattr(module, "MAX_SCORED_ROWS", 5)
    support = LabelledRows(rows_of([*range(9)]), rows_of([*range(5)]))
    found = SupportScores.of(SumScore(), support, rows_of([*range(41)]))
    assert found.normal.tolist() == [[0, 2, 4, 6, 8]]
    assert found.anomaly.tolist() == [[0, 1, 2, 3, 4]]
    assert found.unlabelled.tolist() == [[0, 10, 20, 30, 40]]


def test_two_hundred_rows_of_a_kind_are_scored_at_most():
    n = 1000
    support = LabelledRows(rows_of([*range(n)]), rows_of([1.0]))
    found = SupportScores.of(SumScore(), support)
    assert found.normal.shape == (1, 200)
    assert (found.normal[0, 0], found.normal[0, -1]) == (0, n - 1)


def test_columns_that_vary_are_counted():
    support = LabelledRows(rows_of([1, 2, 3]), rows_of([5.0]))
    support.normal[:, 0, 1] = 7  # beside another column of ones
    assert SupportScores.of(SumScore(), support).n_columns.tolist() == [2]
    assert SupportScores.of(SumScore(), LabelledRows(rows_of([1, 1]), rows_of([1]))).n_columns.tolist() == [0]
    constant, varied = LabelledRows(rows_of([1, 1]), rows_of([1])), rows_of([4.0])
    assert SupportScores.of(SumScore(), constant, varied).n_columns.tolist() == [1]


def test_scores_without_a_scale_of_their_own_are_compressed():
    plain = make_scores([[0.5, -3.0]], [[1e6]], [[0.25]], is_standardised=False)
    found = plain.standardised(0.5)
    np.testing.assert_allclose(found.normal, np.arcsinh([[1.0, -6.0]]))
    np.testing.assert_allclose(found.anomaly, np.arcsinh([[2e6]]))
    np.testing.assert_allclose(found.unlabelled, np.arcsinh([[0.5]]))
    assert found.is_standardised
    assert found.standardised(9.0) is found
