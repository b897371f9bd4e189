import numpy as np
import pytest
import torch

from oddshot.decisions.held_out import MISSING_SHARE, draw_support_sizes, score_held_out
from oddshot.methods.contract import LabelledRows
from tests.methods.samples import build, pick, random_rows


@pytest.mark.parametrize("name", ["eigen", "relative"])
@pytest.mark.parametrize("with_unlabelled", [False, True])
def test_queries_and_supports_are_scored_as_task_by_task(name, with_unlabelled):
    method = build(name, replicas=1)
    support, query = random_rows(1, replicas=1), random_rows(2, replicas=1, n_normal=7, n_anomaly=3)
    unlabelled = random_rows(3, replicas=1, n_normal=6).normal if with_unlabelled else None
    found = score_held_out(method, support, query, unlabelled)
    assert (found.normal.shape, found.anomaly.shape) == ((3, 7), (3, 3))
    assert found.normal.dtype == found.anomaly.dtype == np.float64
    if name == "relative":
        assert found.evidence.unlabelled.shape == (3, 6 if with_unlabelled else 0)
    for t in range(3):
        one = slice(t, t + 1)
        with torch.no_grad():
            score = method.adapt(pick(support, tasks=one), None if unlabelled is None else unlabelled[:, one])
            normal, anomaly = (score(rows)[0, 0] for rows in pick(query, tasks=one))
            own = score(pick(support, tasks=one).normal)[0, 0]
            if name == "relative":  # which hides every row from itself
                own = score.scored_context().scores[0, 0, 2:7]
        np.testing.assert_allclose(found.normal[t], normal, rtol=1e-9)
        np.testing.assert_allclose(found.anomaly[t], anomaly, rtol=1e-9)
        np.testing.assert_allclose(found.evidence.normal[t], own, rtol=1e-9)


def test_supports_without_anomalies():
    method, support, query = build("woanomaly", replicas=1), random_rows(1, replicas=1), random_rows(2, replicas=1)
    found = score_held_out(method, LabelledRows(support.normal, support.anomaly[:, :, :0]), query, None)
    assert found.evidence.anomaly.shape == (3, 0)


def test_sizes_of_supports_cover_the_range_on_a_logarithmic_scale():
    rng = np.random.default_rng(0)
    drawn = np.array([draw_support_sizes(rng) for _ in range(4000)])
    assert drawn.min(0).tolist() == [1, 0, 0]
    assert (drawn.max(0) >= [900, 180, 900]).all()
    np.testing.assert_allclose((drawn[:, 1:] == 0).mean(0), MISSING_SHARE, atol=0.03)
    assert np.median(drawn[:, 0]) == pytest.approx(1000**0.5, rel=0.2)


def test_sizes_of_supports_are_within_what_there_is():
    rng = np.random.default_rng(0)
    drawn = np.array([draw_support_sizes(rng, 7, 2, 0) for _ in range(300)])
    assert drawn.min(0).tolist() == [1, 0, 0]
    assert drawn.max(0).tolist() == [7, 2, 0]
