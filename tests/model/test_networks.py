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


def test_hidden_and_last_weight_make_the_output():
    network = make([3, 5, 2], bias=False)
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
