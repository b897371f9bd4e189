"""The methods with one network and a closed form against loops over single rows."""

import numpy as np
import pytest

from oddshot.errors import InputError
from oddshot.methods.embedding import EmbeddingConfig, R2D2Config, SVDDConfig
from oddshot.score.projection import solve_ridge
from tests import references
from tests.methods.samples import build, pick, random_rows


def assert_scores(name, expected, n_anomaly=2):
    """expected(method, normal, anomaly, x) -> score."""
    method, support, query = build(name), random_rows(1, n_anomaly=n_anomaly), random_rows(2).joined()
    scores = method.adapt(support)(query)
    for t in range(3):
        of_task = [expected(method, *pick(support, t), x) for x in query[t]]
        np.testing.assert_allclose(scores[t], of_task, rtol=1e-8)


def phi_of(method):
    return references.layers_of(method.layers("phi"))


@pytest.mark.parametrize("name", ["svdd", "ssvdd", "deepsad"])
def test_distance_from_the_center(name):
    def expected(method, normal, anomaly, x):
        return references.center_distance(phi_of(method), method.weights["center"], x)

    assert_scores(name, expected)


def test_distance_without_projection():
    def expected(method, normal, anomaly, x):
        f, g, phi = (references.layers_of(method.layers(network)) for network in ("f", "g", "phi"))
        task = references.task_representation(f, g, normal, anomaly)
        return references.center_distance(phi, method.weights["center"], np.concatenate([x, task]))

    assert_scores("woproj", expected)


@pytest.mark.parametrize("n_anomaly", [1, 3])
def test_prototypes(n_anomaly):
    def expected(method, normal, anomaly, x):
        return references.prototype_logit(phi_of(method), normal, anomaly, x)

    assert_scores("proto", expected, n_anomaly)


@pytest.mark.parametrize("n_anomaly", [1, 3, 20])
def test_ridge_head(n_anomaly):
    def expected(method, normal, anomaly, x):
        ridge = method.config.ridge_floor + np.exp(method.weights["log_ridge"])
        scale = np.exp(method.weights["log_scale"])
        return references.ridge_head_score(phi_of(method), normal, anomaly, x, ridge, scale)

    assert_scores("r2d2", expected, n_anomaly)


@pytest.mark.parametrize("n_anomaly", [0, 1, 3])
def test_ridge_and_nearest(n_anomaly):
    def expected(method, normal, anomaly, x):
        return references.ridge_and_nearest(normal, anomaly, x)

    assert_scores("ridge+nearest", expected, n_anomaly)


def test_ridge_and_nearest_of_equal_rows_is_the_distance():
    support = random_rows(3)
    same = support.normal[:, :1]
    query = random_rows(4).joined()
    scores = build("ridge+nearest").adapt(support._replace(normal=same, anomaly=same))(query)
    np.testing.assert_allclose(scores, ((query - same) ** 2).sum(-1) ** 0.5)


@pytest.mark.parametrize("n_unlabelled", [3, 40])
def test_ridge_and_the_ten_nearest_of_normal_and_unlabelled_rows(n_unlabelled):
    support, query = random_rows(3), random_rows(4).joined()
    unlabelled = random_rows(5, n_normal=n_unlabelled).normal
    method = build("ridge+nearest")
    scores, without = method.adapt(support, unlabelled)(query), method.adapt(support)(query)
    for place in np.ndindex(3, query.shape[1]):
        t, x = place[0], query[place]
        near = min(np.linalg.norm(x - row) for row in support.normal[t])
        distances = sorted(np.linalg.norm(x - row) for row in (*support.normal[t], *unlabelled[t]))[:10]
        assert scores[place] == pytest.approx(without[place] - near + sum(distances) / len(distances))


@pytest.mark.parametrize("name", ["svdd", "ssvdd", "maml", "ft", "deepsad"])
def test_center_is_the_mean_embedding_of_normals_and_no_layer_has_a_bias(name):
    method, support = build(name), random_rows(100)
    assert method.layers("phi").biases is None
    embedded = [references.feed_forward(phi_of(method), x) for task in support.normal for x in task]
    np.testing.assert_allclose(method.weights["center"], np.mean(embedded, axis=0), rtol=1e-10)


