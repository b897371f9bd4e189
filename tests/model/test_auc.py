import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from oddshot.model.auc import exact_auc, smooth_auc, smooth_auc_gradient
from tests import references

scores = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=8)  # few values: many ties


@given(normal=scores, anomaly=scores, ties=st.sampled_from([0.0, 0.5, 1.0]))
def test_exact_auc_equals_the_pairs(normal, anomaly, ties):
    ours = exact_auc(torch.tensor(normal), torch.tensor(anomaly), ties=ties)
    assert float(ours) == pytest.approx(references.auc(normal, anomaly, ties))


@given(normal=scores, anomaly=scores)
def test_exact_auc_with_ties_as_a_half_is_scikit_learns(normal, anomaly):
    ours = exact_auc(torch.tensor(normal), torch.tensor(anomaly))
    labels = [0] * len(normal) + [1] * len(anomaly)
    assert float(ours) == pytest.approx(roc_auc_score(labels, normal + anomaly))


@given(normal=scores, anomaly=scores)
def test_smooth_auc_equals_the_pairs(normal, anomaly):
    ours = smooth_auc(torch.tensor(normal).double(), torch.tensor(anomaly).double())
    assert float(ours) == pytest.approx(references.smooth_auc(normal, anomaly))


def test_batches():
    rng = np.random.default_rng(0)
    normal, anomaly = rng.normal(size=(2, 3, 25)), rng.normal(size=(2, 3, 5))
    exact, smooth = (
        exact_auc(torch.tensor(normal), torch.tensor(anomaly)),
        smooth_auc(torch.tensor(normal), torch.tensor(anomaly)),
    )
    for r in range(2):
        for t in range(3):
            assert float(exact[r, t]) == pytest.approx(references.auc(normal[r, t], anomaly[r, t], 0.5))
            assert float(smooth[r, t]) == pytest.approx(references.smooth_auc(normal[r, t], anomaly[r, t]))


def test_smooth_auc_gradient_is_finite_for_huge_scores():
    normal = torch.tensor([0.0, 1e30], dtype=torch.float64, requires_grad=True)
    anomaly = torch.tensor([1e30, -1e30], dtype=torch.float64, requires_grad=True)
    smooth_auc(normal, anomaly).backward()
    assert torch.isfinite(normal.grad).all()
    assert torch.isfinite(anomaly.grad).all()


@pytest.mark.parametrize("tasks", [(), (4,), (2, 3)])
def test_smooth_auc_gradient_is_autograds(tasks):
    generator = torch.Generator().manual_seed(0)
    scores = [torch.randn(*tasks, n, generator=generator, dtype=torch.float64, requires_grad=True) for n in (5, 2)]
    for mine, theirs in zip(
        smooth_auc_gradient(*scores), torch.autograd.grad(smooth_auc(*scores).sum(), scores), strict=True
    ):
        torch.testing.assert_close(mine.detach(), theirs)
