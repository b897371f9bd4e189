"""Forests as arrays, against loops over rows and nodes."""

import numpy as np
import pytest
import torch

from oddshot.methods.tree_growth import MAX_TREES, TREES_PER_ANOMALY, grow_forest
from oddshot.model.compiled_forest import compile_forest, compile_trees


def draw(seed, n, M=4, shift=0.0, tasks=2):
    return torch.randn(tasks, n, M, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + shift


def follow(forest, b, k, row):
    """The share of anomalies in the leaf that a row reaches, node by node."""
    node = 0
    while int(forest.left[b, k, node]) != node:
        column, threshold = int(forest.column[b, k, node]), float(forest.threshold[b, k, node])
        node = int(forest.left[b, k, node]) + int(float(row[column]) > threshold)
    return float(forest.share[b, k, node])


@pytest.mark.parametrize(("n_normal", "n_anomaly"), [(1, 1), (5, 1), (5, 2), (30, 6)])
def test_evaluation_follows_the_nodes(n_normal, n_anomaly):
    anomaly, normal, x = draw(0, n_anomaly, shift=1), draw(1, n_normal), draw(2, 6)
    forest = grow_forest(anomaly, normal)
    n_trees = min(TREES_PER_ANOMALY * n_anomaly, MAX_TREES)
    assert forest.left.shape[:2] == (2, n_trees)
    shares = forest.shares(x)
    for b, i in np.ndindex(2, 6):
        expected = [follow(forest, b, k, x[b, i]) for k in range(n_trees)]
        np.testing.assert_allclose(shares[b, i], expected, rtol=1e-6)
    torch.testing.assert_close(forest(x), shares.mean(-1))


@pytest.mark.parametrize(("n_normal", "n_anomaly", "M"), [(1, 1, 1), (5, 1, 4), (40, 8, 100), (60, 12, 2)])
def test_compiled_it_gives_the_same(n_normal, n_anomaly, M):
    forest = grow_forest(draw(0, n_anomaly, M, 1, 1), draw(1, n_normal, M, 0, 1))
    x = draw(2, 50, M, tasks=1)
    trees = compile_trees(compile_forest(forest))
    memory = trees.make_memory(x.shape[1])
    torch.testing.assert_close(trees(x[0].T.contiguous(), memory), forest(x)[0])
