"""Random forests of scikit-learn on a few rows, grown tree by tree.

RandomForestClassifier checks rows and settings again for every tree. With the few rows of a support that takes twenty
times as long as growing the trees; here they are checked once.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_N_SEEDS = np.iinfo(np.int32).max  # from which scikit-learn draws the seed of each tree


def fit_random_forest(
    X: FloatArray, y: NDArray[np.int64], n_trees: int, seed: int
) -> Callable[[FloatArray], FloatArray]:
    """The mean over the trees of RandomForestClassifier of the probability of label 1, for rows [N, M].

    X: [n, M], finite. y: [n], 0 or 1, with at least one of each.
    """
    try:
        trees = _grow_trees(X, y, n_trees, seed)
    except (ImportError, TypeError):  # a version of scikit-learn whose inner parts are others
        return _fit_classifier(X, y, n_trees, seed)

    def score(x: FloatArray) -> FloatArray:
        rows, total = x.astype(np.float32), np.zeros(len(x))
        for tree in trees:
            total += tree.predict(rows)[:, 1]
        return total / n_trees

    return score


def _grow_trees(X: FloatArray, y: NDArray[np.int64], n_trees: int, seed: int) -> list[Any]:
    """The same trees as those of RandomForestClassifier: each has a seed, which draws its rows and then its columns."""
    from sklearn.tree._criterion import Gini
    from sklearn.tree._splitter import BestSplitter
    from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

    (n, M), n_labels = X.shape, np.array([2], np.intp)
    rows, labels = X.astype(np.float32), y.astype(np.float64).reshape(-1, 1)
    n_tried, no_limit = max(1, int(np.sqrt(M))), np.iinfo(np.int32).max
    random, trees = np.random.RandomState(seed), []
    seeds = random.randint(_N_SEEDS, size=n_trees)
    for tree_seed in seeds:
        random.seed(tree_seed)
        weights = np.bincount(random.randint(0, n, n), minlength=n).astype(np.float64)
        random.seed(tree_seed)
        splitter = BestSplitter(Gini(1, n_labels), n_tried, 1, 0.0, random, None)
        tree = Tree(M, n_labels, 1)
        DepthFirstTreeBuilder(splitter, 2, 1, 0.0, no_limit, 0.0).build(tree, rows, labels, weights, None)
        trees.append(tree)
    return trees


def _fit_classifier(X: FloatArray, y: NDArray[np.int64], n_trees: int, seed: int) -> Callable[[FloatArray], FloatArray]:
    """The same by RandomForestClassifier itself."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(n_estimators=n_trees, random_state=seed).fit(X, y)
    return lambda x: model.predict_proba(x)[:, 1]
