"""The methods of other libraries: which rows they see, with which settings, and what happens without the library."""

import importlib
from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import OneClassSVM

from oddshot.errors import InputError
from oddshot.methods import classical, find_method, random_forest
from oddshot.methods.boosted import BoostedConfig
from oddshot.methods.classical import ClassicalConfig
from oddshot.methods.random_forest import fit_random_forest
from oddshot.score.rows import LabelledRows
from tests.methods.samples import build, random_rows, small_config, without_anomalies


def one_task(name, seed=1, **settings):
    """Scores of a method, and the rows: support normal, anomaly, query."""
    support, query = random_rows(seed, tasks=None), random_rows(seed + 1, tasks=None).joined()
    return build(name, **settings).adapt(support)(query), *support, query


@pytest.mark.parametrize(("defaults", "gamma"), [("paper", 1 / 4), ("modern", "scale")])
def test_osvm_is_scikit_learns_on_normal_rows(defaults, gamma):
    scores, normal, _, query = one_task("osvm", defaults=defaults)
    np.testing.assert_allclose(scores, -OneClassSVM(gamma=gamma).fit(normal).decision_function(query), atol=1e-3)


@pytest.mark.parametrize(("defaults", "solver"), [("paper", "liblinear"), ("modern", "lbfgs")])
def test_lr_is_scikit_learns(defaults, solver):
    scores, normal, anomaly, query = one_task("lr", defaults=defaults)
    model = LogisticRegression(solver=solver).fit(np.concatenate([normal, anomaly]), [0] * 5 + [1] * 2)
    np.testing.assert_allclose(scores, model.decision_function(query), atol=1e-3)


def test_local_outlier_factor_by_hand():
    """Breunig et al.'s definitions for a new row, with all but one of five rows as neighbours."""
    scores, normal, _, query = one_task("lof")

    def density(x, rows):
        distance = np.linalg.norm(rows - x, axis=1)
        nearest = np.argsort(distance)[:4]
        reach = [max(distance[n], np.sort(np.linalg.norm(normal - rows[n], axis=1))[4]) for n in nearest]
        return 1 / np.mean(reach), rows[nearest]

    for score, x in zip(scores, query, strict=True):
        mine, neighbours = density(x, normal)
        theirs = []
        for row in neighbours:
            theirs.append(density(row, normal[(normal != row).any(axis=1)])[0])
        assert score == pytest.approx(np.mean(theirs) / mine)


def test_nearest_row_by_hand():
    scores, normal, anomaly, query = one_task("knn")
    for score, x in zip(scores, query, strict=True):
        near = [min(np.linalg.norm(rows - x, axis=1)) for rows in (normal, anomaly)]
        assert score == float(near[1] < near[0])


@pytest.mark.parametrize(("defaults", "trees"), [("paper", 10), ("modern", 100)])
def test_forests_have_the_trees_of_their_defaults(defaults, trees, monkeypatch):
    seen = []
    fit = classical.fit_random_forest
    monkeypatch.setattr(classical, "fit_random_forest", lambda X, y, n, seed: seen.append(n) or fit(X, y, n, seed))
    scores = one_task("rf", defaults=defaults)[0]
    assert seen == [trees]
    np.testing.assert_allclose(scores * trees, np.round(scores * trees), atol=1e-9)


@pytest.mark.parametrize(("n_normal", "n_anomaly", "width"), [(5, 1, 20), (1, 1, 1), (40, 12, 3), (5, 2, 512)])
def test_random_forest_is_scikit_learns_to_the_last_bit(n_normal, n_anomaly, width):
    rng = np.random.default_rng(n_normal)
    X = rng.normal(size=(n_normal + n_anomaly, width))
    X[:, 0] = np.round(X[:, 0])  # with ties
    y, query = np.repeat([0, 1], [n_normal, n_anomaly]), rng.normal(size=(30, width))
    for seed in (0, 3, 2**32 - 1):
        expected = RandomForestClassifier(20, random_state=seed).fit(X, y).predict_proba(query)[:, 1]
        assert np.array_equal(fit_random_forest(X, y, 20, seed)(query), expected)


@pytest.mark.parametrize("error", [ImportError, TypeError])
def test_random_forest_of_a_scikit_learn_with_other_inner_parts(error, monkeypatch):
    rng = np.random.default_rng(0)
    X, y, query = rng.normal(size=(9, 3)), np.repeat([0, 1], [6, 3]), rng.normal(size=(30, 3))
    expected = fit_random_forest(X, y, 10, 0)(query)
    refused = Mock(side_effect=error)
    monkeypatch.setattr(random_forest, "_grow_trees", refused)
    assert np.array_equal(fit_random_forest(X, y, 10, 0)(query), expected)
    assert refused.called


def test_isolation_forest_is_scikit_learns_on_normal_rows():
    scores, normal, _, query = one_task("if")
    many = [-IsolationForest(random_state=seed).fit(normal).score_samples(query) for seed in range(8)]
    assert np.abs(scores - np.mean(many, axis=0)).max() < 5 * np.std(many, axis=0).max()


@pytest.mark.parametrize("name", ["osvm", "if", "lof"])
def test_one_class_methods_do_not_look_at_anomalies(name):
    method, support, query = build(name), random_rows(3), random_rows(4).joined()
    np.testing.assert_array_equal(method.adapt(support)(query), method.adapt(without_anomalies(support))(query))


@pytest.mark.parametrize("name", ["if", "rf", "catboost"])
def test_a_seed_gives_its_own_forest_every_time(name):
    support, query = random_rows(5, tasks=None), random_rows(6, tasks=None).joined()
    one, again, other = (
        find_method(name)(4, small_config(name, seed=seed)).adapt(support)(query) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("name", ["catboost", "xgboost"])
def test_boosted_trees_take_unlabelled_rows_as_normal(name):
    support, query = random_rows(8, 2), random_rows(9, 2).joined()
    unlabelled = random_rows(10, 2, n_normal=12).normal
    method = build(name)
    as_normal = LabelledRows(np.concatenate([support.normal, unlabelled], axis=1), support.anomaly)
    np.testing.assert_array_equal(method.adapt(support, unlabelled)(query), method.adapt(as_normal)(query))
    np.testing.assert_array_equal(method.adapt(support, None)(query), method.adapt(support)(query))
    assert not np.array_equal(method.adapt(support, unlabelled)(query), method.adapt(support)(query))


@pytest.mark.parametrize("name", ["catboost", "xgboost"])
def test_a_package_that_is_not_installed_is_one_line(name, monkeypatch):
    def missing(module):
        raise ImportError(module)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InputError) as refusal:
        build(name).adapt(random_rows(7))
    assert str(refusal.value) == f"method '{name}' needs {name}: pip install {name}"


@pytest.mark.parametrize("wrong", [{"defaults": "old"}, {"seed": -1}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        ClassicalConfig(**wrong)


def test_wrong_settings_of_boosted_trees_are_refused():
    with pytest.raises(InputError, match="trees is 0"):
        BoostedConfig(trees=0)
