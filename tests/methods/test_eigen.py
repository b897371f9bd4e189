"""The proposed method against the paper, equation by equation."""

import numpy as np
import pytest
import torch

from oddshot.errors import InputError
from oddshot.methods.ablations import WoAnomaly, WoAnomalyConfig, WoNN, WoNNConfig
from oddshot.methods.contract import LabelledRows
from oddshot.methods.eigen import Eigen, EigenConfig
from tests import references

SMALL = {"units": 12, "layers_f": 3, "layers_g": 3, "layers_phi": 4}


def random_rows(seed, replicas=2, tasks=3, n_normal=5, n_anomaly=2, M=4):
    generator = torch.Generator().manual_seed(seed)

    def draw(n):
        return torch.randn(replicas, tasks, n, M, generator=generator, dtype=torch.float64)

    return LabelledRows(draw(n_normal), draw(n_anomaly) + 2)


def build(kind=Eigen, replicas=2, seed=0, M=4, **settings):
    config = kind.config_type(**({} if kind is WoNN else SMALL) | settings)
    method = kind(M, config, replicas).double()
    method.initialise([torch.Generator().manual_seed(seed + r) for r in range(replicas)])
    support = random_rows(seed + 100, replicas, M=M)
    method.eval()
    method.fix_center(support, support.normal)
    return method


def eigen_score(method, replica, normal, anomaly, query):
    """Eqs. 1-6 letter by letter for one task."""
    f, g, phi = (references.layers_of(network, replica) for network in (method.f, method.g, method.phi))
    r = references.task_representation(f, g, normal, anomaly)
    c = method.center[replica].numpy()

    def embed(x):
        return references.feed_forward(phi, np.concatenate([x, r])) - c

    eta = method.config.eta_floor + np.exp(float(method.log_eta[replica].detach()))
    w = references.projection(np.stack([embed(x) for x in normal]), np.stack([embed(x) for x in anomaly]), eta)
    w = w / np.linalg.norm(w)
    return [references.anomaly_score(w, embed(x)) for x in query]


@pytest.mark.parametrize("n_anomaly", [1, 2, 5])
def test_scores_are_the_papers(n_anomaly):
    method, support = build(), random_rows(1, n_anomaly=n_anomaly)
    query = random_rows(2).joined()
    scores = method.adapt(support)(query).detach()
    for r in range(2):
        for t in range(3):
            normal, anomaly = support.normal[r, t].numpy(), support.anomaly[r, t].numpy()
            expected = eigen_score(method, r, normal, anomaly, query[r, t].numpy())
            np.testing.assert_allclose(scores[r, t], expected, rtol=1e-8)


def test_center_is_the_mean_embedding_of_normals():
    method = build()
    support = random_rows(100)
    f, g, phi = (references.layers_of(network, 1) for network in (method.f, method.g, method.phi))
    embedded = []
    for t in range(3):
        r = references.task_representation(f, g, support.normal[1, t].numpy(), support.anomaly[1, t].numpy())
        embedded += [references.feed_forward(phi, np.concatenate([x, r])) for x in support.normal[1, t].numpy()]
    np.testing.assert_allclose(method.center[1], np.mean(embedded, axis=0), rtol=1e-10)


def test_loss_is_minus_the_smooth_auc():
    method, support, query = build(), random_rows(3), random_rows(4)
    loss = method.loss(support, query).detach()
    for r in range(2):
        aucs = []
        for t in range(3):
            normal, anomaly = support.normal[r, t].numpy(), support.anomaly[r, t].numpy()
            a, b = (eigen_score(method, r, normal, anomaly, rows[r, t].numpy()) for rows in query)
            aucs.append(references.smooth_auc(a, b))
        assert float(loss[r]) == pytest.approx(-np.mean(aucs), rel=1e-8)


@pytest.mark.parametrize("n_projected", [1, 5, 12])
def test_normal_only_scores_are_the_papers(n_projected):
    method, support = build(WoAnomaly, n_projected=n_projected), random_rows(5)
    query = random_rows(6).joined()
    scores = method.adapt(support)(query).detach()
    for r in range(2):
        f, g, phi = (references.layers_of(network, r) for network in (method.f, method.g, method.phi))
        c, ridge = method.center[r].numpy(), method.config.eta_floor + np.exp(float(method.log_eta[r].detach()))
        assert c.shape == (n_projected,)
        for t in range(3):
            normal = support.normal[r, t].numpy()
            task = references.task_representation(f, g, normal, [])
            embedded = np.stack([references.feed_forward(phi, np.concatenate([x, task])) for x in normal])
            W = references.normal_projection(embedded, c, ridge)
            for n, x in enumerate(query[r, t].numpy()):
                distance = W.T @ references.feed_forward(phi, np.concatenate([x, task])) - c
                assert float(scores[r, t, n]) == pytest.approx(distance @ distance, rel=1e-8)


def test_normal_only_does_not_look_at_anomalies():
    method, support, query = build(WoAnomaly), random_rows(7), random_rows(8).joined()
    without = LabelledRows(support.normal, support.anomaly[:, :, :0])
    torch.testing.assert_close(method.adapt(support)(query), method.adapt(without)(query))


