import numpy as np
import scipy.stats

from oddshot.data.episodes.synthesis import Mixing, mixed_tasks


def test_subset_keeps_tasks_and_mixing():
    rng = np.random.default_rng(0)
    pool = mixed_tasks(rng.normal(size=(30, 3)), np.arange(30) % 2, 5, seed=1)
    chosen = np.array([4, 2])
    part = pool.subset(chosen)
    assert len(part) == 2
    np.testing.assert_array_equal(part.mixing(np.array([1, 0])), pool.mixing(np.array([2, 4])))


def test_mixing_z_scores_every_task_over_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * [1, 10, 0.1, 3] + [5, -2, 0, 100]
    pool = mixed_tasks(X, np.arange(50) % 2, 3, seed=7)
    for task in range(3):
        matrix = np.random.default_rng([7, task]).random((4, 4), dtype=np.float32) * 2 - 1
        mixed = X @ matrix
        expected = (mixed - mixed.mean(0)) / mixed.std(0)
        ours = pool.X @ pool.mixing(np.array([task]))[0]
        np.testing.assert_allclose(ours, expected, atol=1e-4)


def test_mixing_matrices_are_uniform_and_independent():
    first, second = Mixing(np.eye(40) - 1 / 40, 2, seed=0).draw(np.array([0, 1]))
    for matrix in (first, second):
        assert scipy.stats.kstest(matrix.ravel(), scipy.stats.uniform(-1, 2).cdf).pvalue > 0.001
    assert scipy.stats.pearsonr(first.ravel(), second.ravel()).pvalue > 0.001


def test_wide_matrices_drawn_in_threads_are_those_of_the_seed():
    drawn = Mixing(np.eye(260) - 1 / 260, 3, seed=5).draw(np.array([2, 0]))
    expected = [np.random.default_rng([5, task]).random((260, 260), dtype=np.float32) * 2 - 1 for task in (2, 0)]
    np.testing.assert_array_equal(drawn, expected)


def test_mixing_beyond_the_cache_is_derived_again(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(20, 5))
    rows -= rows.mean(0)
    cached = Mixing(rows, 4, seed=3)(np.array([3, 1]))
    monkeypatch.setattr("oddshot.data.episodes.mixing.MAX_CACHE_BYTES", 0)
    np.testing.assert_array_equal(Mixing(rows, 4, seed=3)(np.array([3, 1])), cached)


def test_constant_columns_are_mixed_to_zero():
    pool = mixed_tasks(np.ones((20, 3)), np.arange(20) % 2, 2, seed=0)
    np.testing.assert_array_equal(pool.X @ pool.mixing(np.array([0]))[0], np.zeros((20, 3)))
