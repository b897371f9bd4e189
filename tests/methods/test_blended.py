"""The learned score blended with what a task's own rows tell, against loops: with anomalies a forest on the labelled
rows, without them distances to rows that look normal."""

import numpy as np
import pytest

from oddshot.methods.blended import DensityScore, ForestScore
from oddshot.methods.relative import RelativeScore
from oddshot.score.rows import LabelledRows
from tests.methods.samples import build, in_float32, pick, random_rows, without_anomalies
from tests.score.test_blend import spread_of
from tests.score.test_forest import follow, grow


def normal_tasks(n_normal=5, n_unlabelled=30, seed=1, tasks=2):
    method = build("relative", marks=0)
    support = without_anomalies(random_rows(seed, tasks, n_normal=n_normal))
    unlabelled = random_rows(seed + 1, tasks, n_normal=n_unlabelled).normal if n_unlabelled else None
    return method, support, unlabelled


@pytest.mark.parametrize(("n_normal", "n_anomaly", "u"), [(5, 1, 0), (5, 2, 9), (1, 1, 0), (20, 4, 3)])
def test_with_a_forest_scores_are_those_of_a_loop(n_normal, n_anomaly, u):
    method = build("relative", marks=0, forest_weight=0.7)
    support, query = random_rows(1, n_normal=n_normal, n_anomaly=n_anomaly), random_rows(2).joined()
    unlabelled = random_rows(3, n_normal=u).normal if u else None
    score, plain = method.adapt(support, unlabelled), method.relate(support, unlabelled, describes_all=True)
    assert isinstance(score, ForestScore)
    own, learned_own, learned, ours = score.own(), plain.own(), plain(query), score(query)
    for t in range(3):
        forest = grow(
            support.anomaly[t][None], support.normal[t][None], None if unlabelled is None else unlabelled[t][None]
        )
        left_out = forest.is_left_out[0]
        logs = np.log(np.sqrt(learned_own.scores[t]) + 1e-3)
        mean, spread = logs.mean(), spread_of(logs)

        def expected(row, a, trees, forest=forest, mean=mean, spread=spread):
            shares = [follow(forest.trees, 0, k, row) for k in trees]
            blended = (np.log(np.sqrt(a) + 1e-3) - mean) / spread + 0.7 * n_anomaly * np.mean(shares)
            return blended / np.sqrt(1 + (0.3 * 0.7 * n_anomaly) ** 2)

        every = range(forest.trees.left.shape[1])
        for row, a, found in zip(query[t], learned[t], ours[t], strict=True):
            assert found == pytest.approx(expected(row, a, every), rel=1e-6)
        for j, (row, a) in enumerate(zip(own.rows[t], learned_own.scores[t], strict=True)):
            trees = np.flatnonzero(left_out[:, j]) if j < n_normal + n_anomaly else every
            assert own.scores[t, j] == pytest.approx(expected(row, a, trees), rel=1e-6)


def test_the_part_of_a_forest_grows_with_the_anomalies_and_the_scale_of_the_sum_does_not():
    method = build("relative", forest_weight=1.0)
    for n in (1, 4, 16):
        unit = np.sqrt(1 + (0.3 * n) ** 2)
        assert method.adapt(random_rows(1, n_normal=20, n_anomaly=n)).weight == pytest.approx(n / unit)


def naive(learned, rows, n_normal, query, query_scores):
    """Of one task. learned: [L], leave-one-out scores of its rows, rows: [L, M]. Scores of queries and of rows."""
    n_rows = len(rows)
    spread = np.maximum(np.arcsinh(rows).std(0), 0.1)
    rows, query = np.arcsinh(rows) / spread, np.arcsinh(query) / spread
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


def standardised(values, known):
    """By those of the background that are known."""
    finite = [value for value in known if np.isfinite(value)]
    mean = np.mean(finite) if finite else 0.0
    return np.array([(value - mean) / spread_of(finite) if np.isfinite(value) else 0.0 for value in values])


