"""Tasks drawn at random, networks that describe their rows, and the same tasks for the references."""

import itertools
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from oddshot.score.context import Context
from oddshot.score.description import DescriptionNetworks
from oddshot.score.networks import Layers
from oddshot.score.rows import LabelledRows
from tests.relation_references import TaskRows

SIZES = [(n, a, u) for n, a, u in itertools.product([1, 2, 5], [0, 1, 3], [0, 1, 12])]
TASKS = [(0, 0), (1, 2)]  # those that are compared with loops
ANOMALY_FIGURES = [2, 3, 6]  # the distance to the nearest anomaly, the times nearer it is, how far towards them
PAIR, COLUMN, HEADS = 5, 3, 2  # widths of the networks

sizes = st.tuples(st.integers(1, 6), st.integers(0, 3), st.integers(0, 12), st.integers(1, 6))
seeds = st.integers(0, 1000)


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


class Tasks(NamedTuple):
    """unlabelled: None for no such rows at all."""

    normal: np.ndarray
    anomaly: np.ndarray
    unlabelled: np.ndarray | None = None

    @property
    def context(self):
        return Context.of(LabelledRows(self.normal, self.anomaly), self.unlabelled)

    @property
    def rows(self):
        return np.concatenate([self.anomaly, self.normal, *([] if self.unlabelled is None else [self.unlabelled])], -2)

    def changed(self, change):
        """The same tasks with something done to all their rows."""
        return Tasks(*(None if part is None else change(part) for part in self))

    def with_anomalies(self, which):
        return self._replace(anomaly=self.anomaly[..., which, :])

    def reordered(self, random):
        """With their rows in another order, and what that is: of all labelled rows, anomalies first."""
        orders = [[] if part is None else random.sample(range(part.shape[-2]), part.shape[-2]) for part in self]
        moved = [None if part is None else part[..., order, :] for part, order in zip(self, orders, strict=True)]
        return Tasks(*moved), [*orders[1], *(self.anomaly.shape[-2] + k for k in orders[0])]

    def reference(self, *place, marks=None):
        nothing = self.normal[..., :0, :]
        parts = self.normal, self.anomaly, nothing if self.unlabelled is None else self.unlabelled
        return TaskRows(*(part[place] for part in parts), marks)


def make(n=5, a=1, u=0, M=4, seed=0, lead=(2, 3)):
    """Two replicas of three tasks; u = 0 is no unlabelled rows at all."""
    rows = draw(seed, *lead, n + a + u, M)
    return Tasks(rows[..., :n, :], rows[..., n : n + a, :] + 2, rows[..., n + a :, :] if u else None)


def padded(rows, pad=3):
    return np.concatenate([rows, np.zeros((*rows.shape[:-1], pad), rows.dtype)], axis=-1)


def random_layers(rng, *widths, lead=()):
    """Biases that let few numbers be 0 for all rows."""
    weights = [rng.uniform(-1, 1, (*lead, *pair)) / np.sqrt(pair[0]) for pair in itertools.pairwise(widths)]
    biases = [rng.uniform(-1, 1, (*lead, 1, n_out)) / np.sqrt(n_in) + 0.3 for n_in, n_out in itertools.pairwise(widths)]
    return Layers(tuple(weights), tuple(biases))


def make_networks(lead=(2,), seed=0, M=4, n_marks=0):
    """Random ones, the same whatever the tasks are."""
    rng = np.random.default_rng(seed)
    shapes = [10, PAIR], [7 + n_marks, COLUMN + 1, COLUMN], [3 + n_marks, 6, HEADS]
    layers = [random_layers(rng, *shape, lead=lead) for shape in shapes]
    return DescriptionNetworks(*layers, rng.normal(size=(*lead, n_marks, M, 1)) if n_marks else None)


def of_replica(layers, *place):
    """[(weight, bias)], as the references have them."""
    biases = layers.biases or [np.zeros((*weight.shape[:-2], 1, weight.shape[-1])) for weight in layers.weights]
    return [(weight[place], bias[place][0]) for weight, bias in zip(layers.weights, biases, strict=True)]


def assert_near(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


def assert_same(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-7)
