import numpy as np
import pytest

from oddshot import Task
from oddshot.data.episodes.sampling import TaskSet
from oddshot.training.folds import MANY_TASKS, find_related, make_folds, scaled_by
from oddshot.training.meta_training import fit_encoding
from tests.fleets import fleet, labels, mixed, numbers


def task_set(tasks):
    encoding = fit_encoding(tasks)
    return encoding, TaskSet.from_tasks([(encoding.transform(task.X), task.y) for task in tasks])


@pytest.mark.parametrize(("n_tasks", "n_folds"), [(2, 2), (4, 4), (7, 5), (12, 5), (MANY_TASKS, 1)])
def test_tasks_without_relatives_are_held_out_once(n_tasks, n_folds):
    folds = make_folds(np.eye(n_tasks, dtype=bool), np.random.default_rng(0))
    held_out = np.concatenate([fold.held_out for fold in folds])
    assert len(folds) <= n_folds
    assert len(set(held_out)) == len(held_out)
    if n_folds > 1:
        assert sorted(held_out) == list(range(n_tasks))
    for fold in folds:
        assert sorted([*fold.training, *fold.held_out]) == list(range(n_tasks))


def test_no_fold_learns_from_a_relative_of_a_task_that_it_holds_out():
    device = np.array([0, 0, 1, 1, 1, 2])
    for seed in range(5):
        folds = make_folds(device[:, None] == device[None, :], np.random.default_rng(seed))
        assert len(folds) == 3
        for fold in folds:
            assert not set(device[fold.training]) & set(device[fold.held_out])
            assert len(set(device[fold.held_out])) == 1


def test_where_all_tasks_are_related_nothing_is_learned_from():
    (fold,) = make_folds(np.ones((3, 3), bool), np.random.default_rng(0))
    assert (fold.training.tolist(), fold.held_out.tolist()) == ([], [0, 1, 2])
    (alone,) = make_folds(np.ones((1, 1), bool), np.random.default_rng(0))
    assert (alone.training.tolist(), alone.held_out.tolist()) == ([], [0])


def test_tasks_are_related_if_they_share_rows():
    tasks = fleet(n_tasks=4)
    shared = tasks[0].X.copy()
    shared[labels() == 1] = numbers(9)[labels() == 1]  # the same normal rows with other anomalies
    _, encoded = task_set([*tasks, Task("other fault", shared, labels())])
    expected = np.eye(5, dtype=bool)
    expected[0, 4] = expected[4, 0] = True
    np.testing.assert_array_equal(find_related(encoded), expected)


def test_tables_with_few_different_rows_are_not_related_by_them():
    tasks = [Task(f"t{t}", np.random.default_rng(t).integers(0, 2, (40, 2)).astype(float), labels()) for t in range(3)]
    np.testing.assert_array_equal(find_related(task_set(tasks)[1]), np.eye(3, dtype=bool))


def test_scales_are_those_of_the_tasks_that_are_learned_from():
    tasks = [Task(task.name, task.X * (1 + t) + 3 * t, np.abs(task.y)) for t, task in enumerate(fleet(n_tasks=4))]
    encoding, encoded = task_set(tasks)
    training = np.array([0, 2])
    own = fit_encoding([tasks[t] for t in training])
    expected = np.concatenate([own.transform(task.X) for task in tasks])
    np.testing.assert_allclose(scaled_by(encoded, training, encoding).X, expected, rtol=1e-4, atol=1e-5)


def test_gaps_and_columns_that_only_others_vary_in_are_encoded_as_by_an_encoding_of_the_fold():
    rng = np.random.default_rng(0)
    tasks = []
    for t in range(3):
        X = rng.normal((0, 5 * t, 0), size=(60, 3))
        X[rng.random(60) < 0.2, 1] = np.nan
        X[:, 2] = 7.0 if t < 2 else X[:, 2]
        tasks.append(Task(f"task {t}", X, np.repeat([0, 1], [50, 10])))
    encoding, encoded = task_set(tasks)
    training = np.array([0, 1])
    own = fit_encoding([tasks[t] for t in training])
    expected = np.concatenate([own.transform(task.X) for task in tasks])
    np.testing.assert_allclose(scaled_by(encoded, training, encoding).X, expected, rtol=1e-4, atol=1e-5)


def test_only_numbers_are_scaled_again():
    encoding, encoded = task_set(fleet(mixed))
    scaled = scaled_by(encoded, np.array([0, 1]), encoding)
    is_number = [name in ("temperature", "speed", "door") for name in encoding.attribute_names]
    assert sum(is_number) == 3
    np.testing.assert_array_equal((scaled.X != encoded.X).any(0), is_number)
    assert scaled_by(encoded, np.arange(6), encoding) is encoded
