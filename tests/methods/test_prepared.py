"""The prepared score of a single task equals the plain one, for every method."""

import dataclasses

import numpy as np
import pytest

from oddshot.adapted.chunks import MIN_ROWS_OF_THREADS, score_in_chunks
from oddshot.bench.paper import RELATIVE_METHODS
from oddshot.methods import method_names
from oddshot.methods.blended import PreparedBlend
from oddshot.methods.contract import CHUNK_ROWS, PlainScore
from oddshot.methods.relative import MAX_LABELLED, PreparedRelative
from oddshot.methods.scores import PreparedNetwork
from oddshot.score.columns import N_KNOTS
from oddshot.score.rows import LabelledRows
from tests.methods.samples import build, in_float32, random_rows, without_anomalies

NETWORKS = ["eigen", "svdd", "ssvdd", "proto", "r2d2", "maml", "ft", "wonn", "woproj", "woanomaly", "deepsad"]
WITHOUT_A_PART = ["relative-pairs", "relative-columns", "relative-figures"]  # nothing of them is folded
AS_THEY_ARE = ["osvm", "if", "lof", "lr", "knn", "rf", "catboost", "xgboost", "ridge+nearest", *WITHOUT_A_PART]
NOT_NETWORKS = ["relative", "relative-head", "relative-marks", "relative-blend"]


def adapted(name, seed=1, **settings):
    return build(name, **settings).adapt(random_rows(seed, tasks=None))


