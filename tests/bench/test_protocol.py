import dataclasses
import itertools

import numpy as np
import pytest

from oddshot.bench.protocol import build_split, split_seed, z_score
from oddshot.bench.settings import RunSettings
from oddshot.data.episodes.sampling import EpisodeSizes, draw_episode
from oddshot.data.episodes.synthesis import mixed_tasks
from oddshot.data.sources.catalogue import CARDS, Dataset
from oddshot.errors import InputError

RESAMPLED = RunSettings("resampled")


def one_table(name="glass", n=80, M=3, splits=(6, 2, 3)):
    rng = np.random.default_rng(0)
    y = (np.arange(n) % 8 == 0).astype(np.int8)
    card = dataclasses.replace(CARDS[name], splits=splits)
    return Dataset(name, rng.normal(size=(n, M)), y, None, (), card)


def many_tasks(name, names, n=60, M=4):
    rng = np.random.default_rng(1)
    task = np.repeat(np.arange(len(names)), n)
    y = np.tile((np.arange(n) % 5 == 0).astype(np.int8), len(names))
    X = rng.normal(size=(len(task), M)) * 7 + task[:, None]
    X[:, 3] = 5e8 + 0.1  # constant
    return Dataset(name, X, y, task, tuple(names), CARDS[name])


def nbaiot_sample():
    return many_tasks("nbaiot", [f"{device}/{attack}" for device in "abc" for attack in ("scan", "udp")])


def tasks_of(part, n=60):
    """Numbers of the tasks, by where their rows lie among those of all tasks."""
    return [int(start // n) for start in part.normal_start]


def episodes(pool, sizes, rule="published"):
    """Every task's rows as its method sees them: [T, n, M]."""
    everyone = np.arange(len(pool))
    rows = np.concatenate(draw_episode(pool, everyone, sizes, rule, np.random.default_rng(0)), axis=1)
    X = pool.X[rows]
    return X if pool.mixing is None else X @ pool.mixing(everyone)


def test_a_table_becomes_as_many_tasks_as_its_card_says():
    parts = build_split(one_table(), 0, RESAMPLED)
    assert [len(part) for part in parts] == [6, 2, 3]
    matrices = np.concatenate([part.mixing(np.arange(len(part))) for part in parts])
    assert len({matrix.tobytes() for matrix in matrices}) == 11


def test_the_same_split_is_the_same_and_others_are_not():
    data = one_table()
    first, again, other = (build_split(data, split, RESAMPLED) for split in (0, 0, 1))
    seeded = build_split(data, 0, dataclasses.replace(RESAMPLED, seed=1))
    one = np.arange(1)
    np.testing.assert_array_equal(first.target.mixing(one), again.target.mixing(one))
    for different in (other, seeded, build_split(one_table("wdbc"), 0, RESAMPLED)):
        assert not np.array_equal(first.target.mixing(one), different.target.mixing(one))


def test_seeds_do_not_depend_on_the_process():
    assert split_seed("glass", 0) == 511098953400784769
    assert (
        len({split_seed(name, split, seed) for name in ("glass", "wdbc") for split in (0, 1) for seed in (0, 1)}) == 8
    )


def test_fewer_training_tasks_leave_the_others_as_they_are():
    data = one_table()
    full = build_split(data, 0, RESAMPLED)
    few = build_split(data, 0, dataclasses.replace(RESAMPLED, n_training=2))
    assert len(few.training) == 2
    two, three = np.arange(2), np.arange(3)
    np.testing.assert_array_equal(few.training.mixing(two), full.training.mixing(two))
    np.testing.assert_array_equal(few.validation.mixing(two), full.validation.mixing(two))
    np.testing.assert_array_equal(few.target.mixing(three), full.target.mixing(three))


def test_published_takes_the_first_rows_mixed_and_z_scored():
    """The protocol's text to the letter: X A, columns z-scored over all rows, first 5 + 25 normal, 1 + 5 anomalous."""
    data, settings = one_table(), RunSettings("published")
    parts = build_split(data, 2, settings)
    pool = mixed_tasks(data.X, data.y, 11, split_seed("glass", 2))
    order = [np.flatnonzero(data.y == 0)[:5], np.flatnonzero(data.y == 1)[:1],
             np.flatnonzero(data.y == 0)[5:30], np.flatnonzero(data.y == 1)[1:6]]  # fmt: skip
    seen = episodes(parts.target, settings.sizes)
    for number in range(3):
        mixed = data.X @ pool.mixing(np.array([number]))[0].astype(np.float64)
        scored = (mixed - mixed.mean(axis=0)) / mixed.std(axis=0)
        np.testing.assert_allclose(seen[number], scored[np.concatenate(order)], atol=1e-5)


def test_landmine_is_23_2_4_at_random():
    data = many_tasks("landmine", CARDS["landmine"].task_names)
    seen = set()
    for split in range(4):
        parts = build_split(data, split, RESAMPLED)
        assert [len(part) for part in parts] == [23, 2, 4]
        numbers = [tasks_of(part) for part in parts]
        assert sorted(itertools.chain(*numbers)) == list(range(29))
        seen.add(tuple(numbers[2]))
    assert len(seen) == 4


def test_own_tasks_are_z_scored_each():
    data = many_tasks("landmine", CARDS["landmine"].task_names)
    pool = build_split(data, 0, RESAMPLED).training
    for rows in np.split(pool.X, 29):
        np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-6)
        np.testing.assert_allclose(rows.std(axis=0), [1, 1, 1, 0], atol=1e-6)


def test_the_sample_of_nbaiot_leaves_one_device_out():
    data = nbaiot_sample()
    for split in range(6):
        parts = build_split(data, split, RESAMPLED)
        assert [len(part) for part in parts] == [3, 1, 2]
        assert tasks_of(parts.target) == [2 * (split % 3), 2 * (split % 3) + 1]
        assert sorted(tasks_of(parts.training) + tasks_of(parts.validation) + tasks_of(parts.target)) == list(range(6))


def test_a_device_is_left_out():
    card = CARDS["thermostat"]
    data = many_tasks("thermostat", card.task_names)
    own = [number for number, name in enumerate(card.task_names) if name.startswith(f"{card.device}/")]
    for split in range(3):
        parts = build_split(data, split, RESAMPLED)
        assert [len(part) for part in parts] == [63, 7, 10]
        assert tasks_of(parts.target) == own
        assert not set(own) & {*tasks_of(parts.training), *tasks_of(parts.validation)}


def test_too_few_rows_are_one_line():
    settings = dataclasses.replace(RESAMPLED, sizes=EpisodeSizes(5, 10, 25, 5))
    with pytest.raises(InputError, match=r"glass: a task has 10 anomalous rows; an episode needs 15"):
        build_split(one_table(), 0, settings)


def test_constant_columns_are_0():
    X = np.array([[1e15 / 3, 2.0, 0.0], [1e15 / 3, 4.0, 0.0], [1e15 / 3, 6.0, 0.0]])
    np.testing.assert_allclose(z_score(X)[:, [0, 2]], 0)
    np.testing.assert_allclose(z_score(X)[:, 1], [-(1.5**0.5), 0, 1.5**0.5])


def test_tasks_without_counts_take_landmines_proportions():
    names = [f"task {i}" for i in range(10)]
    data = many_tasks("landmine", names)
    data = dataclasses.replace(data, card=dataclasses.replace(data.card, splits=None))
    assert [len(part) for part in build_split(data, 0, RESAMPLED)] == [8, 1, 1]
