from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from oddshot import FewShotDetector
from oddshot.adapted.chunks import score_in_chunks
from oddshot.bench.paper import RELATIVE_METHODS
from oddshot.methods.compiled import MAX_CHUNK_ROWS, Uncompiled
from oddshot.methods.contract import LabelledRows
from tests.methods.samples import build, random_rows

CPU = torch.device("cpu")
OF_LAYERS = ["eigen", "svdd", "ssvdd", "proto", "r2d2", "maml", "ft", "wonn", "woproj", "woanomaly", "deepsad"]


def adapted(name, **settings):
    method = build(name, replicas=1, **settings)
    return method.adapt(random_rows(1, replicas=1, tasks=1))


def adapted_in_float32(**settings):
    support = LabelledRows(*(part.float() for part in random_rows(1, replicas=1, tasks=1)))
    return build("eigen", replicas=1, **settings).float().adapt(support)


@pytest.mark.parametrize("name", OF_LAYERS)
def test_the_compiled_task_scores_the_same(name):
    score, x = adapted(name), random_rows(2, replicas=1, tasks=1).joined()
    torch.testing.assert_close(score.compiled()(x[0, 0]), score(x)[0, 0], rtol=1e-9, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("n", [3, 200])
@pytest.mark.parametrize("name", RELATIVE_METHODS)
def test_rows_described_with_the_rows_last_score_the_same(name, n):
    score, x = adapted(name), random_rows(2, replicas=1, tasks=1, n_normal=n).joined()
    torch.testing.assert_close(score.compiled()(x[0, 0]), score(x)[0, 0], rtol=1e-9, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("n_unlabelled", [0, 3, 30])
@pytest.mark.parametrize(("n_normal", "n_anomaly"), [(5, 1), (5, 0), (1, 2), (40, 3)])
def test_chunks_of_described_rows_score_the_same(n_normal, n_anomaly, n_unlabelled):
    support = random_rows(1, replicas=1, tasks=1, n_normal=n_normal, n_anomaly=n_anomaly)
    unlabelled = random_rows(3, replicas=1, tasks=1, n_normal=n_unlabelled).normal if n_unlabelled else None
    score = build("relative", replicas=1).relate(support, unlabelled)
    x = torch.cat([random_rows(2, replicas=1, tasks=1, n_normal=200).normal, support.normal, support.anomaly], dim=2)
    x[:, :, 0] *= 1e6  # a value far outside of all knots
    compiled, expected = score.compiled(), score(x)[0, 0]
    torch.testing.assert_close(compiled(x[0, 0]), expected, rtol=1e-8, atol=1e-12)
    buffers = compiled.make_buffers(100)  # the last chunk is shorter
    chunks = [compiled(part, buffers) for part in x[0, 0].split(100)]
    torch.testing.assert_close(torch.cat(chunks), expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", ["knn", "ridge+nearest"])
def test_other_scores_are_called_as_they_are_and_by_one_thread(name):
    score, x = adapted(name), random_rows(2, replicas=1, tasks=1).joined()
    compiled = score.compiled()
    assert isinstance(compiled, Uncompiled)
    assert not compiled.runs_in_threads
    torch.testing.assert_close(compiled(x[0, 0]), score(x)[0, 0], rtol=0, atol=0)


def test_a_row_costs_one_layer_less_than_the_network_has():
    compiled = adapted("eigen").compiled()
    assert [tuple(layer.W.shape) for layer in compiled.layers] == [(4, 12), (12, 12)]  # r and w are compiled in
    assert compiled.P.shape == (12, 1)
    assert compiled.widest == 12


@pytest.mark.parametrize("n", [0, 1, MAX_CHUNK_ROWS - 1, MAX_CHUNK_ROWS, MAX_CHUNK_ROWS + 1])
def test_rows_in_chunks_score_as_all_at_once(n):
    score = adapted_in_float32()
    X = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    expected = score(torch.from_numpy(X)[None, None])[0, 0].detach().numpy()
    for form in (Uncompiled(score), score.compiled()):
        np.testing.assert_allclose(score_in_chunks(form, X, CPU), expected, rtol=1e-4, atol=1e-7)


def test_chunks_of_wide_networks_are_shorter():
    narrow, wide = adapted("eigen", units=8).compiled(), adapted("eigen", units=300).compiled()
    assert narrow.chunk_rows == MAX_CHUNK_ROWS
    assert 256 <= wide.chunk_rows * 300 <= 2**18
    assert adapted("knn").compiled().chunk_rows == MAX_CHUNK_ROWS


def test_several_threads_give_the_same_scores_and_leave_torch_as_it_was():
    compiled = adapted_in_float32(units=600).compiled()
    X = np.random.default_rng(0).normal(size=(2000, 4)).astype(np.float32)
    one, before = score_in_chunks(compiled, X, CPU), torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        np.testing.assert_array_equal(score_in_chunks(compiled, X, CPU), one)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(torch.get_num_threads).result() == torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_an_error_in_a_thread_is_raised():
    compiled, before = adapted("eigen", units=600).compiled(), torch.get_num_threads()  # its weights are float64
    torch.set_num_threads(2)
    try:
        with pytest.raises(RuntimeError, match="dtype"):
            score_in_chunks(compiled, np.zeros((2000, 4), np.float32), CPU)
    finally:
        torch.set_num_threads(before)


def test_few_rows_of_relative_need_no_memory():
    """A service scores single rows, for which the memory of a whole chunk costs more than the scores."""
    detector = FewShotDetector().fit(np.random.default_rng(0).normal(size=(6, 3)), [0, 0, 0, 0, 0, 1])
    compiled = detector.task_.score.compiled()
    assert compiled.make_buffers(1) == []
    assert len(compiled.make_buffers(1000)) > 1
