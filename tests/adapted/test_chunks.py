"""Chunks of rows and the threads that score them, seen by a score that notes how it is called."""

import threading

import numpy as np
import pytest
import torch

from oddshot.adapted.chunks import as_tensor, even_step, on_one_core, score_in_chunks, single_core_threads
from oddshot.methods.compiled import CompiledScore

CPU = torch.device("cpu")


class NotedScore(CompiledScore):
    """The first column plus the sum; what it was called with is noted."""

    def __init__(self, chunk_rows=7, runs_in_threads=True):
        self._chunk_rows, self._runs_in_threads = chunk_rows, runs_in_threads
        self.sizes, self.buffers, self.threads, self.gradients = [], [], set(), set()

    @property
    def runs_in_threads(self):
        return self._runs_in_threads

    @property
    def chunk_rows(self):
        return self._chunk_rows

    def make_buffers(self, n):
        self.buffers.append(n)
        return [torch.empty(n)]

    def __call__(self, x, buffers=()):
        self.sizes.append(len(x))
        self.threads.add((threading.current_thread().name, torch.get_num_threads()))
        self.gradients.add(torch.is_grad_enabled())
        assert len(buffers[0]) >= len(x)
        return 2 * x[:, 0].double() + x[:, 1].double()


def rows(n):
    return np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)


@pytest.fixture
def four_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def expected(X):
    return 2 * X[:, 0].astype(np.float64) + X[:, 1]


@pytest.mark.parametrize(
    ("n", "sizes"), [(0, []), (1, [1]), (6, [6]), (7, [7]), (8, [4, 4]), (9, [5, 5]), (14, [7, 7]), (23, [6, 6, 6, 6])]
)
def test_rows_are_scored_in_chunks_of_one_length(n, sizes):
    """None is longer than the score asks for; the last one begins earlier if rows are missing."""
    score, X = NotedScore(), rows(n)
    found = score_in_chunks(score, X, CPU)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected(X))
    assert score.sizes == sizes
    assert score.buffers == [max(sizes, default=0)]  # no more memory than there are rows
    assert score.gradients <= {False}


@pytest.mark.parametrize(("n", "most", "step"), [(0, 5, 1), (256, 300, 256), (1024, 600, 528), (65536, 4096, 4112)])
def test_the_length_of_several_chunks_is_no_multiple_of_a_kilobyte(n, most, step):
    assert even_step(n, most) == step


def test_rows_that_are_not_contiguous_are_scored_too():
    X = np.asfortranarray(rows(20))
    np.testing.assert_allclose(score_in_chunks(NotedScore(), X[::2], CPU), expected(X[::2]))


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize(("n_chunks", "n_groups"), [(2, 2), (32, 32), (33, 17), (100, 25)])
def test_several_chunks_are_scored_by_threads(n_chunks, n_groups):
    """In as many groups as eight turns for each of four threads at most."""
    score, X = NotedScore(), rows(7 * n_chunks)
    np.testing.assert_allclose(score_in_chunks(score, X, CPU), expected(X))
    assert sorted(score.sizes) == [7] * n_chunks
    assert all(name != threading.main_thread().name for name, _ in score.threads)
    assert len(score.buffers) == n_groups
    assert score.gradients == {False}


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize(
    ("n", "in_threads", "n_cores"), [(7, True, 1), (700, False, 4)], ids=["one chunk", "a score without threads"]
)
def test_otherwise_the_thread_of_the_caller_scores(n, in_threads, n_cores):
    """One chunk on one core, as each of several; a score without threads of ours with all cores."""
    score = NotedScore(runs_in_threads=in_threads)
    score_in_chunks(score, rows(n), CPU)
    assert score.threads == {(threading.main_thread().name, n_cores)}
    assert len(score.buffers) == 1
    assert torch.get_num_threads() == 4


@pytest.mark.usefixtures("four_threads")
def test_small_work_is_done_on_one_core_and_all_are_used_afterwards():
    with on_one_core():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 4
    with on_one_core(is_small=False):
        assert torch.get_num_threads() == 4
    with pytest.raises(ZeroDivisionError), on_one_core():
        1 / 0  # noqa: B018
    assert torch.get_num_threads() == 4


def test_with_one_core_the_thread_of_the_caller_scores():
    before, score = torch.get_num_threads(), NotedScore()
    torch.set_num_threads(1)
    try:
        score_in_chunks(score, rows(700), CPU)
    finally:
        torch.set_num_threads(before)
    assert score.threads == {(threading.main_thread().name, 1)}


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("n", [1, 3])
def test_a_pool_has_as_many_threads_as_asked_for_and_leaves_the_caller_all_cores(n):
    together = threading.Barrier(n)

    def name(_):
        together.wait(10)  # so that every thread of the pool takes one
        return threading.get_ident()

    with single_core_threads(n) as pool:
        assert len(set(pool.map(name, range(n)))) == n
        assert torch.get_num_threads() == 4


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_as_a_tensor_of_one_replica_and_one_task(order):
    X = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32, order=order)
    tensor = as_tensor(X, CPU)
    assert tensor.shape == (1, 1, 2, 3)
    assert tensor[0, 0].tolist() == X.tolist()
    assert tensor.device == CPU
    assert as_tensor(X, torch.device("meta")).device.type == "meta"