@pytest.mark.parametrize(("n_normal", "n_unlabelled"), [(5, 30), (1, 12), (3, 0), (8, 0), (2, 0), (1, 0), (7, 1)])
def test_with_distances_scores_are_those_of_a_loop(n_normal, n_unlabelled):
    method, support, unlabelled = normal_tasks(n_normal, n_unlabelled)
    score, plain = method.adapt(support, unlabelled), method.relate(support, unlabelled, describes_all=True)
    query = random_rows(9, 2, n_normal=7).joined()
    assert isinstance(score, DensityScore)
    learned, own = plain.own(), score.own()
    for t in range(2):
        of_query, of_rows = naive(learned.scores[t], learned.rows[t], n_normal, query[t], plain(query)[t])
        np.testing.assert_allclose(score(query)[t], of_query, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(own.scores[t], of_rows, rtol=1e-5, atol=1e-6)


def blended(kind, tasks=2):
    """Either kind of score, with unlabelled rows, and other rows."""
    if kind is DensityScore:
        method, support, unlabelled = normal_tasks(tasks=tasks)
    else:
        method, support = build("relative", marks=0, forest_weight=1.0), random_rows(1, tasks, n_anomaly=3)
        unlabelled = random_rows(2, tasks, n_normal=9).normal
    return method, support, unlabelled, random_rows(9, tasks, n_normal=150).joined()


@pytest.mark.parametrize("kind", [ForestScore, DensityScore])
def test_prepared_it_scores_the_same(kind):
    method, support, unlabelled, x = blended(kind, tasks=None)
    score = method.adapt(support, unlabelled)
    assert isinstance(score, kind)
    np.testing.assert_allclose(score.prepare()(x), score(x), rtol=1e-8, atol=1e-10)
    assert score.prepare().chunk_rows == score.learned.prepare().chunk_rows


def test_prepared_a_forest_on_many_anomalies_scores_the_same():
    method = build("relative", forest_weight=1.0)
    score = method.adapt(random_rows(1, None, n_normal=30, n_anomaly=20))
    x = random_rows(9, None, n_normal=150).joined()
    np.testing.assert_allclose(score.prepare()(x), score(x), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", [ForestScore, DensityScore])
def test_the_spaces_of_rows_are_those_of_the_learned_score(kind):
    method, support, unlabelled, x = blended(kind)
    score = method.adapt(support, unlabelled)
    np.testing.assert_array_equal(score.project(x), score.learned.project(x))
    np.testing.assert_array_equal(score.embed(x), score.learned.embed(x))


@pytest.mark.parametrize("kind", [ForestScore, DensityScore])
def test_rescaled_it_is_moved_and_divided_for_all_rows(kind):
    method, support, unlabelled, x = blended(kind, tasks=None)
    score = method.adapt(support, unlabelled)
    assert score.is_standardised
    other = score.rescaled(0.4, 1.7).rescaled(-0.1, 0.8)
    expected = ((score(x) - 0.4) / 1.7 + 0.1) / 0.8
    np.testing.assert_allclose(other(x), expected, rtol=1e-9)
    np.testing.assert_allclose(other.prepare()(x), expected, rtol=1e-8)
    own = ((score.own().scores - 0.4) / 1.7 + 0.1) / 0.8
    np.testing.assert_allclose(other.own().scores, own, rtol=1e-9)
    np.testing.assert_array_equal(other.own().rows, score.own().rows)


@pytest.mark.parametrize("kind", [ForestScore, DensityScore])
def test_tasks_have_the_same_scores_alone_and_among_others(kind):
    method, support, unlabelled, x = blended(kind)
    together = method.adapt(support, unlabelled)
    for t in range(2):
        alone = method.adapt(pick(support, t), unlabelled[t])
        np.testing.assert_allclose(alone(x[t]), together(x)[t], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(alone.own().scores, together.own().scores[t], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", [ForestScore, DensityScore])
def test_the_order_of_rows_and_other_rows_beside_do_not_matter(kind):
    method, support, unlabelled, x = blended(kind, tasks=None)
    moved = method.adapt(LabelledRows(support.normal[::-1], support.anomaly[::-1]), unlabelled[::-1])
    score = method.adapt(support, unlabelled)
    np.testing.assert_allclose(moved(x), score(x), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(score(x[3:4]), score(x)[3:4], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", [ForestScore, DensityScore])
def test_what_is_trained_is_the_learned_score_alone(kind):
    method, support, unlabelled, x = blended(kind)
    learned = method.learned(support, unlabelled)
    assert isinstance(learned, RelativeScore)
    np.testing.assert_allclose(learned(x), method.adapt(support, unlabelled).learned(x), rtol=1e-9)


def test_a_forest_changes_no_loss():
    support, query = random_rows(1), random_rows(2)
    with_forest, without = (build("relative", forest_weight=weight) for weight in (1.0, 0.0))
    np.testing.assert_array_equal(with_forest.loss(support, query), without.loss(support, query))


def test_without_weight_there_is_no_forest():
    assert isinstance(build("relative", forest_weight=0.0).adapt(random_rows(1)), RelativeScore)


@pytest.mark.parametrize("size", [0.0, 1.0, 1e12, 1e30])
def test_with_a_forest_equal_rows_and_large_numbers_score_in_float32_as_in_float64(size):
    method, narrow = (build("relative", forest_weight=1.0, dtype=dtype) for dtype in (np.float64, np.float32))
    (normal, anomaly), query = random_rows(19), random_rows(20).joined()
    small_query = (query * size).astype(np.float32)
    for support in (
        LabelledRows(np.broadcast_to(normal[:, :1], normal.shape), anomaly),
        LabelledRows(normal, normal[:, :2]),
    ):
        expected = method.adapt(support)(query * size)
        found = narrow.adapt(in_float32(support))(small_query)
        np.testing.assert_allclose(found, expected, rtol=0, atol=0.02 * np.abs(expected).max())
    for factor in (size, 0):
        score = narrow.adapt(in_float32(LabelledRows(normal * factor, anomaly * factor)))
        assert np.isfinite(score(small_query)).all()


def test_with_distances_equal_rows_stay_finite():
    method, support, unlabelled = normal_tasks()
    equal = LabelledRows(np.zeros_like(support.normal), support.anomaly)
    for others in (None, np.zeros_like(unlabelled)):
        score = method.adapt(equal, others)
        assert np.isfinite(score(np.zeros((2, 3, 4)))).all()
        for size in (1e12, 1e30):
            assert np.isfinite(score(np.full((2, 1, 4), size))).all()
        far, near = score(np.full((2, 1, 4), 9.0)), score(np.zeros((2, 1, 4)))
        assert (far > near).all()
