"""MAML and FT: many tasks at once against one task with torch's own tools."""

import pytest
import torch

from oddshot.errors import InputError
from oddshot.methods.contract import Rows
from oddshot.methods.ft import FTConfig
from oddshot.methods.maml import MAMLConfig
from oddshot.model.auc import smooth_auc
from tests.methods.samples import build, loss_of_weights, pick, random_rows


class OneTask(torch.nn.Module):
    """SSVDD's network for one task of one replica, in ordinary layers."""

    def __init__(self, method, r):
        super().__init__()
        layers = []
        for weight in method.phi.weights:
            linear = torch.nn.Linear(weight.shape[1], weight.shape[2], bias=False, dtype=weight.dtype)
            linear.weight.data = weight[r].detach().mT.clone()
            layers += [linear, torch.nn.ReLU()]
        self.phi, self.center = torch.nn.Sequential(*layers[:-1]), method.center[r]

    def forward(self, x):
        return (self.phi(x) - self.center).square().sum(-1)

    def loss(self, rows):
        return -smooth_auc(self(rows.normal), self(rows.anomaly))


def one(rows, r, t):
    return Rows(*(part[r, t] for part in rows))


def test_fine_tuning_is_adam_on_each_support():
    method, support, query = build("ft", fine_tuning_epochs=30), random_rows(1), random_rows(2).joined()
    scores = method.adapt(support)(query)
    for r in range(2):
        for t in range(3):
            alone = OneTask(method, r)
            optimizer = torch.optim.Adam(alone.parameters(), lr=1e-3)
            for _ in range(30):
                optimizer.zero_grad()
                alone.loss(one(support, r, t)).backward()
                optimizer.step()
            torch.testing.assert_close(scores[r, t], alone(query[r, t]).detach(), rtol=1e-8, atol=0)


def inner_steps(method, alone, support):
    """Weights of one task after its steps, differentiable."""
    weights = dict(alone.named_parameters())
    for _ in range(method.config.inner_steps):
        normal, anomaly = (torch.func.functional_call(alone, weights, (part,)) for part in support)
        gradient = torch.autograd.grad(-smooth_auc(normal, anomaly), list(weights.values()), create_graph=True)
        rate = method.config.inner_learning_rate
        weights = {key: w - rate * g for (key, w), g in zip(weights.items(), gradient, strict=True)}
    return weights


def test_maml_is_gradient_descent_on_each_support_to_the_second_order():
    method = build("maml", replicas=1, inner_steps=5, inner_learning_rate=0.1, chunk_tasks=64)
    support, query = random_rows(3, 1), random_rows(4, 1)
    scores, losses, alone = method.adapt(support)(query.joined()).detach(), [], OneTask(method, 0)
    for t in range(3):
        weights = inner_steps(method, alone, one(support, 0, t))
        normal, anomaly = (torch.func.functional_call(alone, weights, (part[0, t],)) for part in query)
        torch.testing.assert_close(scores[0, t], torch.cat([normal, anomaly]).detach())
        losses.append(-smooth_auc(normal, anomaly))
    expected = torch.autograd.grad(torch.stack(losses).mean(), list(alone.parameters()))
    loss = method.loss(support, query)
    assert float(loss.detach()) == pytest.approx(float(torch.stack(losses).mean().detach()))
    for mine, theirs in zip(torch.autograd.grad(loss.sum(), list(method.parameters())), expected, strict=True):
        torch.testing.assert_close(mine[0], theirs.mT)


def test_gradient_of_maml_by_finite_differences():
    method = build("maml", replicas=1, M=2, units=3, inner_steps=3, inner_learning_rate=0.1)
    support, query = (random_rows(seed, 1, 2, M=2) for seed in (5, 6))
    assert torch.autograd.gradcheck(loss_of_weights(method, support, query), list(method.parameters()), atol=1e-7)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_chunks_change_neither_loss_nor_gradient(size):
    support, query = random_rows(7, tasks=5), random_rows(8, tasks=5)
    whole, parts = (build("maml", chunk_tasks=n) for n in (64, size))
    scale = torch.tensor([2.0, -0.5], dtype=torch.float64)
    losses = [method.loss(support, query) for method in (whole, parts)]
    gradients = [
        torch.autograd.grad((scale * loss).sum(), list(method.parameters()))
        for loss, method in zip(losses, (whole, parts), strict=True)
    ]
    torch.testing.assert_close(losses[1], losses[0])
    for mine, ours in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, ours)
    torch.testing.assert_close(parts.adapt(support)(query.normal).detach(), whole.adapt(support)(query.normal).detach())
    with torch.no_grad():
        torch.testing.assert_close(parts.loss(support, query), losses[0].detach())


@pytest.mark.parametrize("name", ["maml", "ft"])
def test_adapting_improves_the_support(name):
    method, support = build(name), random_rows(9)
    with torch.no_grad():
        after, before = (smooth_auc(*map(score, support)) for score in (method.adapt(support), method.shared_score()))
    assert (after > before).all()


def test_dropout_changes_the_steps_of_maml_in_training_only():
    method, support, query = build("maml", dropout=0.5), random_rows(10), random_rows(11).joined()
    calm = method.adapt(support)(query)
    method.set_noise(torch.Generator().manual_seed(0))
    torch.testing.assert_close(method.adapt(support)(query), calm)
    method.train()
    assert not torch.allclose(method.adapt(support)(query), calm)


def test_while_it_trains_ft_is_ssvdd():
    ft, ssvdd, support, query = build("ft"), build("ssvdd"), random_rows(12), random_rows(13)
    torch.testing.assert_close(ft.loss(support, query), ssvdd.loss(support, query))
    ft.set_noise(torch.Generator())
    torch.testing.assert_close(ft.adapt(support)(query.normal), ssvdd.adapt(support)(query.normal))
    ft.set_noise(None)
    assert not torch.allclose(ft.adapt(support)(query.normal), ssvdd.adapt(support)(query.normal))


def test_one_task_needs_no_other():
    """The weights of a task follow from its own support alone, whatever else is adapted with it."""
    method, support, query = build("maml"), random_rows(14), random_rows(15).joined()
    other = pick(random_rows(16), tasks=slice(0, 2))
    mixed = Rows(*(torch.cat([mine[:, :1], theirs], dim=1) for mine, theirs in zip(support, other, strict=True)))
    torch.testing.assert_close(method.adapt(mixed)(query)[:, 0], method.adapt(support)(query)[:, 0])


@pytest.mark.parametrize("wrong", [{"inner_steps": 0}, {"inner_learning_rate": 0.0}, {"chunk_tasks": 0}])
def test_wrong_settings_of_maml_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        MAMLConfig(**wrong)


@pytest.mark.parametrize("wrong", [{"fine_tuning_epochs": 0}, {"fine_tuning_rate": 0.0}, {"chunk_tasks": 0}])
def test_wrong_settings_of_ft_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        FTConfig(**wrong)
