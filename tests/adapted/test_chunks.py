"""Chunks of rows and the threads that score them, seen by a score that notes how it is called."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from oddshot.adapted import chunks
from oddshot.adapted.chunks import (
    MIN_ROWS_OF_THREADS,
    TURNS_PER_THREAD,
    even_step,
    n_cores,
    one_blas_thread,
    score_in_chunks,
)
from oddshot.methods.contract import PreparedScore


def blas_threads():
    """How many threads a matrix product of this process uses; each library of several has its own number."""
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


class NotedScore(PreparedScore):
    """Twice the first column plus the second; what it was called with is noted."""

    def __init__(self, chunk_rows=7, runs_in_threads=True):
        self.chunk_rows, self.runs_in_threads = chunk_rows, runs_in_threads
        self.sizes, self.threads = [], set()

    def __call__(self, x):
        self.sizes.append(len(x))
        self.threads.add((threading.current_thread().name, *blas_threads()))
        return 2 * x[:, 0].astype(np.float64) + x[:, 1]


def rows(n):
    return np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)


@pytest.fixture
def four_cores(monkeypatch):
    """Four cores, and matrix products that use two threads, for tables of any length."""
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    monkeypatch.setattr(chunks, "MIN_ROWS_OF_THREADS", 0)
    with threadpool_limits(2, "blas"):
        yield
        assert blas_threads() == {2}  # of the caller, as before


def expected(X):
    return 2 * X[:, 0].astype(np.float64) + X[:, 1]


@pytest.mark.parametrize(
    ("n", "sizes"), [(0, []), (1, [1]), (6, [6]), (7, [7]), (8, [4, 4]), (9, [5, 4]), (14, [7, 7]), (23, [6, 6, 6, 5])]
)
def test_rows_are_scored_in_chunks_of_about_one_length(n, sizes):
    """None is longer than the score asks for."""
    score, X = NotedScore(), rows(n)
    found = score_in_chunks(score, X)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected(X))
    assert score.sizes == sizes


@pytest.mark.parametrize(("n", "most", "step"), [(0, 5, 1), (256, 300, 256), (1024, 600, 512), (65537, 4096, 3856)])
def test_chunks_are_about_as_long_as_each_other(n, most, step):
    assert even_step(n, most) == step


def test_rows_that_are_not_contiguous_are_scored_too():
    X = np.asfortranarray(rows(20))
    np.testing.assert_array_equal(score_in_chunks(NotedScore(), X[::2]), expected(X[::2]))


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize("n_chunks", [2, 32, 33, 100])
def test_several_chunks_are_scored_by_threads_of_one_core_each(n_chunks):
    score, X = NotedScore(), rows(7 * n_chunks)
    np.testing.assert_array_equal(score_in_chunks(score, X), expected(X))
    assert sorted(score.sizes) == [7] * n_chunks
    assert all(name != threading.main_thread().name for name, *_ in score.threads)
    assert len(score.threads) <= min(4, n_chunks)
    assert {tuple(n) for _, *n in score.threads} == {(1,)}


@pytest.mark.usefixtures("four_cores")
def test_as_many_threads_as_cores_score_at_the_same_time():
    together = threading.Barrier(4)

    class Waiting(NotedScore):
        def __call__(self, x):
            together.wait(10)  # so that none is done before the fourth has begun
            return super().__call__(x)

    score = Waiting()
    score_in_chunks(score, rows(7 * 4 * TURNS_PER_THREAD))
    assert len(score.threads) == 4


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(("n", "in_threads"), [(7, True), (700, False)], ids=["one chunk", "a score without threads"])
def test_otherwise_the_thread_of_the_caller_scores(n, in_threads):
    score = NotedScore(runs_in_threads=in_threads)
    score_in_chunks(score, rows(n))
    assert score.threads == {(threading.main_thread().name, 2)}


def test_few_rows_are_scored_by_the_thread_of_the_caller(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    few, many = NotedScore(1000), NotedScore(1000)
    score_in_chunks(few, rows(MIN_ROWS_OF_THREADS - 1))
    score_in_chunks(many, rows(MIN_ROWS_OF_THREADS))
    assert {name for name, *_ in few.threads} == {threading.main_thread().name}
    assert threading.main_thread().name not in {name for name, *_ in many.threads}


@pytest.mark.usefixtures("four_cores")
def test_with_one_core_the_thread_of_the_caller_scores(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    score = NotedScore()
    score_in_chunks(score, rows(700))
    assert {name for name, *_ in score.threads} == {threading.main_thread().name}


@pytest.mark.parametrize(("given", "n"), [("3", 3), ("1", 1), ("0", None), ("-2", None), ("many", None), ("", None)])
def test_as_many_cores_as_the_environment_says(monkeypatch, given, n):
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    monkeypatch.setattr(chunks.os, "sched_getaffinity", lambda _: range(5))
    assert n_cores() == (n or 5)


@pytest.mark.usefixtures("four_cores")
def test_matrix_products_use_one_core_in_the_block_and_all_of_them_afterwards():
    with one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == {2}
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        1 / 0  # noqa: B018


@pytest.mark.usefixtures("four_cores")
def test_an_error_in_a_thread_reaches_the_caller():
    class Failing(NotedScore):
        def __call__(self, x):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        score_in_chunks(Failing(), rows(100))
