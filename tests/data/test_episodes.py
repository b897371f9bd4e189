import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet, draw_episode, draw_without_replacement
from oddshot.data.episodes.splits import split_tasks
from oddshot.data.episodes.synthesis import Mixing, mixed_tasks

SIZES = EpisodeSizes(support_normal=2, support_anomaly=1, query_normal=3, query_anomaly=2)


def three_tasks():
    """Row values tell task and row: 100 * task + row."""
    labels = [np.array([0, 1, -1] * 6), np.array([1] * 5 + [0] * 9), np.array([0] * 5 + [1] * 3 + [-1])]
    tasks = [(100.0 * t + np.arange(len(y))[:, None], y) for t, y in enumerate(labels)]
    return TaskSet.from_tasks(tasks), labels


@given(counts=st.lists(st.integers(4, 50), min_size=1, max_size=6), seed=st.integers(0, 1000))
def test_draws_are_different_and_in_range(counts, seed):
    drawn = draw_without_replacement(np.array(counts), 4, np.random.default_rng(seed))
    for line, count in zip(drawn, counts, strict=True):
        assert len(set(line)) == 4
        assert line.min() >= 0
        assert line.max() < count


def test_every_ordered_draw_is_equally_likely():
    drawn = draw_without_replacement(np.full(60_000, 4), 2, np.random.default_rng(0))
    _, often = np.unique(drawn @ [10, 1], return_counts=True)
    assert len(often) == 12
    np.testing.assert_allclose(often / 60_000, 1 / 12, atol=0.006)


def test_too_few_rows_are_refused():
    with pytest.raises(ValueError, match="cannot draw 5 different rows out of 4"):
        draw_without_replacement(np.array([9, 4]), 5, np.random.default_rng(0))


def test_resampled_episodes_take_each_tasks_own_rows_by_label():
    pool, labels = three_tasks()
    chosen = np.array([2, 0, 1, 0])
    rng = np.random.default_rng(0)
    for _ in range(50):
        episode = draw_episode(pool, chosen, SIZES, "resampled", rng)
        for line, task in enumerate(chosen):
            values = [pool.X[group[line], 0] for group in episode]
            assert [len(v) for v in values] == [2, 1, 3, 2]
            assert len(set(np.concatenate(values))) == 8  # support and query never share a row
            for group, label in zip(values, (0, 1, 0, 1), strict=True):
                assert (group // 100 == task).all()
                assert (labels[task][(group % 100).astype(int)] == label).all()


def test_published_episodes_are_the_first_rows_in_file_order():
    pool, labels = three_tasks()
    episode = draw_episode(pool, np.array([1]), SIZES, "published", np.random.default_rng(0))
    normal, anomaly = np.flatnonzero(labels[1] == 0), np.flatnonzero(labels[1] == 1)
    values = [pool.X[group[0], 0] - 100 for group in episode]
    for group, expected in zip(values, (normal[:2], anomaly[:1], normal[2:5], anomaly[1:3]), strict=True):
        np.testing.assert_array_equal(group, expected)


def test_subset_keeps_tasks_and_mixing():
    rng = np.random.default_rng(0)
    pool = mixed_tasks(rng.normal(size=(30, 3)), np.arange(30) % 2, 5, seed=1)
    chosen = np.array([4, 2])
    part = pool.subset(chosen)
    assert len(part) == 2
    np.testing.assert_array_equal(part.mixing(np.array([1, 0])), pool.mixing(np.array([2, 4])))


@pytest.mark.parametrize("wrong", [{"support_normal": 0}, {"query_anomaly": 0}, {"support_anomaly": -1}])
def test_wrong_sizes_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        EpisodeSizes(**wrong)


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


def test_mixing_matrices_are_uniform_and_differ():
    rows = np.eye(40) - 1 / 40
    first, second = Mixing(rows, 2, seed=0)(np.array([0, 1]))
    assert not np.allclose(first, second)
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.1


def test_mixing_beyond_the_cache_is_derived_again(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(20, 5))
    rows -= rows.mean(0)
    cached = Mixing(rows, 4, seed=3)(np.array([3, 1]))
    monkeypatch.setattr("oddshot.data.episodes.mixing.MAX_CACHE_BYTES", 0)
    np.testing.assert_array_equal(Mixing(rows, 4, seed=3)(np.array([3, 1])), cached)


def test_constant_columns_stay_finite():
    X = np.ones((20, 3))
    pool = mixed_tasks(X, np.arange(20) % 2, 2, seed=0)
    assert np.isfinite(pool.X @ pool.mixing(np.array([0]))[0]).all()


@given(n=st.integers(2, 200), seed=st.integers(0, 99))
def test_splits_part_the_tasks(n, seed):
    training, validation = split_tasks(n, np.random.default_rng(seed))
    assert sorted([*training, *validation]) == list(range(n))
    assert len(validation) == max(1, round(n / 10))
    assert len(training) >= 1
