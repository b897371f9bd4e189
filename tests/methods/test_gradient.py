"""MAML and FT: many tasks at once against one task with torch's own tools."""

import itertools

import numpy as np
import pytest

from oddshot.errors import InputError
from oddshot.methods.gradient import DenseLayer, FTConfig, LowRankLayer, MAMLConfig, SteppedDistance, adam_step
from oddshot.score.auc import smooth_auc
from oddshot.score.rows import LabelledRows
from tests.methods.samples import build, pick, random_rows

T, N_IN, N_OUT = 3, 4, 5


def draw(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def forward(torch, weights, center, x, masks=None):
    """Scores of one task's rows, in plain matrices. masks: dropout's, one for each hidden layer."""
    for k, weight in enumerate(weights[:-1]):
        x = torch.relu(x @ weight)
        x = x if masks is None else x * masks[k]
    return (x @ weights[-1] - center).square().sum(-1)


def objective(torch, weights, center, support, masks=None):
    """Minus the mean sigmoid of the score differences of one task, by autograd."""
    normal, anomaly = support
    scores = forward(torch, weights, center, torch.cat([normal, anomaly]), masks)
    differences = scores[len(normal) :, None] - scores[None, : len(normal)]
    return -torch.sigmoid(differences).mean()


def in_torch(torch, *arrays):
    return [torch.from_numpy(np.array(array)) for array in arrays]


@pytest.mark.parametrize("layers", [2, 3, 4])
def test_fine_tuning_is_adam_on_each_support(layers):
    torch = pytest.importorskip("torch")
    method = build("ft", fine_tuning_epochs=30, layers=layers)
    support, query = random_rows(1), random_rows(2).joined()
    scores = method.adapt(support)(query)
    (center,) = in_torch(torch, method.weights["center"])
    for t in range(T):
        weights = [w.requires_grad_() for w in in_torch(torch, *method.layers("phi").weights)]
        optimizer, rows = torch.optim.Adam(weights, lr=1e-3), in_torch(torch, *pick(support, t))
        for _ in range(30):
            optimizer.zero_grad()
            objective(torch, weights, center, rows).backward()
            optimizer.step()
        expected = forward(torch, weights, center, torch.from_numpy(query[t])).detach()
        np.testing.assert_allclose(scores[t], expected, rtol=1e-8)


@pytest.mark.parametrize("layers", [2, 3, 4])
@pytest.mark.parametrize("n_anomaly", [1, 3])
def test_the_backward_pass_is_that_of_autograd(layers, n_anomaly):
    torch = pytest.importorskip("torch")
    method, support = build("ft", layers=layers), random_rows(1, n_anomaly=n_anomaly)
    weights = [np.stack([w + 0.1 * draw([k, t], *w.shape) for t in range(T)]) for k, w in enumerate(phi(method))]
    rising = SteppedDistance([DenseLayer(w) for w in weights], method.weights["center"]).rising(support)
    assert len(rising) == layers - 1
    for t in range(T):
        own = [w.requires_grad_() for w in in_torch(torch, *(weight[t] for weight in weights))]
        (center,) = in_torch(torch, method.weights["center"])
        value = objective(torch, own, center, in_torch(torch, *pick(support, t)))
        for (inputs, change), gradient in zip(rising, torch.autograd.grad(value, own), strict=True):
            np.testing.assert_allclose(-inputs[t].T @ change[t], gradient, rtol=1e-9, atol=1e-13)


def phi(method):
    return method.layers("phi").weights


@pytest.mark.parametrize("steps", [1, 2, 50])
def test_a_step_of_adam_is_torchs(steps):
    torch = pytest.importorskip("torch")
    weight = draw(0, 3, 4)
    theirs = torch.from_numpy(weight.copy()).requires_grad_()
    optimizer, moments = torch.optim.Adam([theirs], lr=0.02), (np.zeros_like(weight), np.zeros_like(weight))
    for step in range(1, steps + 1):
        gradient = draw([1, step], 3, 4)
        weight, moments = adam_step(weight, gradient, moments, step, 0.02)
        theirs.grad = torch.from_numpy(gradient)
        optimizer.step()
    np.testing.assert_allclose(weight, theirs.detach(), rtol=1e-12)


def naive_maml(torch, weights, center, support, query, rate, steps, masks=None):
    """Query scores of one task by autograd through autograd. masks: of the inner steps and then of the query."""
    masks = [None] * (steps + 1) if masks is None else masks
    for mask in masks[:-1]:
        value = objective(torch, weights, center, support, mask)
        gradient = torch.autograd.grad(value, weights, create_graph=True)
        weights = [w - rate * g for w, g in zip(weights, gradient, strict=True)]
    return forward(torch, weights, center, query, masks[-1])


@pytest.mark.parametrize("layers", [2, 3, 4])
@pytest.mark.parametrize("steps", [1, 5])
def test_maml_in_numpy_is_gradient_descent_on_each_support(layers, steps):
    torch = pytest.importorskip("torch")
    method = build("maml", layers=layers, inner_steps=steps, inner_learning_rate=0.1)
    support, query = random_rows(3), random_rows(4).joined()
    scores = method.adapt(support)(query)
    for t in range(T):
        weights = [w.requires_grad_() for w in in_torch(torch, *phi(method))]
        center, rows = in_torch(torch, method.weights["center"], query[t])
        one = in_torch(torch, *pick(support, t))
        expected = naive_maml(torch, weights, center, one, rows, 0.1, steps).detach()
        np.testing.assert_allclose(scores[t], expected, rtol=1e-10)


def draw_masks(torch, config, noise, n_support, n_query):
    """[pass][hidden layer] of [R, T, N, units], in the order in which the method draws them."""
    from oddshot.training.trainable import drop

    shapes = [(2, T, n, config.units) for n in [n_support] * config.inner_steps + [n_query]]
    return [
        [drop(torch.ones(s, dtype=torch.float64), config.dropout, noise) for _ in range(config.layers - 2)]
        for s in shapes
    ]


@pytest.mark.parametrize("layers", [2, 3, 4])
@pytest.mark.parametrize(("steps", "dropout"), [(1, 0.0), (5, 0.0), (5, 0.3)])
def test_training_of_maml_differentiates_through_its_steps_to_the_second_order(layers, steps, dropout):
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, random_tensors

    made = build_trainable("maml", layers=layers, inner_steps=steps, inner_learning_rate=0.1, dropout=dropout)
    support, query = random_tensors(3), random_tensors(4)
    made.noise, made.is_in_training_step = torch.Generator().manual_seed(0), True
    masks = draw_masks(torch, made.config, torch.Generator().manual_seed(0), 7, 7)
    method = made.method
    scores = method.adapt(support)(query.joined())
    names = [f"phi.weights.{k}" for k in range(layers - 1)]
    for r in range(2):
        weights = [made.tensors[name][r] for name in names]
        expected = []
        for t in range(T):
            own_masks = [[mask[r, t] for mask in layer] for layer in masks]
            rows, center = [part[r, t] for part in support], made.tensors["center"][r]
            expected.append(naive_maml(torch, weights, center, rows, query.joined()[r, t], 0.1, steps, own_masks))
        expected = torch.stack(expected)
        torch.testing.assert_close(scores[r], expected, rtol=1e-11, atol=0)
        losses = [-smooth_auc(a[..., :5], a[..., 5:]).mean() for a in (scores[r], expected)]
        gradients = [torch.autograd.grad(loss, made.parameters, retain_graph=True) for loss in losses]
        for mine, theirs in zip(*gradients, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-13)


def test_maml_in_float32_is_maml_in_float64():
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, convert, random_tensors, to_type

    made, support, query = build_trainable("maml", inner_steps=5), random_tensors(5), random_tensors(6)
    results = []
    for dtype in (torch.float64, torch.float32):
        convert(made, dtype)
        loss = made.loss(to_type(support, dtype), to_type(query, dtype))
        results.append([loss, *(g.double() for g in torch.autograd.grad(loss.sum(), made.parameters))])
    for double, single in zip(*results, strict=True):
        torch.testing.assert_close(single, double, rtol=1e-4, atol=1e-6)


def test_no_task_has_a_weight_matrix_of_its_own_in_training_of_maml():
    torch = pytest.importorskip("torch")
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    from tests.methods.tensors import build_trainable, random_tensors

    class Largest(TorchDispatchMode):
        """Notes the size of the largest tensor that any operation returns."""

        size = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            sizes = [part.numel() for part in tree_leaves(result) if isinstance(part, torch.Tensor)]
            self.size = max([self.size, *sizes])
            return result

    made, support, query = build_trainable("maml", units=64), random_tensors(7), random_tensors(8)
    with Largest() as largest:
        made.loss(support, query).sum().backward()
    assert 0 < largest.size < 2 * T * 64 * 64


def test_gradient_of_maml_by_finite_differences():
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, loss_of_weights, random_tensors

    made = build_trainable("maml", replicas=1, M=2, units=3, inner_steps=3, inner_learning_rate=0.1)
    support, query = (random_tensors(seed, 1, 2, M=2) for seed in (5, 6))
    assert torch.autograd.gradcheck(loss_of_weights(made, support, query), made.parameters, atol=1e-7)


@pytest.mark.parametrize("name", ["maml", "ft"])
def test_adapting_improves_the_support(name):
    method, support = build(name), random_rows(9)
    after, before = (smooth_auc(*map(score, support)) for score in (method.adapt(support), method.shared_score()))
    assert (after > before).all()


def test_dropout_changes_the_steps_of_maml_in_training_only():
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, random_tensors

    made, support, query = build_trainable("maml", dropout=0.5), random_tensors(10), random_tensors(11).joined()
    calm = made.method.adapt(support)(query)
    made.noise = torch.Generator().manual_seed(0)
    torch.testing.assert_close(made.method.adapt(support)(query), calm)
    made.is_in_training_step = True
    assert not torch.allclose(made.method.adapt(support)(query), calm)


def test_while_it_trains_ft_is_ssvdd():
    torch = pytest.importorskip("torch")
    from tests.methods.tensors import build_trainable, random_tensors

    ft, ssvdd, support, query = build_trainable("ft"), build_trainable("ssvdd"), random_tensors(12), random_tensors(13)
    torch.testing.assert_close(ft.loss(support, query), ssvdd.loss(support, query))
    learned, expected = ft.method.learned(support)(query.normal), ssvdd.method.adapt(support)(query.normal)
    torch.testing.assert_close(learned, expected)
    assert not torch.allclose(ft.method.adapt(support)(query.normal), expected)


@pytest.mark.parametrize("name", ["maml", "ft"])
def test_one_task_needs_no_other(name):
    """The weights of a task follow from its own support alone, whatever else is adapted with it."""
    method, support, query = build(name), random_rows(14), random_rows(15).joined()
    other = pick(random_rows(16), slice(0, 2))
    mixed = LabelledRows(*(np.concatenate([mine[:1], theirs]) for mine, theirs in zip(support, other, strict=True)))
    np.testing.assert_allclose(method.adapt(mixed)(query)[0], method.adapt(support)(query)[0], rtol=1e-12)


@pytest.mark.parametrize("chunk_tasks", [1, 2, 3, 64])
def test_tasks_are_fine_tuned_the_same_whatever_their_chunks(chunk_tasks):
    support, query = random_rows(14), random_rows(15).joined()
    expected = build("ft").adapt(support)(query)
    np.testing.assert_allclose(build("ft", chunk_tasks=chunk_tasks).adapt(support)(query), expected, rtol=1e-12)


# Layers of tasks that differ by a low-rank matrix, against a weight matrix for each task.


def stepped(steps):
    """A layer after steps on so many rows each, and its weights by loops over rows: [T] of [in, out]."""
    W = draw(0, N_IN, N_OUT)
    layer, dense = LowRankLayer(W), [W.copy() for _ in range(T)]
    for k, n_rows in enumerate(steps):
        x, change = draw([1, k], T, n_rows, N_IN), draw([2, k], T, n_rows, N_OUT)
        layer = layer.step(x, change)
        for t, n in itertools.product(range(T), range(n_rows)):
            dense[t] += np.outer(x[t, n], change[t, n])
    return layer, dense


@pytest.mark.parametrize("steps", [(), (1,), (3, 3), (2, 1, 4)])
def test_a_layer_is_the_product_with_the_weight_of_its_task(steps):
    layer, dense = stepped(steps)
    x, y = draw(3, T, 6, N_IN), draw(4, T, 6, N_OUT)
    forward_, backward = layer(x), layer.backward(y)
    weights = np.broadcast_to(layer.weight(), (T, N_IN, N_OUT))
    assert (forward_.shape, backward.shape) == ((T, 6, N_OUT), (T, 6, N_IN))
    for t in range(T):
        np.testing.assert_allclose(weights[t], dense[t], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(forward_[t], x[t] @ dense[t], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(backward[t], y[t] @ dense[t].T, rtol=1e-10, atol=1e-12)
        own = DenseLayer(dense[t])
        np.testing.assert_allclose(own(x[t]), forward_[t], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(own.backward(y[t]), backward[t], rtol=1e-10, atol=1e-12)


def test_a_step_leaves_the_layer_before_it_as_it_was():
    layer, _ = stepped((2,))
    before = layer.weight()
    layer.step(draw(5, T, 1, N_IN), draw(6, T, 1, N_OUT))
    np.testing.assert_array_equal(layer.weight(), before)


@pytest.mark.parametrize("wrong", [{"inner_steps": 0}, {"inner_learning_rate": 0.0}])
def test_wrong_settings_of_maml_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        MAMLConfig(**wrong)


@pytest.mark.parametrize("wrong", [{"fine_tuning_epochs": 0}, {"fine_tuning_rate": 0.0}, {"chunk_tasks": 0}])
def test_wrong_settings_of_ft_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        FTConfig(**wrong)
