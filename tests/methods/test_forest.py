"""Supports with anomalies: the learned score blended with a forest on the labelled rows, against loops."""

import numpy as np
import pytest
import torch

from oddshot.methods.contract import LabelledRows
from oddshot.methods.forest import ForestScore
from oddshot.methods.relative import RelativeScore
from oddshot.methods.tree_growth import grow_forest
from tests.methods.samples import build, pick, random_rows
from tests.model.test_blending import spread_of
from tests.model.test_forest import follow


@torch.no_grad()
@pytest.mark.parametrize(("n_normal", "n_anomaly", "u"), [(5, 1, 0), (5, 2, 9), (1, 1, 0), (20, 4, 3)])
def test_scores_are_those_of_a_loop(n_normal, n_anomaly, u):
    method = build("relative", marks=0, forest_weight=0.7)
    support, query = random_rows(1, n_normal=n_normal, n_anomaly=n_anomaly), random_rows(2).joined()
    unlabelled = random_rows(3, n_normal=u).normal if u else None
    score, plain = method.adapt(support, unlabelled), method.relate(support, unlabelled)
    assert isinstance(score, ForestScore)
    context = plain.scored_context()
    for r, t in np.ndindex(2, 3):
        anomaly, normal = support.anomaly[r, t].unsqueeze(0), support.normal[r, t].unsqueeze(0)
        forest = grow_forest(anomaly, normal, None if unlabelled is None else unlabelled[r, t].unsqueeze(0))
        left_out = forest.is_left_out[0]
        logs = np.log(np.sqrt(context.scores[r, t].numpy()) + 1e-3)
        mean, spread = logs.mean(), spread_of(logs)

        def expected(row, a, trees, forest=forest, mean=mean, spread=spread):
            shares = [follow(forest, 0, k, row) for k in trees]
            blended = (np.log(np.sqrt(float(a)) + 1e-3) - mean) / spread + 0.7 * n_anomaly * np.mean(shares)
            return blended / np.sqrt(1 + (0.3 * 0.7 * n_anomaly) ** 2)

        every = range(forest.left.shape[1])
        learned, ours = plain(query)[r, t], score(query)[r, t]
        for row, a, found in zip(query[r, t], learned, ours, strict=True):
            assert float(found) == pytest.approx(expected(row, a, every), rel=1e-6)
        own = score.scored_context()
        for j, (row, a) in enumerate(zip(own.rows[r, t], context.scores[r, t], strict=True)):
            trees = np.flatnonzero(left_out[:, j]) if j < n_normal + n_anomaly else every
            assert float(own.scores[r, t, j]) == pytest.approx(expected(row, a, trees), rel=1e-6)


@torch.no_grad()
def test_its_part_grows_with_the_anomalies_and_the_scale_of_the_sum_does_not():
    method = build("relative", replicas=1, forest_weight=1.0)
    for n in (1, 4, 16):
        unit = np.sqrt(1 + (0.3 * n) ** 2)
        assert method.adapt(random_rows(1, 1, n_normal=20, n_anomaly=n)).weight == pytest.approx(n / unit)


@torch.no_grad()
@pytest.mark.parametrize("n_anomaly", [1, 20])
def test_compiled_it_scores_the_same(n_anomaly):
    method = build("relative", replicas=1, forest_weight=1.0)
    score = method.adapt(random_rows(1, 1, 1, n_normal=30, n_anomaly=n_anomaly))
    query = random_rows(9, 1, 1, n_normal=150).joined()
    torch.testing.assert_close(score.compiled()(query[0, 0]), score(query)[0, 0], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(score.representation, score.learned.representation)
    torch.testing.assert_close(score.project(query), score.learned.project(query))


@torch.no_grad()
def test_in_training_and_with_no_weight_the_learned_score_is_left_alone():
    support = random_rows(1)
    assert isinstance(build("relative", forest_weight=0.0).adapt(support), RelativeScore)
    method = build("relative", forest_weight=1.0)
    with method.being_trained(torch.Generator()):
        assert isinstance(method.adapt(support), RelativeScore)
    torch.testing.assert_close(
        method.loss(support, random_rows(2)), build("relative", forest_weight=0.0).loss(support, random_rows(2))
    )


@torch.no_grad()
def test_tasks_have_the_same_scores_alone_and_among_others():
    method, support, query = (
        build("relative", replicas=1, forest_weight=1.0),
        random_rows(1, 1),
        random_rows(2, 1).joined(),
    )
    together = method.adapt(support)(query)
    for t in range(3):
        alone = method.adapt(pick(support, tasks=slice(t, t + 1)))(query[:, t : t + 1])
        torch.testing.assert_close(alone, together[:, t : t + 1])


@torch.no_grad()
@pytest.mark.parametrize("size", [0.0, 1.0, 1e12, 1e30])
def test_equal_rows_and_large_numbers_score_in_float32_as_in_float64(size):
    (normal, anomaly), query = random_rows(19), random_rows(20).joined()
    for support in (LabelledRows(normal[:, :, :1].expand_as(normal), anomaly), LabelledRows(normal, normal[:, :, :2])):
        expected = build("relative", forest_weight=1.0).adapt(support)(query * size)
        in_float32 = (
            build("relative", forest_weight=1.0).float().adapt(LabelledRows(*(part.float() for part in support)))
        )
        found = in_float32((query * size).float())
        torch.testing.assert_close(found, expected, rtol=0, atol=0.02 * float(expected.abs().max()))
    for support in (LabelledRows(normal * size, anomaly * size), LabelledRows(normal * 0, anomaly * 0)):
        score = build("relative", forest_weight=1.0).float().adapt(LabelledRows(*(part.float() for part in support)))
        assert torch.isfinite(score((query * size).float())).all()
