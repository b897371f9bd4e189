"""The methods with one network and a closed form against loops over single rows."""

import numpy as np
import pytest
import torch

from oddshot.errors import InputError
from oddshot.methods.embedding import EmbeddingConfig, R2D2Config, SVDDConfig
from oddshot.model.ridge import solve_ridge
from tests import references
from tests.methods.samples import build, loss_of_weights, pick, random_rows


def every_task(support, query):
    """(r, t, normal, anomaly, query rows) as NumPy."""
    for r in range(query.shape[0]):
        for t in range(query.shape[1]):
            yield r, t, *(part[r, t].numpy() for part in (*support, query))


def assert_scores(name, expected, n_anomaly=2):
    """expected(method, r, normal, anomaly, x) -> score."""
    method, support, query = build(name), random_rows(1, n_anomaly=n_anomaly), random_rows(2).joined()
    scores = method.adapt(support)(query).detach()
    for r, t, normal, anomaly, rows in every_task(support, query):
        np.testing.assert_allclose(scores[r, t], [expected(method, r, normal, anomaly, x) for x in rows], rtol=1e-8)


@pytest.mark.parametrize("name", ["svdd", "ssvdd", "deepsad"])
def test_distance_from_the_center(name):
    def expected(method, r, normal, anomaly, x):
        return references.center_distance(references.layers_of(method.phi, r), method.center[r].numpy(), x)

    assert_scores(name, expected)


def test_distance_without_projection():
    def expected(method, r, normal, anomaly, x):
        f, g, phi = (references.layers_of(network, r) for network in (method.f, method.g, method.phi))
        task = references.task_representation(f, g, normal, anomaly)
        return references.center_distance(phi, method.center[r].numpy(), np.concatenate([x, task]))

    assert_scores("woproj", expected)


@pytest.mark.parametrize("n_anomaly", [1, 3])
def test_prototypes(n_anomaly):
    def expected(method, r, normal, anomaly, x):
        return references.prototype_logit(references.layers_of(method.phi, r), normal, anomaly, x)

    assert_scores("proto", expected, n_anomaly)


@pytest.mark.parametrize("n_anomaly", [1, 3, 20])
def test_ridge_head(n_anomaly):
    def expected(method, r, normal, anomaly, x):
        ridge = method.config.ridge_floor + np.exp(float(method.log_ridge[r].detach()))
        scale = np.exp(float(method.log_scale[r].detach()))
        return references.ridge_head_score(references.layers_of(method.phi, r), normal, anomaly, x, ridge, scale)

    assert_scores("r2d2", expected, n_anomaly)


@pytest.mark.parametrize("n_anomaly", [0, 1, 3])
def test_ridge_and_nearest(n_anomaly):
    def expected(method, r, normal, anomaly, x):
        return references.ridge_and_nearest(normal, anomaly, x)

    assert_scores("ridge+nearest", expected, n_anomaly)


def test_ridge_and_nearest_of_equal_rows_is_the_distance():
    support = random_rows(3)
    same = support.normal[:, :, :1]
    query = random_rows(4).joined()
    scores = build("ridge+nearest").adapt(support._replace(normal=same, anomaly=same))(query)
    torch.testing.assert_close(scores, (query - same).square().sum(-1).sqrt())


@pytest.mark.parametrize("n_unlabelled", [3, 40])
def test_ridge_and_the_ten_nearest_of_normal_and_unlabelled_rows(n_unlabelled):
    support, query = random_rows(3), random_rows(4).joined()
    unlabelled = random_rows(5, n_normal=n_unlabelled).normal
    method = build("ridge+nearest")
    scores, without = method.adapt(support, unlabelled)(query), method.adapt(support)(query)
    for place in np.ndindex(2, 3, query.shape[2]):
        r, t, _ = place
        x = query[place]
        near = min(float((x - row).norm()) for row in support.normal[r, t])
        distances = sorted(float((x - row).norm()) for row in (*support.normal[r, t], *unlabelled[r, t]))[:10]
        assert float(scores[place]) == pytest.approx(float(without[place]) - near + sum(distances) / len(distances))


