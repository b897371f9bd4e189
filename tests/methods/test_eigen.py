"""The proposed method against the paper, equation by equation."""

import numpy as np
import pytest

from oddshot.errors import InputError
from oddshot.methods.ablations import WoAnomalyConfig, WoNNConfig
from oddshot.methods.eigen import EigenConfig
from oddshot.score.rows import LabelledRows
from tests import references
from tests.methods.samples import build, in_float32, pick, random_rows, without_anomalies


def networks_of(method):
    return [references.layers_of(method.layers(name)) for name in ("f", "g", "phi")]


def eta_of(method):
    return method.config.eta_floor + np.exp(method.weights["log_eta"])


def eigen_score(method, normal, anomaly, query):
    """Eqs. 1-6 letter by letter for one task."""
    f, g, phi = networks_of(method)
    r, c = references.task_representation(f, g, normal, anomaly), method.weights["center"]

    def embed(x):
        return references.feed_forward(phi, np.concatenate([x, r])) - c

    z_normal, z_anomaly = (np.stack([embed(x) for x in rows]) for rows in (normal, anomaly))
    w = references.projection(z_normal, z_anomaly, eta_of(method))
    w = w / np.linalg.norm(w)
    return [references.anomaly_score(w, embed(x)) for x in query]


@pytest.mark.parametrize("n_anomaly", [1, 2, 5])
def test_scores_are_the_papers(n_anomaly):
    method, support = build("eigen"), random_rows(1, n_anomaly=n_anomaly)
    query = random_rows(2).joined()
    scores = method.adapt(support)(query)
    for t in range(3):
        np.testing.assert_allclose(scores[t], eigen_score(method, *pick(support, t), query[t]), rtol=1e-8)


def test_rows_are_embedded_and_projected_as_the_paper_has_it():
    method, support, query = build("eigen"), random_rows(1), random_rows(2).joined()
    score = method.adapt(support)
    f, g, phi = networks_of(method)
    for t in range(3):
        r = references.task_representation(f, g, *pick(support, t))
        z = [references.feed_forward(phi, np.concatenate([x, r])) - method.weights["center"] for x in query[t]]
        np.testing.assert_allclose(score.embed(query)[t], z, rtol=1e-8, atol=1e-12)
    assert score.project(query).shape == (3, 7, 1)
    np.testing.assert_allclose(score.project(query)[..., 0] ** 2, score(query), rtol=1e-10)


def test_center_is_the_mean_embedding_of_normals():
    method, support = build("eigen"), random_rows(100)
    f, g, phi = networks_of(method)
    embedded = []
    for t in range(3):
        r = references.task_representation(f, g, *pick(support, t))
        embedded += [references.feed_forward(phi, np.concatenate([x, r])) for x in support.normal[t]]
    np.testing.assert_allclose(method.weights["center"], np.mean(embedded, axis=0), rtol=1e-10)


def test_loss_is_minus_the_smooth_auc():
    method, support, query = build("eigen"), random_rows(3), random_rows(4)
    loss = method.loss(support, query)
    for t in range(3):
        a, b = (eigen_score(method, *pick(support, t), rows[t]) for rows in query)
        assert loss[t] == pytest.approx(-references.smooth_auc(a, b), rel=1e-8)


def test_a_trained_loss_is_the_mean_over_tasks():
    pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, random_tensors, replica_of

    made, support, query = build_trainable("eigen"), random_tensors(3), random_tensors(4)
    loss = made.loss(support, query).tolist()
    for r in range(2):
        alone = made.trained(r).loss(replica_of(support, r), replica_of(query, r))
        assert loss[r] == pytest.approx(alone.mean(), rel=1e-9)


@pytest.mark.parametrize("n_projected", [1, 5, 12])
def test_normal_only_scores_are_the_papers(n_projected):
    method, support = build("woanomaly", n_projected=n_projected), random_rows(5)
    query = random_rows(6).joined()
    scores = method.adapt(support)(query)
    (f, g, phi), c = networks_of(method), method.weights["center"]
    assert c.shape == (n_projected,)
    for t in range(3):
        normal = support.normal[t]
        task = references.task_representation(f, g, normal, [])
        embedded = np.stack([references.feed_forward(phi, np.concatenate([x, task])) for x in normal])
        W = references.normal_projection(embedded, c, eta_of(method))
        for n, x in enumerate(query[t]):
            distance = W.T @ references.feed_forward(phi, np.concatenate([x, task])) - c
            assert scores[t, n] == pytest.approx(distance @ distance, rel=1e-8)


