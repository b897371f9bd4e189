"""MAML and FT: many tasks at once against one task with torch's own tools."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from oddshot.errors import InputError
from oddshot.methods.contract import LabelledRows
from oddshot.methods.gradient import FTConfig, MAMLConfig
from oddshot.model.auc import smooth_auc
from oddshot.model.networks import drop
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
    return LabelledRows(*(part[r, t] for part in rows))


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


def forward(weights, center, x, masks):
    """Scores of one task's rows, in plain matrices. masks: dropout's, one for each hidden layer."""
    for weight, mask in zip(weights[:-1], masks, strict=True):
        x = torch.relu(x @ weight) * mask
    return (x @ weights[-1] - center).square().sum(-1)


def naive_maml(weights, center, support, query, rate, masks):
    """Query scores of one task by autograd through autograd. masks: of the inner steps and then of the query."""
    n_normal, rows = len(support.normal), torch.cat(list(support))
    for mask in masks[:-1]:
        scores = forward(weights, center, rows, mask)
        loss = -smooth_auc(scores[:n_normal], scores[n_normal:])
        gradient = torch.autograd.grad(loss, weights, create_graph=True)
        weights = [w - rate * g for w, g in zip(weights, gradient, strict=True)]
    return forward(weights, center, query, masks[-1])


def draw_masks(method, noise, n_support, n_query):
    """[pass][hidden layer] of [R, T, N, units], in the order in which the method draws them."""
    shapes = [(2, 3, n, method.config.units) for n in [n_support] * method.config.inner_steps + [n_query]]
    n_hidden, rate = method.config.layers - 2, method.config.dropout
    return [[drop(torch.ones(s, dtype=torch.float64), rate, noise) for _ in range(n_hidden)] for s in shapes]


@pytest.mark.parametrize("layers", [2, 3, 4])
@pytest.mark.parametrize(("steps", "dropout"), [(1, 0.0), (5, 0.0), (5, 0.3)])
def test_maml_is_gradient_descent_on_each_support_to_the_second_order(layers, steps, dropout):
    method = build("maml", layers=layers, inner_steps=steps, inner_learning_rate=0.1, dropout=dropout)
    support, query = random_rows(3), random_rows(4)
    method.train()
    method.set_dropout_noise(torch.Generator().manual_seed(0))
    masks = draw_masks(method, torch.Generator().manual_seed(0), 7, 7)
    scores = method.adapt(support)(query.joined())
    for r in range(2):
        weights = [weight[r] for weight in method.phi.weights]
        expected = torch.stack([
            naive_maml(weights, method.center[r], one(support, r, t), query.joined()[r, t], 0.1,
                       [[mask[r, t] for mask in layer] for layer in masks])
            for t in range(3)
        ])  # fmt: skip
        torch.testing.assert_close(scores[r], expected, rtol=1e-11, atol=0)
        losses = [-smooth_auc(a[..., :5], a[..., 5:]).mean() for a in (scores[r], expected)]
        gradients = [torch.autograd.grad(loss, list(method.parameters()), retain_graph=True) for loss in losses]
        for mine, theirs in zip(*gradients, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-13)


def test_maml_in_float32_is_maml_in_float64():
    method, support, query = build("maml", inner_steps=5), random_rows(5), random_rows(6)
    results = []
    for dtype in (torch.float64, torch.float32):
        method.to(dtype)
        rows = [LabelledRows(*(part.to(dtype) for part in half)) for half in (support, query)]
        loss = method.loss(*rows)
        results.append([loss, *(g.double() for g in torch.autograd.grad(loss.sum(), list(method.parameters())))])
    for double, single in zip(*results, strict=True):
        torch.testing.assert_close(single, double, rtol=1e-4, atol=1e-6)


class Largest(TorchDispatchMode):
    """Notes the size of the largest tensor that any operation returns."""

    size = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        sizes = [part.numel() for part in tree_leaves(result) if isinstance(part, torch.Tensor)]
        self.size = max([self.size, *sizes])
        return result


def test_no_task_has_a_weight_matrix_of_its_own_in_maml():
    method, support, query = build("maml", units=64), random_rows(7), random_rows(8)
    with Largest() as largest:
        method.loss(support, query).sum().backward()
    assert 0 < largest.size < 2 * 3 * 64 * 64


def test_gradient_of_maml_by_finite_differences():
    method = build("maml", replicas=1, M=2, units=3, inner_steps=3, inner_learning_rate=0.1)
    support, query = (random_rows(seed, 1, 2, M=2) for seed in (5, 6))
    assert torch.autograd.gradcheck(loss_of_weights(method, support, query), list(method.parameters()), atol=1e-7)


@pytest.mark.parametrize("name", ["maml", "ft"])
def test_adapting_improves_the_support(name):
    method, support = build(name), random_rows(9)
    with torch.no_grad():
        after, before = (smooth_auc(*map(score, support)) for score in (method.adapt(support), method.shared_score()))
    assert (after > before).all()


def test_dropout_changes_the_steps_of_maml_in_training_only():
    method, support, query = build("maml", dropout=0.5), random_rows(10), random_rows(11).joined()
    calm = method.adapt(support)(query)
    method.set_dropout_noise(torch.Generator().manual_seed(0))
    torch.testing.assert_close(method.adapt(support)(query), calm)
    method.train()
    assert not torch.allclose(method.adapt(support)(query), calm)


def test_while_it_trains_ft_is_ssvdd():
    ft, ssvdd, support, query = build("ft"), build("ssvdd"), random_rows(12), random_rows(13)
    torch.testing.assert_close(ft.loss(support, query), ssvdd.loss(support, query))
    with ft.being_trained(torch.Generator()):
        torch.testing.assert_close(ft.adapt(support)(query.normal), ssvdd.adapt(support)(query.normal))
    assert not torch.allclose(ft.adapt(support)(query.normal), ssvdd.adapt(support)(query.normal))


def test_one_task_needs_no_other():
    """The weights of a task follow from its own support alone, whatever else is adapted with it."""
    method, support, query = build("maml"), random_rows(14), random_rows(15).joined()
    other = pick(random_rows(16), tasks=slice(0, 2))
    mixed = LabelledRows(
        *(torch.cat([mine[:, :1], theirs], dim=1) for mine, theirs in zip(support, other, strict=True))
    )
    torch.testing.assert_close(method.adapt(mixed)(query)[:, 0], method.adapt(support)(query)[:, 0])


@pytest.mark.parametrize("wrong", [{"inner_steps": 0}, {"inner_learning_rate": 0.0}])
def test_wrong_settings_of_maml_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        MAMLConfig(**wrong)


@pytest.mark.parametrize("wrong", [{"fine_tuning_epochs": 0}, {"fine_tuning_rate": 0.0}, {"chunk_tasks": 0}])
def test_wrong_settings_of_ft_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        FTConfig(**wrong)