@pytest.mark.parametrize("name", ["svdd", "ssvdd", "maml", "ft", "deepsad"])
def test_center_is_the_mean_embedding_of_normals_and_no_layer_has_a_bias(name):
    method, support = build(name), random_rows(100)
    assert method.phi.biases is None
    for r in range(2):
        phi = references.layers_of(method.phi, r)
        embedded = [references.feed_forward(phi, x) for task in support.normal[r].numpy() for x in task]
        np.testing.assert_allclose(method.center[r], np.mean(embedded, axis=0), rtol=1e-10)


def episode_distances(method, r, support, query):
    """Distances of all normal and of all anomalous rows of an episode, the support's first."""
    phi, center = references.layers_of(method.phi, r), method.center[r].numpy()
    return [
        [references.center_distance(phi, center, x) for rows in parts for task in rows[r].numpy() for x in task]
        for parts in zip(support, query, strict=True)
    ]


@pytest.mark.parametrize("rows", ["support", "episode"])
def test_loss_of_svdd_is_the_mean_distance_of_normal_rows(rows):
    method, support, query = build("svdd", rows=rows), random_rows(5), random_rows(6)
    loss = method.loss(support, query).detach()
    for r in range(2):
        normal, _ = episode_distances(method, r, support, query)
        gathered = normal[:15] if rows == "support" else normal  # those of the three supports come first
        assert float(loss[r]) == pytest.approx(np.mean(gathered))


def test_loss_of_deep_sad_is_distance_and_inverse_distance():
    method, support, query = build("deepsad", eta=0.7), random_rows(7), random_rows(8)
    loss = method.loss(support, query).detach()
    for r in range(2):
        normal, anomaly = episode_distances(method, r, support, query)
        expected = (sum(normal) + 0.7 * sum(1 / (d + 1e-6) for d in anomaly)) / len(normal + anomaly)
        assert float(loss[r]) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["ssvdd", "proto", "r2d2", "woproj"])
def test_loss_is_minus_the_smooth_auc(name):
    method, support, query = build(name), random_rows(9), random_rows(10)
    loss = method.loss(support, query).detach()
    normal, anomaly = (method.adapt(support)(part).detach().numpy() for part in query)
    for r in range(2):
        aucs = [references.smooth_auc(normal[r, t], anomaly[r, t]) for t in range(3)]
        assert float(loss[r]) == pytest.approx(-np.mean(aucs))


@pytest.mark.parametrize("name", ["svdd", "ssvdd", "proto", "r2d2", "woproj", "deepsad"])
def test_loss_gradient_by_finite_differences(name):
    method = build(name, replicas=1, units=3, M=2)
    support, query = (random_rows(seed, 1, 2, M=2) for seed in (11, 12))
    assert torch.autograd.gradcheck(loss_of_weights(method, support, query), list(method.parameters()), atol=1e-6)


def test_methods_without_adaptation_ignore_the_support():
    query = random_rows(13).joined()
    for name in ("svdd", "ssvdd", "deepsad"):
        method = build(name)
        assert torch.equal(method.adapt(random_rows(14))(query), method.adapt(pick(random_rows(15)))(query))


def test_ridge_stays_above_its_floor():
    method = build("r2d2", ridge_floor=0.5)
    with torch.no_grad():
        method.log_ridge.fill_(-1e9)
    support, x = random_rows(16), random_rows(17).joined()[0, 0, 0]
    phi = references.layers_of(method.phi, 0)
    expected = references.ridge_head_score(phi, *(part[0, 0].numpy() for part in support), x.numpy(), 0.5, 1.0)
    assert float(method.adapt(support)(x.expand(2, 3, 1, 4)).detach()[0, 0, 0]) == pytest.approx(expected)


def test_ridge_of_huge_rows_keeps_its_factor():
    """Four equal rows of 1e15 with targets of 1: the solution of least length is 1 / (3 · 1e15) in every entry."""
    z = torch.ones(4, 3, dtype=torch.float64) * 1e15
    found = solve_ridge(z, torch.ones(4, dtype=torch.float64), torch.tensor(1e-4).double())
    torch.testing.assert_close(found, torch.full_like(found, 1 / 3e15), rtol=1e-6, atol=0)


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
