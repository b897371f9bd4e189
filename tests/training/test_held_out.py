"""Episodes of held-out tasks: their sizes, and which errors of a method count as a size that it refuses."""

import numpy as np
import pytest
import torch

from oddshot.data.episodes.sampling import EpisodeSizes, TaskSet
from oddshot.errors import InputError
from oddshot.methods.ablations import WoNN, WoNNConfig
from oddshot.training.held_out import HeldOutSizes, draw_held_out, support_sizes

CPU = torch.device("cpu")


def tasks(n_normal, n_anomaly):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [n_normal, n_anomaly]).astype(np.int8)
    return TaskSet.from_tasks([(rng.normal(size=(len(y), 2)) + y[:, None], y) for _ in range(3)])


def test_sizes_are_those_that_all_tasks_have_rows_for():
    sizes = EpisodeSizes(4, 1, 10, 5)
    found = list(support_sizes(tasks(14, 6), sizes, uses_unlabelled=False))
    assert found == [
        HeldOutSizes(2, 0, 0, 0, 10, 5),
        HeldOutSizes(2, 1, 0, 0, 10, 5),
        HeldOutSizes(4, 0, 0, 0, 10, 5),
        HeldOutSizes(4, 1, 0, 0, 10, 5),
        HeldOutSizes(4, 3, 0, 0, 10, 3),
        HeldOutSizes(8, 0, 0, 0, 6, 5),
        HeldOutSizes(8, 1, 0, 0, 6, 5),
    ]


def test_sizes_of_a_method_that_uses_unlabelled_rows():
    sizes = EpisodeSizes(4, 1, 10, 5)
    found = [size for size in support_sizes(tasks(54, 20), sizes, uses_unlabelled=True) if size.unlabelled]
    assert found == [
        HeldOutSizes(4, 0, 20, 1, 10, 5),
        HeldOutSizes(4, 0, 40, 2, 10, 5),
        HeldOutSizes(4, 1, 20, 1, 10, 5),
        HeldOutSizes(4, 1, 40, 2, 10, 5),
    ]


class NeedsAnomaly(WoNN):
    """Refuses supports without anomalies as every method does: with a SupportError."""

    def adapt(self, support, unlabelled=None):
        self.check_support(support, anomaly=1)
        return super().adapt(support, unlabelled)


class WrongSetting(WoNN):
    """Finds a mistake of the user only when it is adapted."""

    def adapt(self, support, unlabelled=None):
        raise InputError("the setting does not fit these rows")


def test_a_size_of_support_that_the_method_refuses_is_left_out():
    sizes = EpisodeSizes(4, 1, 10, 5)
    drawn = [draw_held_out(kind(2, WoNNConfig()), [tasks(40, 12)], sizes, CPU, 0) for kind in (WoNN, NeedsAnomaly)]
    numbers = [sorted(scores.evidence.anomaly.shape[1] for scores in each) for each in drawn]
    assert set(numbers[0]) == {0, 1, 3}
    assert numbers[1] == [n for n in numbers[0] if n > 0]


def test_another_mistake_is_not_swallowed():
    with pytest.raises(InputError, match="the setting does not fit these rows"):
        draw_held_out(WrongSetting(2, WoNNConfig()), [tasks(40, 12)], EpisodeSizes(4, 1, 10, 5), CPU, 0)
