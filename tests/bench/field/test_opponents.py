"""Each simple method against a naive loop, and what each is allowed to see."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from oddshot.bench.field.episodes import FieldEpisode
from oddshot.bench.field.opponents import OPPONENTS, installed_opponents, ridge, scale_episode, score_opponent


def make_episode(n_unlabelled=30, whole=False, seed=0):
    """Four columns of different units, one of them constant; 5 normal rows and 2 anomalies labelled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7 + n_unlabelled, 4)) * [1, 100, 0.01, 0] + [0, 5, 0, 3]
    X[5:7, 0] += 4
    labels = np.r_[np.zeros(5), np.ones(2), np.full(n_unlabelled, -1)].astype(np.int8)
    order = rng.permutation(len(X))
    X, labels = X[order], labels[order]
    if whole:
        positions = np.flatnonzero(labels == -1)
        return FieldEpisode(X, labels, X[positions], np.arange(len(positions)) < 5, positions)
    scored = rng.normal(size=(12, 4)) * [1, 100, 0.01, 0] + [0, 5, 0, 3]
    return FieldEpisode(X, labels, scored, np.arange(12) < 3)


def naive_scaled(episode):
    mean = [np.mean(column) for column in episode.X.T]
    spread = [np.std(column) or 1.0 for column in episode.X.T]
    return (episode.X - mean) / spread, (episode.scored - mean) / spread


@pytest.mark.parametrize("whole", [False, True])
def test_nearest_normal_is_the_smallest_distance_to_a_labelled_normal_row(whole):
    episode = make_episode(whole=whole)
    X, scored = naive_scaled(episode)
    expected = [min(np.linalg.norm(row - other) for other in X[episode.labels == 0]) for row in scored]
    np.testing.assert_allclose(score_opponent("nearest normal", scale_episode(episode)), expected)


def naive_knn(episode):
    X, scored = naive_scaled(episode)
    means = []
    for number, row in enumerate(scored):
        own = None if episode.positions is None else episode.positions[number]
        others = [k for k in range(len(X)) if episode.labels[k] != 1 and k != own]
        means.append(np.mean(sorted(np.linalg.norm(row - X[k]) for k in others)[:10]))
    return np.array(means)


@pytest.mark.parametrize("n_unlabelled", [0, 3, 30])
def test_knn_is_the_mean_distance_to_ten_rows_of_the_background(n_unlabelled):
    episode = make_episode(n_unlabelled)
    np.testing.assert_allclose(score_opponent("kNN", scale_episode(episode)), naive_knn(episode), rtol=1e-6)


def test_a_row_of_the_background_is_not_its_own_neighbour():
    episode = make_episode(whole=True)
    np.testing.assert_allclose(score_opponent("kNN", scale_episode(episode)), naive_knn(episode), rtol=1e-6)


def test_duplicates_of_a_row_are_its_neighbours():
    episode = make_episode(whole=True)
    X = episode.X.copy()
    X[episode.positions[:20]] = X[episode.positions[0]]
    episode = FieldEpisode(X, episode.labels, X[episode.positions], episode.is_anomaly, episode.positions)
    scores = score_opponent("kNN", scale_episode(episode))
    assert scores[:20].max() < 1e-6
    np.testing.assert_allclose(scores[20:], naive_knn(episode)[20:], rtol=1e-6)


def test_ridge_is_the_solution_of_the_penalised_normal_equations():
    episode = make_episode()
    X, scored = naive_scaled(episode)
    rows = np.concatenate([X[episode.labels == 0], X[episode.labels == 1]])
    target = np.r_[np.zeros(5), np.ones(2)]
    Z = rows - rows.mean(0)
    penalty = np.mean([z @ z for z in Z])
    w = np.linalg.solve(Z.T @ Z + penalty * np.eye(4), Z.T @ (target - target.mean()))
    np.testing.assert_allclose(ridge(scale_episode(episode)), (scored - rows.mean(0)) @ w, atol=1e-12)


@pytest.mark.parametrize(("name", "part"), [("ridge + nearest", "nearest normal"), ("ridge + kNN", "kNN")])
def test_sums_have_parts_of_equal_spread(name, part):
    scaled = scale_episode(make_episode())
    along, distance = ridge(scaled), score_opponent(part, scaled)
    expected = along / np.std(along) + distance / np.std(distance)
    np.testing.assert_allclose(score_opponent(name, scaled), expected)


def test_classifiers_are_scikit_learn_s_on_the_labelled_rows():
    episode = make_episode()
    X, scored = naive_scaled(episode)
    rows, y = X[episode.labels >= 0], episode.labels[episode.labels >= 0]
    order = np.argsort(y, kind="stable")
    rows, y = rows[order], y[order]
    scaled = scale_episode(episode)
    odds = LogisticRegression(max_iter=1000).fit(rows, y).decision_function(scored)
    np.testing.assert_allclose(score_opponent("logistic regression", scaled), odds)
    for name, forest in (("random forest", RandomForestClassifier), ("ExtraTrees", ExtraTreesClassifier)):
        expected = forest(100, random_state=0).fit(rows, y).predict_proba(scored)[:, 1]
        np.testing.assert_allclose(score_opponent(name, scaled), expected)


def test_isolation_forest_sees_no_labelled_anomaly():
    episode = make_episode()
    X, scored = naive_scaled(episode)
    background = np.concatenate([X[episode.labels == -1], X[episode.labels == 0]])
    expected = -IsolationForest(random_state=0).fit(background).score_samples(scored)
    np.testing.assert_allclose(score_opponent("isolation forest", scale_episode(episode)), expected)


@pytest.mark.parametrize("name", ["CatBoost", "ExtraTrees + unlabelled"])
def test_unlabelled_rows_count_as_normal(name):
    if name not in installed_opponents():
        pytest.skip("not installed")
    episode = make_episode()
    relabelled = FieldEpisode(
        np.concatenate([episode.X[episode.labels == k] for k in (-1, 0, 1)]),
        np.repeat([0, 1], [35, 2]).astype(np.int8),
        episode.scored,
        episode.is_anomaly,
    )
    np.testing.assert_allclose(
        score_opponent(name, scale_episode(episode)), score_opponent(name, scale_episode(relabelled))
    )


def test_scaling_does_not_look_at_the_rows_to_be_scored():
    episode = make_episode()
    scored = episode.scored.copy()
    scored[1:] *= 1e6
    changed = FieldEpisode(episode.X, episode.labels, scored, episode.is_anomaly)
    for name in ("nearest normal", "kNN", "logistic regression", "ExtraTrees", "isolation forest"):
        before, after = (score_opponent(name, scale_episode(e))[0] for e in (episode, changed))
        assert before == after, name


def test_the_units_of_a_column_do_not_matter():
    episode = make_episode()
    factors = np.array([1000.0, 0.001, 7.0, 2.0])
    changed = FieldEpisode(episode.X * factors, episode.labels, episode.scored * factors, episode.is_anomaly)
    for name in ("nearest normal", "kNN", "ridge + kNN", "ridge + nearest"):
        before, after = (score_opponent(name, scale_episode(e)) for e in (episode, changed))
        np.testing.assert_allclose(before, after, rtol=1e-6, err_msg=name)


def test_every_method_gives_a_finite_score_for_every_row():
    for whole in (False, True):
        episode = make_episode(whole=whole)
        for name in installed_opponents():
            scores = score_opponent(name, scale_episode(episode))
            assert scores.shape == (len(episode.scored),), name
            assert np.isfinite(scores).all(), name
    assert len(OPPONENTS) == 10