@pytest.mark.parametrize("n", [0, 1, 3, 200])
@pytest.mark.parametrize("name", method_names())
def test_a_prepared_score_equals_the_plain_one(name, n):
    score, x = adapted(name), random_rows(2, tasks=None, n_normal=200).joined()[:n]
    found = score.prepare()(x)
    assert (found.dtype, found.shape) == (np.float64, (n,))
    np.testing.assert_allclose(found, score(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_without_anomalies_networks_equal_the_plain_ones_too(name):
    support, x = without_anomalies(random_rows(1, tasks=None)), random_rows(2, tasks=None).joined()
    if name not in {"eigen", "proto", "r2d2", "maml", "ft"}:  # which need an anomaly
        score = build(name).adapt(support)
        assert isinstance(score.prepare(), PreparedNetwork)
        np.testing.assert_allclose(score.prepare()(x), score(x), rtol=1e-9, atol=1e-12)


def test_every_method_is_of_one_of_these_forms():
    assert sorted([*NETWORKS, *AS_THEY_ARE, *NOT_NETWORKS]) == sorted(method_names())
    assert {*WITHOUT_A_PART, *NOT_NETWORKS} == set(RELATIVE_METHODS)
    for name in method_names():
        prepared = adapted(name).prepare()
        expected = PreparedNetwork if name in NETWORKS else PlainScore if name in AS_THEY_ARE else PreparedRelative
        assert type(prepared) is expected, name
        assert prepared.runs_in_threads is (name not in AS_THEY_ARE)
        assert prepared.chunk_rows == CHUNK_ROWS
    blended = build("relative").adapt(without_anomalies(random_rows(1, tasks=None))).prepare()
    assert (type(blended), type(blended.learned)) == (PreparedBlend, PreparedRelative)
    with_forest = adapted("relative", forest_weight=0.5).prepare()
    assert (type(with_forest), type(with_forest.learned)) == (PreparedBlend, PreparedRelative)


@pytest.mark.parametrize("n_unlabelled", [0, 3, 30])
@pytest.mark.parametrize(("n_normal", "n_anomaly"), [(5, 1), (5, 0), (1, 2), (40, 3), (MAX_LABELLED + 9, 2)])
def test_described_rows_score_the_same_in_chunks_of_any_size(n_normal, n_anomaly, n_unlabelled):
    support = random_rows(1, tasks=None, n_normal=n_normal, n_anomaly=n_anomaly)
    unlabelled = random_rows(3, tasks=None, n_normal=n_unlabelled).normal if n_unlabelled else None
    x = np.concatenate([random_rows(2, tasks=None, n_normal=200).normal, support.joined()])
    x[:, 0] *= 1e6  # a value far outside of all knots
    method = build("relative", forest_weight=0.5)
    for score in (method.relate(support, unlabelled), method.adapt(support, unlabelled)):
        prepared, expected = score.prepare(), score(x)
        np.testing.assert_allclose(prepared(x), expected, rtol=1e-8, atol=1e-12)
        chunks = [prepared(x[k : k + 100]) for k in range(0, len(x), 100)]  # the last one is shorter
        np.testing.assert_allclose(np.concatenate(chunks), expected, rtol=1e-8, atol=1e-12)
        alone = [prepared(x[k : k + 1])[0] for k in range(0, len(x), 20)]
        np.testing.assert_allclose(alone, expected[::20], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("M", [1, 4, 120])
@pytest.mark.parametrize("marks", [0, 3])
def test_tables_of_any_width_score_the_same_prepared(M, marks):
    support = random_rows(1, tasks=None, n_normal=N_KNOTS, M=M)
    score, x = build("relative", M=M, marks=marks).relate(support), random_rows(2, tasks=None, M=M).joined()
    x[0], x[1] = 0, 1e30
    np.testing.assert_allclose(score.prepare()(x), score(x), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", [*NETWORKS, *NOT_NETWORKS])
def test_in_float32_a_prepared_score_is_the_plain_one_but_for_rounding(name):
    support, query = (in_float32(random_rows(seed, tasks=None)) for seed in (1, 2))
    score, x = build(name, dtype=np.float32).adapt(support), query.joined()
    expected = score(x)
    np.testing.assert_allclose(score.prepare()(x), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["eigen", "relative", "maml", "ft"])
def test_a_prepared_score_leaves_its_rows_and_itself_as_they_were(name):
    prepared, x = adapted(name).prepare(), random_rows(2, tasks=None).joined()
    before, first = x.copy(), prepared(x)
    np.testing.assert_allclose(prepared(x[::-1])[::-1], first, rtol=1e-12)  # BLAS rounds rows by their place
    np.testing.assert_array_equal(prepared(x), first)
    np.testing.assert_array_equal(x, before)


def test_a_row_costs_one_layer_less_than_the_network_has():
    prepared = adapted("eigen").prepare()
    assert [weight.shape for weight in prepared.weights] == [(4, 12), (12, 12)]  # r and w are folded in
    assert prepared.P.shape == (12, 1)
    assert adapted("maml").prepare().P.shape == (12, 12)


def test_what_is_prepared_is_frozen():
    for name in ("eigen", "relative", "knn"):
        prepared = adapted(name).prepare()
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(prepared, dataclasses.fields(prepared)[0].name, None)


@pytest.mark.parametrize("name", ["eigen", "knn", "relative"])
@pytest.mark.parametrize("n", [0, 1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1])
def test_rows_in_chunks_score_as_all_at_once(name, n):
    support = in_float32(random_rows(1, tasks=None))
    score = build(name, dtype=np.float32).adapt(support)
    X = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    expected = score(X)
    size = np.abs(expected).max(initial=0)
    for form in (PlainScore(score), score.prepare()):
        np.testing.assert_allclose(score_in_chunks(form, X), expected, rtol=1e-4, atol=1e-5 * size)


@pytest.mark.parametrize("name", ["eigen", "relative"])
def test_several_threads_give_the_same_scores(name, monkeypatch):
    prepared = build(name, dtype=np.float32).adapt(in_float32(random_rows(1, tasks=None))).prepare()
    X = np.random.default_rng(0).normal(size=(MIN_ROWS_OF_THREADS + 7, 4)).astype(np.float32)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    one = score_in_chunks(prepared, X)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    np.testing.assert_array_equal(score_in_chunks(prepared, X), one)


def test_an_error_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with pytest.raises(ValueError, match="mismatch"):
        score_in_chunks(adapted("eigen").prepare(), np.zeros((MIN_ROWS_OF_THREADS, 5), np.float32))


def test_equal_rows_and_zeros_score_the_same_prepared():
    normal, anomaly = random_rows(5, tasks=None)
    x = np.concatenate([normal, anomaly, np.zeros((1, 4))])
    for support in (
        LabelledRows(np.repeat(normal[:1], 5, axis=0), anomaly),
        LabelledRows(normal, normal[:2]),
        LabelledRows(np.zeros_like(normal), np.zeros_like(anomaly)),
        LabelledRows(normal[:1], anomaly[:1]),
    ):
        for name in (*NETWORKS, *NOT_NETWORKS):
            score = build(name).adapt(support)
            np.testing.assert_allclose(score.prepare()(x), score(x), rtol=1e-8, atol=1e-12)
