"""The memory that objects hold."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pytest

from oddshot.adapted.memory import held_bytes
from oddshot.adapted.task import AdaptedTask
from oddshot.methods import find_method
from oddshot.universal.shipped import load_universal
from tests.fleets import labels

MEGABYTE = 10**6


@dataclass
class Holder:
    part: object

    @cached_property
    def table(self):
        return np.zeros(MEGABYTE, np.uint8)


@pytest.mark.parametrize(
    "one",
    [
        np.zeros(MEGABYTE, np.uint8),
        np.zeros(MEGABYTE, np.uint8)[10:20],  # a view holds the whole
        np.zeros(MEGABYTE, np.uint8)[::2].reshape(2, -1),
        pa.table({"a": np.zeros(MEGABYTE, np.uint8)}),
        {"a": [(np.zeros(MEGABYTE, np.uint8),)]},
        Holder(Holder(np.zeros(MEGABYTE, np.uint8))),
        find_method("wonn")(3, None, {"weight": np.zeros(MEGABYTE // 4, np.float32)}),
        ["x" * 1000 + str(k) for k in range(950)],
    ],
)
def test_a_megabyte(one):
    assert held_bytes(one) == pytest.approx(MEGABYTE, rel=0.01)


def test_shared_memory_is_counted_once():
    one, array = np.zeros(MEGABYTE, np.uint8), np.zeros(MEGABYTE, np.uint8)
    parts = [one, one[:5], one.view(np.float32), array.reshape(2, -1), array, array[1:], array]
    assert held_bytes(*parts) == 2 * MEGABYTE
    assert held_bytes(*parts, shared=[[array[3:]]]) == MEGABYTE


def test_what_is_cached_later_counts():
    one = Holder(None)
    before = held_bytes(one)
    assert before < 1000
    assert one.table is not None
    assert held_bytes(one) - before == pytest.approx(MEGABYTE, rel=0.01)


def test_cycles_end():
    one = Holder(None)
    one.part = [one]
    assert held_bytes(one) < 1000


def test_the_tables_of_a_wide_task_count():
    model, X = load_universal(), np.random.default_rng(0).normal(size=(6, 999))
    task = AdaptedTask.from_table(model, X, labels(6))
    before = held_bytes(task, shared=[model])
    assert before < 8 * MEGABYTE
    task.score_encoded(task.encode(np.tile(X, (20, 1)), "rows"))
    assert held_bytes(task, shared=[model]) - before > 40 * MEGABYTE
