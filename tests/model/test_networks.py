import numpy as np
import pytest
import torch

from oddshot.model.networks import Network, drop
from tests import references


def make(sizes, replicas=1, seed=0, **settings):
    network = Network(sizes, replicas=replicas, **settings).double()
    network.initialise([torch.Generator().manual_seed(seed + r) for r in range(replicas)])
    for bias in network.biases or ():
        torch.nn.init.normal_(bias, generator=torch.Generator().manual_seed(9))
    return network.eval()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("n_layers", [1, 2, 4])
def test_equals_a_loop_over_rows(n_layers, bias):
    network = make([3] + [5] * n_layers, replicas=2, bias=bias)
    x = torch.randn(2, 4, 6, 3, dtype=torch.float64)
    out = network(x)
    for r in range(2):
        layers = references.layers_of(network, r)
        for t in range(4):
            for n in range(6):
                np.testing.assert_allclose(out[r, t, n].detach(), references.feed_forward(layers, x[r, t, n].numpy()))


@pytest.mark.parametrize("bias", [True, False])
def test_joining_r_equals_concatenation(bias):
    network = make([3 + 4, 5, 5], replicas=2, bias=bias)
    x, r = torch.randn(2, 4, 6, 3, dtype=torch.float64), torch.randn(2, 4, 4, dtype=torch.float64)
    joined = torch.cat([x, r.unsqueeze(2).expand(-1, -1, 6, -1)], dim=-1)
    torch.testing.assert_close(network(x, r), network(joined))


@pytest.mark.parametrize("sizes", [[3, 2], [3, 5, 2], [3, 5, 4, 2]])
def test_hidden_and_last_weight_make_the_output(sizes):
    network = make(sizes, bias=False)
    x = torch.randn(1, 2, 6, 3, dtype=torch.float64)
    torch.testing.assert_close(network.hidden(x) @ network.last_weight[:, None], network(x))


def test_replicas_start_as_separate_networks_do():
    together, alone = make([3, 5, 2], replicas=2, seed=7), make([3, 5, 2], seed=8)
    torch.testing.assert_close(together.weights[0][1], alone.weights[0][0])


def test_a_bias_free_network_maps_zero_to_zero():
    assert (make([3, 5, 2], bias=False)(torch.zeros(1, 1, 1, 3, dtype=torch.float64)) == 0).all()


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_keeps_the_mean_and_drops_the_rate(rate):
    x = torch.ones(400, 1001)
    dropped = drop(x, rate, torch.Generator().manual_seed(0))
    assert float((dropped == 0).float().mean()) == pytest.approx(rate, abs=0.003)
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.005)
    # Neighbours come from the same 64-bit word and must not depend on each other.
    kept = (dropped != 0).double().flatten()
    assert abs(float(torch.corrcoef(torch.stack([kept[1:], kept[:-1]]))[0, 1])) < 0.01


def test_dropout_only_while_training_and_from_its_own_generator():
    network = make([3, 50, 2], dropout=0.5)
    network.noise = torch.Generator().manual_seed(0)
    x = torch.randn(1, 1, 6, 3, dtype=torch.float64)
    before = torch.get_rng_state()
    torch.testing.assert_close(network(x), network(x))
    network.train()
    assert not torch.equal(network(x), network(x))
    assert torch.equal(before, torch.get_rng_state())


def test_without_settings_a_network_has_one_replica_with_biases_and_no_dropout():
    network = Network([3, 5, 2])
    assert [tuple(weight.shape) for weight in network.weights] == [(1, 3, 5), (1, 5, 2)]
    assert [tuple(bias.shape) for bias in network.biases] == [(1, 1, 5), (1, 1, 2)]
    assert network.dropout == 0
    assert network.noise is None
    assert network.shard_margins == (0, 0)
    assert Network([3, 2], bias=False).biases is None


@pytest.mark.parametrize("sizes", [[], [3]])
def test_a_network_without_a_layer_is_refused(sizes):
    with pytest.raises(ValueError, match="needs an input and an output width"):
        Network(sizes)


def test_a_task_representation_is_refused_by_a_single_layer():
    x, r = torch.zeros(1, 1, 2, 3, dtype=torch.float64), torch.zeros(1, 1, 4, dtype=torch.float64)
    with pytest.raises(ValueError, match="needs a network of two layers or more"):
        make([7, 2])(x, r)


def test_weights_start_uniform_within_one_over_the_root_of_the_number_of_inputs():
    network = Network([16, 400, 300])
    network.initialise([torch.Generator().manual_seed(0)])
    for n_in, weight, bias in zip((16, 400), network.weights, network.biases, strict=True):
        for values in (weight.detach(), bias.detach()):
            bound = n_in**-0.5
            assert -bound <= values.min() < -0.95 * bound
            assert 0.95 * bound < values.max() <= bound
            assert abs(values.mean()) < 0.15 * bound
            assert values.std() == pytest.approx(bound / 3**0.5, rel=0.1)


def test_no_dropout_without_a_rate_or_without_noise():
    x = torch.randn(2, 3, 4)
    assert drop(x, 0.0, torch.Generator().manual_seed(0)) is x
    assert drop(x, 0.5, None) is x


@pytest.mark.parametrize("shape", [(2, 6, 3), (2, 6, 3, 5)])
def test_tasks_of_a_batch_drop_what_they_drop_in_the_whole_batch(shape):
    x = torch.randn(shape)
    whole = drop(x, 0.5, torch.Generator().manual_seed(0))
    for before, after in ((0, 0), (1, 0), (0, 2), (2, 3)):
        part = drop(x[:, before : 6 - after], 0.5, torch.Generator().manual_seed(0), (before, after))
        torch.testing.assert_close(part, whole[:, before : 6 - after], rtol=0, atol=0)


def test_as_much_noise_is_drawn_as_is_needed():
    """A draw serves four entries: after one to four of them generators agree, after five they do not."""
    states = {}
    for n in (1, 3, 4, 5):
        generator = torch.Generator().manual_seed(0)
        drop(torch.ones(1, 1, n), 0.5, generator)
        states[n] = generator.get_state()
    assert torch.equal(states[1], states[3])
    assert torch.equal(states[3], states[4])
    assert not torch.equal(states[4], states[5])


def test_replicas_drop_the_joined_representation_too():
    network = make([3 + 2, 60, 1], dropout=0.5).train()
    network.noise = torch.Generator().manual_seed(0)
    x, r = torch.ones(1, 1, 1, 3, dtype=torch.float64), torch.ones(1, 1, 2, dtype=torch.float64)
    hidden = network.hidden(x, r)
    network.eval()
    full = network.hidden(x, r)
    kept = hidden != 0
    assert 0 < kept.sum() < (full != 0).sum()
    torch.testing.assert_close(hidden[kept], 2 * full[kept])