def test_normal_only_does_not_look_at_anomalies():
    method, support, query = build("woanomaly"), random_rows(7), random_rows(8).joined()
    np.testing.assert_allclose(method.adapt(support)(query), method.adapt(without_anomalies(support))(query))


def test_without_network_is_the_projection_of_the_attributes():
    method, support, query = build("wonn"), random_rows(9), random_rows(10).joined()
    scores, c = method.adapt(support)(query), method.weights["center"]
    for t in range(3):
        w = references.projection(support.normal[t] - c, support.anomaly[t] - c, eta_of(method))
        expected = [references.anomaly_score(w / np.linalg.norm(w), x - c) for x in query[t]]
        np.testing.assert_allclose(scores[t], expected, rtol=1e-8)


def test_without_network_and_anomalies_each_row_is_taken_for_the_anomaly():
    method, support, query = build("wonn"), random_rows(11, n_anomaly=0), random_rows(12).joined()
    scores, c = method.adapt(support)(query), method.weights["center"]
    for t in range(3):
        S_N = references.scatter(support.normal[t] - c) + eta_of(method) * np.eye(4)
        for n, x in enumerate(query[t]):
            assert scores[t, n] == pytest.approx((x - c) @ np.linalg.solve(S_N, x - c), rel=1e-8)


@pytest.mark.parametrize("name", ["eigen", "woanomaly", "wonn"])
class TestEveryForm:
    def test_loss_gradient_by_finite_differences(self, name):
        torch = pytest.importorskip("torch")
        from tests.methods.tensors import build_trainable, random_tensors

        made = build_trainable(name, replicas=1)
        support, query = random_tensors(19, 1, 2), random_tensors(20, 1, 2)
        small = {key: made.tensors[key] for key, weight in made.weights.items() if weight.is_learned}
        small = {key: tensor for key, tensor in small.items() if tensor.numel() <= 200}

        def loss(*values):
            tensors = {**made.tensors, **dict(zip(small, values, strict=True))}
            return made.kind(4, made.config, tensors).loss(support, query).sum()

        assert torch.autograd.gradcheck(loss, list(small.values()), atol=1e-6)

    @pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
    def test_scores_in_float32_are_those_in_float64(self, name, size):
        support, query = (LabelledRows(*(part * size for part in random_rows(s))) for s in (21, 22))
        expected = build(name).adapt(support)(query.joined())
        scores = build(name, dtype=np.float32).adapt(in_float32(support))(in_float32(query).joined())
        np.testing.assert_allclose(scores, expected, rtol=0, atol=0.02 * np.abs(expected).max())

    def test_losses_and_gradients_of_degenerate_supports_are_finite(self, name):
        torch = pytest.importorskip("torch")
        from tests.methods.tensors import build_trainable, random_tensors

        made, query = build_trainable(name), random_tensors(23).joined()
        normal, anomaly = random_tensors(24)
        zeros = torch.zeros_like
        for support in (
            LabelledRows(normal[:, :, :1].expand_as(normal), anomaly),  # five times the same normal row
            LabelledRows(normal, normal[:, :, :2]),  # anomalies equal to normal rows
            LabelledRows(normal, anomaly[:, :, :1].expand_as(anomaly)),
            LabelledRows(zeros(normal), zeros(anomaly)),
            LabelledRows(normal[:, :, :1], anomaly[:, :, :1]),
        ):
            loss = made.loss(support, LabelledRows(query[:, :, :5], query[:, :, 5:]))
            gradients = torch.autograd.grad(loss.sum(), made.parameters)
            assert ((loss >= -1) & (loss <= 0)).all()  # minus an AUC
            assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_needs_an_anomaly():
    with pytest.raises(InputError, match="at least one labelled anomaly"):
        build("eigen").adapt(random_rows(25, n_anomaly=0))


def test_eta_stays_above_its_floor():
    method = build("eigen", eta_floor=0.01)
    method.weights["log_eta"] = np.full((), -1e9)
    assert method.eta(np.zeros((3, 12))) == 0.01


@pytest.mark.parametrize(
    "settings", [{"units": 0}, {"layers_phi": 2}, {"dropout": 1.0}, {"dropout": -0.1}, {"eta": 0.0}, {"eta_floor": 0.0}]
)
def test_wrong_settings_are_refused(settings):
    name = next(iter(settings))
    with pytest.raises(InputError, match=name):
        EigenConfig(**settings)


def test_wrong_settings_of_the_other_forms_are_refused():
    with pytest.raises(InputError, match="n_projected"):
        WoAnomalyConfig(n_projected=0)
    with pytest.raises(InputError, match="eta"):
        WoNNConfig(eta=-1.0)