def episode_distances(method, t, support, query):
    """Distances of all normal and of all anomalous rows of a task's episode, the support's first."""
    phi, center = phi_of(method), method.weights["center"]
    return [
        [references.center_distance(phi, center, x) for rows in parts for x in rows[t]]
        for parts in zip(support, query, strict=True)
    ]


@pytest.mark.parametrize("rows", ["support", "episode"])
def test_loss_of_svdd_is_the_mean_distance_of_normal_rows(rows):
    method, support, query = build("svdd", rows=rows), random_rows(5), random_rows(6)
    loss = method.loss(support, query)
    for t in range(3):
        normal, _ = episode_distances(method, t, support, query)
        assert loss[t] == pytest.approx(np.mean(normal[:5] if rows == "support" else normal))


def test_loss_of_deep_sad_is_distance_and_inverse_distance():
    method, support, query = build("deepsad", eta=0.7), random_rows(7), random_rows(8)
    loss = method.loss(support, query)
    for t in range(3):
        normal, anomaly = episode_distances(method, t, support, query)
        expected = (sum(normal) + 0.7 * sum(1 / (d + 1e-6) for d in anomaly)) / len(normal + anomaly)
        assert loss[t] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["ssvdd", "proto", "r2d2", "woproj"])
def test_loss_is_minus_the_smooth_auc(name):
    method, support, query = build(name), random_rows(9), random_rows(10)
    loss = method.loss(support, query)
    normal, anomaly = map(method.adapt(support), query)
    for t in range(3):
        assert loss[t] == pytest.approx(-references.smooth_auc(normal[t], anomaly[t]))


@pytest.mark.parametrize("name", ["svdd", "ssvdd", "proto", "r2d2", "woproj", "deepsad"])
def test_loss_gradient_by_finite_differences(name):
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, loss_of_weights, random_tensors

    made = build_trainable(name, replicas=1, units=3, M=2)
    support, query = (random_tensors(seed, 1, 2, M=2) for seed in (11, 12))
    assert torch.autograd.gradcheck(loss_of_weights(made, support, query), made.parameters, atol=1e-6)


def test_methods_without_adaptation_ignore_the_support():
    query = random_rows(13).joined()
    for name in ("svdd", "ssvdd", "deepsad"):
        method = build(name)
        np.testing.assert_array_equal(method.adapt(random_rows(14))(query), method.adapt(random_rows(15))(query))


def test_ridge_stays_above_its_floor():
    method = build("r2d2", ridge_floor=0.5)
    method.weights["log_ridge"] = np.full((), -1e9)
    support, x = random_rows(16, tasks=None), random_rows(17).joined()[0, 0]
    expected = references.ridge_head_score(phi_of(method), *support, x, 0.5, 1.0)
    assert method.adapt(support)(x[None])[0] == pytest.approx(expected)


def test_ridge_of_huge_rows_keeps_its_factor():
    """Four equal rows of 1e15 with targets of 1: the solution of least length is 1 / (3 · 1e15) in every entry."""
    found = solve_ridge(np.full((4, 3), 1e15), np.ones(4), np.array(1e-4))
    np.testing.assert_allclose(found, np.full(3, 1 / 3e15), rtol=1e-6)


@pytest.mark.parametrize("wrong", [{"units": 0}, {"layers": 0}, {"dropout": 1.0}, {"dropout": float("nan")}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        EmbeddingConfig(**wrong)


def test_wrong_settings_of_svdd_are_refused():
    with pytest.raises(InputError, match="rows is 'all'; it must be one of support, episode"):
        SVDDConfig(rows="all")


@pytest.mark.parametrize("wrong", [{"ridge": 0.0}, {"ridge_floor": -1.0}, {"scale": 0.0}])
def test_wrong_settings_of_r2d2_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        R2D2Config(**wrong)