def test_without_network_is_the_projection_of_the_attributes():
    method, support, query = build(WoNN), random_rows(9), random_rows(10).joined()
    scores = method.adapt(support)(query).detach()
    c, eta = method.center[0].numpy(), method.config.eta_floor + np.exp(float(method.log_eta[0].detach()))
    w = references.projection(support.normal[0, 1].numpy() - c, support.anomaly[0, 1].numpy() - c, eta)
    expected = [references.anomaly_score(w / np.linalg.norm(w), x - c) for x in query[0, 1].numpy()]
    np.testing.assert_allclose(scores[0, 1], expected, rtol=1e-8)


def test_without_network_and_anomalies_each_row_is_taken_for_the_anomaly():
    method, support, query = build(WoNN), random_rows(11, n_anomaly=0), random_rows(12).joined()
    scores = method.adapt(support)(query).detach()
    c, eta = method.center[0].numpy(), method.config.eta_floor + np.exp(float(method.log_eta[0].detach()))
    S_N = references.scatter(support.normal[0, 1].numpy() - c) + eta * np.eye(4)
    for n, x in enumerate(query[0, 1].numpy()):
        assert float(scores[0, 1, n]) == pytest.approx((x - c) @ np.linalg.solve(S_N, x - c), rel=1e-8)


@pytest.mark.parametrize("kind", [Eigen, WoAnomaly, WoNN])
class TestEveryForm:
    def test_order_of_the_support_does_not_matter(self, kind):
        method, support, query = build(kind), random_rows(13), random_rows(14).joined()
        shuffled = LabelledRows(support.normal.flip(2), support.anomaly.flip(2))
        torch.testing.assert_close(method.adapt(support)(query), method.adapt(shuffled)(query))

    def test_replicas_equal_separate_models(self, kind):
        method, support, query = build(kind), random_rows(15), random_rows(16)
        together = method.loss(support, query)
        gradients = torch.autograd.grad(together.sum(), list(method.parameters()))
        for r in range(2):
            alone = build(kind, replicas=1, seed=r)
            alone.load_state_dict({name: value[r : r + 1] for name, value in method.state_dict().items()})
            pick = [LabelledRows(rows.normal[r : r + 1], rows.anomaly[r : r + 1]) for rows in (support, query)]
            loss = alone.loss(*pick)
            torch.testing.assert_close(loss[0], together[r])
            for mine, ours in zip(torch.autograd.grad(loss.sum(), list(alone.parameters())), gradients, strict=True):
                torch.testing.assert_close(mine[0], ours[r])

    def test_tasks_together_equal_tasks_alone(self, kind):
        method, support, query = build(kind), random_rows(17), random_rows(18).joined()
        together = method.adapt(support)(query)
        for t in range(3):
            alone = method.adapt(LabelledRows(support.normal[:, t : t + 1], support.anomaly[:, t : t + 1]))
            torch.testing.assert_close(alone(query[:, t : t + 1])[:, 0], together[:, t])

    def test_loss_gradient_by_finite_differences(self, kind):
        method = build(kind, replicas=1)
        support, query = random_rows(19, 1, 2), random_rows(20, 1, 2)
        parameters = [parameter for parameter in method.parameters() if parameter.numel() <= 200]

        def loss(*values):
            named = dict(zip([n for n, p in method.named_parameters() if p.numel() <= 200], values, strict=True))
            state = torch.func.functional_call(
                _Loss(method), {f"method.{n}": v for n, v in named.items()}, (support, query)
            )
            return state.sum()

        assert torch.autograd.gradcheck(loss, parameters, atol=1e-6)

    @pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
    def test_scores_in_float32_are_those_in_float64(self, kind, size):
        support, query = (LabelledRows(*(part * size for part in random_rows(s))) for s in (21, 22))
        expected = build(kind).adapt(support)(query.joined())
        in_float32 = [LabelledRows(*(part.float() for part in rows)) for rows in (support, query)]
        scores = build(kind).float().adapt(in_float32[0])(in_float32[1].joined())
        torch.testing.assert_close(scores, expected, rtol=0, atol=0.02 * float(expected.detach().abs().max()))

    def test_degenerate_supports_stay_finite(self, kind):
        method, query = build(kind), random_rows(23).joined()
        normal, anomaly = random_rows(24)
        zeros = torch.zeros_like
        for support in (
            LabelledRows(normal[:, :, :1].expand_as(normal), anomaly),  # five times the same normal row
            LabelledRows(normal, normal[:, :, :2]),  # anomalies equal to normal rows
            LabelledRows(normal, anomaly[:, :, :1].expand_as(anomaly)),
            LabelledRows(zeros(normal), zeros(anomaly)),
            LabelledRows(normal[:, :, :1], anomaly[:, :, :1]),
        ):
            loss = method.loss(support, LabelledRows(query[:, :, :5], query[:, :, 5:]))
            gradients = torch.autograd.grad(loss.sum(), list(method.parameters()))
            assert ((loss >= -1) & (loss <= 0)).all()  # minus an AUC
            assert all(torch.isfinite(gradient).all() for gradient in gradients)


class _Loss(torch.nn.Module):
    def __init__(self, method):
        super().__init__()
        self.method = method

    def forward(self, support, query):
        return self.method.loss(support, query)


def test_needs_an_anomaly():
    with pytest.raises(InputError, match="at least one labelled anomaly"):
        build().adapt(random_rows(25, n_anomaly=0))


def test_eta_stays_above_its_floor():
    method = build(eta_floor=0.01)
    with torch.no_grad():
        method.log_eta.fill_(-1e9)
    assert (method.eta() == torch.tensor(0.01, dtype=torch.float64)).all()


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
