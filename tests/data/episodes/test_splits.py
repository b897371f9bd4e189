import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddshot.data.episodes.splits import draw_split, leave_out, split_tasks
from oddshot.errors import InputError


@given(n=st.integers(2, 200), seed=st.integers(0, 99))
def test_splits_part_the_tasks(n, seed):
    training, validation = split_tasks(n, np.random.default_rng(seed))
    assert sorted([*training, *validation]) == list(range(n))
    assert len(validation) == max(1, round(n / 10))
    assert len(training) >= 1


def test_draw_split_gives_disjoint_tasks_and_the_counts():
    parts = draw_split(10, (5, 2, 1), np.random.default_rng(0))
    assert [len(part) for part in parts] == [5, 2, 1]
    drawn = np.concatenate(parts)
    assert len(set(drawn)) == 8
    assert set(drawn) <= set(range(10))
    with pytest.raises(InputError, match="10 tasks cannot be split into 5, 5, 1"):
        draw_split(10, (5, 5, 1), np.random.default_rng(0))


def test_leave_out_keeps_the_target_out_of_training_and_validation():
    training, validation, target = leave_out(22, np.array([7, 3]), np.random.default_rng(0))
    assert target.tolist() == [3, 7]
    assert sorted([*training, *validation]) == [i for i in range(22) if i not in (3, 7)]
    assert (len(training), len(validation)) == (18, 2)


@pytest.mark.parametrize(("n_tasks", "target"), [(5, []), (3, [0, 1])])
def test_leave_out_needs_a_target_and_two_other_tasks(n_tasks, target):
    with pytest.raises(InputError, match="expected at least one, and two others"):
        leave_out(n_tasks, np.array(target, dtype=np.int64), np.random.default_rng(0))
