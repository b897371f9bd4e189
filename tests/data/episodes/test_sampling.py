import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet, draw_episode, draw_without_replacement
from oddshot.errors import InputError

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


@pytest.mark.parametrize("wrong", [{"support_normal": 0}, {"query_anomaly": 0}, {"support_anomaly": -1}])
def test_wrong_sizes_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(InputError, match=rf"^{name} is -?\d; it must be at least [01]$"):
        EpisodeSizes(**wrong)
