import numpy as np
import pytest

from oddshot.score.networks import Layers, hidden, mlp, task_part
from tests import references
from tests.score.tasks import draw, of_replica, random_layers


def make(widths, lead=(), bias=True):
    layers = random_layers(np.random.default_rng(0), *widths, lead=lead)
    return layers if bias else Layers(layers.weights, None)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("n_layers", [1, 2, 4])
def test_equals_a_loop_over_rows(n_layers, bias):
    layers, x = make([3] + [5] * n_layers, lead=(2,), bias=bias), draw(1, 2, 4, 6, 3)
    out = mlp(x, layers)
    for r, t, n in np.ndindex(2, 4, 6):
        expected = references.feed_forward(of_replica(layers, r), x[r, t, n])
        np.testing.assert_allclose(out[r, t, n], expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("lead", [(), (2,), (2, 4)])
def test_weights_without_replicas_are_those_of_every_task(lead):
    layers, x = make([3, 5, 2]), draw(1, *lead, 6, 3)
    out = mlp(x, layers)
    for place in np.ndindex(*lead, 6):
        expected = references.feed_forward(of_replica(layers), x[place])
        np.testing.assert_allclose(out[place], expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("of_weights", "of_rows"), [((), ()), ((), (2, 4)), ((2,), (2, 4))])
def test_joining_r_equals_concatenation(bias, of_weights, of_rows):
    layers = make([3 + 4, 5, 5], lead=of_weights, bias=bias)
    x, r = draw(1, *of_rows, 6, 3), draw(2, *of_rows, 4)
    joined = np.concatenate([x, np.broadcast_to(r[..., None, :], (*of_rows, 6, 4))], axis=-1)
    np.testing.assert_allclose(mlp(x, layers, r), mlp(joined, layers), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("bias", [True, False])
def test_the_part_of_the_task_is_what_r_adds_to_the_first_layer(bias):
    layers, r = make([3 + 4, 5], lead=(2,), bias=bias), draw(2, 2, 3, 4)
    found = task_part(layers.weights[0], layers.bias(0), r)
    assert found.shape == (2, 3, 1, 5)
    for place in np.ndindex(2, 3):
        weight, b = of_replica(layers, place[0])[0]
        np.testing.assert_allclose(found[place][0], r[place] @ weight[3:] + b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("widths", [[3, 2], [3, 5, 2], [3, 5, 4, 2]])
def test_hidden_and_last_weight_make_the_output(widths):
    layers, x = make(widths, lead=(2,), bias=False), draw(1, 2, 2, 6, 3)
    np.testing.assert_allclose(hidden(x, layers) @ layers.weights[-1][:, None], mlp(x, layers), rtol=1e-12)


def test_a_bias_free_network_maps_zero_to_zero():
    assert (mlp(np.zeros((1, 3)), make([3, 5, 2], bias=False)) == 0).all()


@pytest.mark.parametrize("bias", [True, False])
def test_rows_and_weights_are_not_written_to(bias):
    layers, x, r = make([3 + 4, 5, 5, 2], bias=bias), draw(1, 2, 6, 3), draw(2, 2, 4)
    arrays = [x, r, *layers.weights, *(layers.biases or ())]
    before = [array.copy() for array in arrays]
    mlp(x, layers, r)
    for array, expected in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, expected)


def test_what_is_dropped_is_the_output_of_every_layer_but_the_last():
    layers, x, r, seen = make([3 + 2, 6, 4, 1]), draw(1, 5, 3), draw(2, 2), []

    def drop(h):
        seen.append(h)
        return 2 * h

    dropped = mlp(x, layers, r, drop)
    assert [h.shape for h in seen] == [(5, 6), (5, 4)]
    assert all((h >= 0).all() for h in seen)
    np.testing.assert_allclose(seen[0], hidden(x, Layers(layers.weights[:2], layers.biases[:2]), r), rtol=1e-12)
    weight, b = of_replica(layers)[-1]
    np.testing.assert_allclose(dropped, 2 * seen[1] @ weight + b, rtol=1e-12)


@pytest.mark.parametrize("bias", [True, False])
def test_layers_are_found_by_their_name_and_number(bias):
    layers, other = make([3, 5, 2], bias=bias), make([4, 4])
    named = {f"phi.weights.{k}": weight for k, weight in enumerate(layers.weights)}
    named |= {f"phi.biases.{k}": b for k, b in enumerate(layers.biases or ())}
    named |= {"f.weights.0": other.weights[0], "f.biases.0": other.biases[0]}
    found = Layers.named(named, "phi")
    assert len(found.weights) == 2
    for ours, theirs in zip(found.weights, layers.weights, strict=True):
        assert ours is theirs
    assert (found.biases is None) == (not bias)
    assert all(found.bias(k) is layers.bias(k) for k in (0, 1, -1))
    assert len(Layers.named(named, "f").weights) == 1
