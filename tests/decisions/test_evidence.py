import numpy as np
import torch

from oddshot.decisions import evidence as module
from oddshot.decisions.evidence import Evidence, gather_evidence
from oddshot.methods.contract import LabelledRows
from tests.decisions.samples import SumScore, make_evidence


def rows_of(*numbers):
    """One replica of tasks with such rows of two columns that add up to the numbers: [1, T, n, 2]."""
    total = torch.tensor(numbers, dtype=torch.float32)
    return torch.stack([total - 1, torch.ones_like(total)], dim=-1)[None]


def test_scores_of_each_kind_of_rows_are_told_apart():
    support = LabelledRows(rows_of([1, 2, 3], [4, 5, 6]), rows_of([10, 20], [30, 40]))
    found = gather_evidence(SumScore(), support, rows_of([100], [200]))
    assert found.normal.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found.anomaly.tolist() == [[10, 20], [30, 40]]
    assert found.unlabelled.tolist() == [[100], [200]]
    assert not found.is_leave_one_out
    assert not found.is_standardised
    assert found.normal.dtype == found.anomaly.dtype == np.float64


def test_without_anomalies_and_unlabelled_rows_there_are_no_such_scores():
    normal = rows_of([1, 2, 3])
    found = gather_evidence(SumScore(), LabelledRows(normal, normal[:, :, :0]))
    assert isinstance(found, Evidence)
    assert (found.anomaly.shape, found.unlabelled.shape) == ((1, 0), (1, 0))


def test_of_many_rows_some_are_scored_evenly_spaced_from_the_first_to_the_last(monkeypatch):
    monkeypatch.setattr(module, "MAX_SCORED_ROWS", 5)
    support = LabelledRows(rows_of([*range(9)]), rows_of([*range(5)]))
    found = gather_evidence(SumScore(), support, rows_of([*range(41)]))
    assert found.normal.tolist() == [[0, 2, 4, 6, 8]]
    assert found.anomaly.tolist() == [[0, 1, 2, 3, 4]]
    assert found.unlabelled.tolist() == [[0, 10, 20, 30, 40]]


def test_two_hundred_rows_of_a_kind_are_scored_at_most():
    n = 1000
    support = LabelledRows(rows_of([*range(n)]), rows_of([1.0]))
    found = gather_evidence(SumScore(), support)
    assert found.normal.shape == (1, 200)
    assert (found.normal[0, 0], found.normal[0, -1]) == (0, n - 1)


def test_gathering_records_no_gradient():
    class Learned(SumScore):
        def __call__(self, x):
            self.out = super().__call__(x * weight)
            return self.out

    weight = torch.ones(2, requires_grad=True)
    score = Learned()
    gather_evidence(score, LabelledRows(rows_of([1.0]), rows_of([2.0])))
    assert not score.out.requires_grad


def test_columns_that_vary_are_counted():
    support = LabelledRows(rows_of([1, 2, 3]), rows_of([5.0]))
    support.normal[:, :, 0, 1] = 7  # beside another column of ones
    assert gather_evidence(SumScore(), support).n_columns.tolist() == [2]
    assert gather_evidence(SumScore(), LabelledRows(rows_of([1, 1]), rows_of([1]))).n_columns.tolist() == [0]


def test_scores_without_a_scale_of_their_own_are_compressed():
    plain = make_evidence([[0.5, -3.0]], [[1e6]], is_standardised=False)
    found = plain.standardised(0.5)
    np.testing.assert_allclose(found.normal, np.arcsinh([[1.0, -6.0]]))
    np.testing.assert_allclose(found.anomaly, np.arcsinh([[2e6]]))
    assert found.is_standardised
    assert found.standardised(9.0) is found
