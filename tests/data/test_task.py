import numpy as np
import pytest

from oddshot.data.task import Task
from oddshot.errors import InputError


def test_labels_become_int8() -> None:
    task = Task("m1", np.zeros((3, 2)), [1.0, 0.0, -1.0])
    assert task.y.dtype == np.int8
    assert task.y.tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], r"^task 'm1': 3 rows but labels of shape \(2,\)$"),
        ([[0], [1], [0]], r"^task 'm1': 3 rows but labels of shape \(3, 1\)$"),
        ([0, 1, 2], r"^task 'm1': label .*2.*; labels are 1 \(anomaly\), 0 \(normal\), -1 \(unlabelled\)$"),
        ([0, 1, np.inf], "^task 'm1': label .*inf"),
    ],
)
def test_wrong_labels_are_refused(y: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Task("m1", np.zeros((3, 2)), y)
