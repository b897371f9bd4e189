"""Episodes of held-out tasks: their sizes, and which errors of a method count as a size that it refuses."""

import numpy as np
import pytest
import torch

from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.errors import InputError
from oddshot.methods.ablations import WoNN, WoNNConfig
from oddshot.training import held_out
from oddshot.training.held_out import draw_held_out, draw_sizes, learn_decisions
from oddshot.training.trainable import Trainable

CPU, SIZES = torch.device("cpu"), EpisodeSizes(4, 1, 10, 5)


def tasks(*counts):
    rng = np.random.default_rng(0)
    made = []
    for n_normal, n_anomaly in counts:
        y = np.repeat([0, 1], [n_normal, n_anomaly]).astype(np.int8)
        made.append((rng.normal(size=(len(y), 2)) + y[:, None], y))
    return TaskSet.from_tasks(made)


@pytest.mark.parametrize("uses_unlabelled", [False, True])
def test_sizes_are_those_that_tasks_have_rows_for(uses_unlabelled):
    fleet, rng = tasks((14, 6), (300, 40), (40, 12)), np.random.default_rng(0)
    found = []
    for _ in range(500):
        size, chosen = draw_sizes(fleet, SIZES, uses_unlabelled, rng)
        assert len(chosen) >= 1
        assert (fleet.normal_count[chosen] >= size.all_normal).all()
        assert (fleet.anomaly_count[chosen] >= size.all_anomaly).all()
        found.append(size)
    found = np.array(found)
    assert found[:, 0].min() == 1
    assert found[:, 0].max() > 200
    assert found[:, 1].max() > 20
    assert (found[:, 0] <= 2 * SIZES.support_normal).mean() > 0.5
    assert found[:, 4:].min(0).tolist() == [7, 3]  # half of the smallest task
    assert found[:, 4:].max(0).tolist() == [10, 5]
    assert (found[:, 2:4].max(0) > [100, 5]).all() if uses_unlabelled else not found[:, 2:4].any()


def test_the_smallest_tasks_have_episodes():
    size, chosen = draw_sizes(tasks((2, 1)), SIZES, True, np.random.default_rng(0))
    assert size[:2] + size[4:] == (1, 0, 1, 1)
    assert set(chosen.tolist()) == {0}


def method(kind=WoNN):
    return Trainable(kind, 2, WoNNConfig()).trained()


class NeedsAnomaly(WoNN):
    """Refuses supports without anomalies as every method does: with a SupportError."""

    def adapt(self, support, unlabelled=None):
        self.check_support(support, anomaly=1)
        return super().adapt(support, unlabelled)


class WrongSetting(WoNN):
    """Finds a mistake of the user only when it is adapted."""

    def adapt(self, support, unlabelled=None):
        raise InputError("the setting does not fit these rows")


def test_a_size_of_support_that_the_method_refuses_is_left_out(monkeypatch):
    monkeypatch.setattr(held_out, "N_BATCHES", 30)
    fleet = tasks(*[(40, 12)] * 3)
    drawn = [draw_held_out(method(kind), fleet, SIZES, CPU, 0) for kind in (WoNN, NeedsAnomaly)]
    numbers = [[scores.support.anomaly.shape[1] for scores in each] for each in drawn]
    assert len(numbers[0]) == 30
    assert 0 in numbers[0]
    assert numbers[1] == [n for n in numbers[0] if n > 0]


def test_another_mistake_is_not_swallowed():
    with pytest.raises(InputError, match="the setting does not fit these rows"):
        draw_held_out(method(WrongSetting), tasks(*[(40, 12)] * 3), SIZES, CPU, 0)


def test_one_small_task_suffices_for_a_calibration():
    calibration = learn_decisions(method(), tasks((6, 2)), SIZES, CPU, 0)
    assert np.isfinite(calibration.shape.W).all()
