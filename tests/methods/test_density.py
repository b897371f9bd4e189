"""Supports without anomalies: the learned score blended with distances to rows that look normal, against loops."""

import numpy as np
import pytest
import torch

from oddshot.methods.contract import LabelledRows
from oddshot.methods.density import DensityScore
from oddshot.methods.relative import RelativeScore
from tests.methods.samples import build, random_rows
from tests.model.test_blending import spread_of


def adapted(n_normal=5, n_unlabelled=30, seed=1, tasks=2):
    method = build("relative", replicas=1, marks=0)
    support = random_rows(seed, 1, tasks, n_normal=n_normal)
    support = LabelledRows(support.normal, support.anomaly[:, :, :0])
    unlabelled = random_rows(seed + 1, 1, tasks, n_normal=n_unlabelled).normal if n_unlabelled else None
    return method, support, unlabelled


def standardised(values, known):
    """By those of the background that are known."""
    finite = [value for value in known if np.isfinite(value)]
    mean = np.mean(finite) if finite else 0.0
    return np.array([(value - mean) / spread_of(finite) if np.isfinite(value) else 0.0 for value in values])


def naive(learned, context, n_normal, query, query_scores):
    """Of one task. learned: [L], leave-one-out scores of its rows, context: [L, M]. Scores of queries and of rows."""
    n_rows = len(context)
    spread = np.maximum(np.arcsinh(context).std(0), 0.1)
    rows, query = np.arcsinh(context) / spread, np.arcsinh(query) / spread
    parts = [(list(range(n_normal)), 1, 1.0)]
    if n_rows > n_normal:
        order = sorted(range(n_normal, n_rows), key=lambda row: learned[row])
        kept = [*range(n_normal), *order[: int(np.ceil(0.65 * n_rows)) - n_normal]]
        of_background = (n_rows - n_normal) / (n_rows - n_normal + 5)  # a single unlabelled row counts little
        of_nearest = 1 - of_background * (1 - min(1.0, n_normal / 5))
        parts = [(list(range(n_normal)), 1, of_nearest), (kept, min(10, len(kept) - 1), of_background)]

    def distance(row, kept, k, itself=None):
        found = sorted(np.sqrt(np.mean((row - rows[j]) ** 2)) for j in kept if j != itself)
        return np.log(np.mean(found[:k]) + 1e-3) if found else np.inf

    def log(scores):
        return np.log(np.sqrt(scores) + 1e-3)

    of_query, of_rows = standardised(log(query_scores), log(learned)), standardised(log(learned), log(learned))
    for kept, k, weight in parts:
        own = [distance(row, kept, k, j) for j, row in enumerate(rows)]
        of_query = of_query + weight * standardised([distance(row, kept, k) for row in query], own)
        of_rows = of_rows + weight * standardised(own, own)
    return of_query, of_rows


@torch.no_grad()
@pytest.mark.parametrize(("n_normal", "n_unlabelled"), [(5, 30), (1, 12), (3, 0), (8, 0), (2, 0), (1, 0), (7, 1)])
def test_scores_are_those_of_a_loop(n_normal, n_unlabelled):
    method, support, unlabelled = adapted(n_normal, n_unlabelled)
    score, plain = method.adapt(support, unlabelled), method.relate(support, unlabelled)
    query = random_rows(9, 1, 2, n_normal=7).joined()
    assert isinstance(score, DensityScore)
    context, own = plain.scored_context(), score.scored_context()
    for t in range(2):
        rows, learned = context.rows[0, t].numpy(), context.scores[0, t].numpy()
        of_query, of_rows = naive(learned, rows, n_normal, query[0, t].numpy(), plain(query)[0, t].numpy())
        np.testing.assert_allclose(score(query)[0, t], of_query, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(own.scores[0, t], of_rows, rtol=1e-5, atol=1e-6)


@torch.no_grad()
def test_compiled_it_scores_the_same():
    method, support, unlabelled = adapted(tasks=1)
    score, query = method.adapt(support, unlabelled), random_rows(9, 1, 1, n_normal=150).joined()
    torch.testing.assert_close(score.compiled()(query[0, 0]), score(query)[0, 0], rtol=1e-6, atol=1e-6)
    assert score.compiled().chunk_rows == score.learned.compiled().chunk_rows
    torch.testing.assert_close(score.representation, score.learned.representation)
    torch.testing.assert_close(score.project(query), score.learned.project(query))


@torch.no_grad()
def test_in_training_the_learned_score_is_left_alone():
    method, support, unlabelled = adapted()
    with method.being_trained(torch.Generator()):
        assert isinstance(method.adapt(support, unlabelled), RelativeScore)


@torch.no_grad()
def test_equal_rows_stay_finite():
    method, support, unlabelled = adapted()
    equal = LabelledRows(torch.zeros_like(support.normal), support.anomaly)
    for others in (None, torch.zeros_like(unlabelled)):
        score = method.adapt(equal, others)
        assert torch.isfinite(score(torch.zeros(1, 2, 3, 4).double())).all()
        for size in (1e12, 1e30):
            assert torch.isfinite(score(torch.full((1, 2, 1, 4), size).double())).all()
        far, near = score(torch.full((1, 2, 1, 4), 9.0).double()), score(torch.zeros(1, 2, 1, 4).double())
        assert (far > near).all()
