"""What weights are before training."""

import pytest

from oddshot.methods.contract import Method, Weight, network_weights

torch = pytest.importorskip("torch")

from oddshot.training.trainable import Trainable  # noqa: E402


class Plain(Method):
    """A network, a vector and a number."""

    config_type = type(None)

    @classmethod
    def weights_of(cls, n_attributes, config):
        others = {"vector": Weight((400,), "normal"), "number": Weight((), -2.5), "center": Weight((2,), 0.0, False)}
        return {**network_weights("phi", [n_attributes, 400, 300]), **others}

    def adapt(self, support, unlabelled=None):
        raise NotImplementedError


def made(*seeds):
    trainable = Trainable(Plain, 16, None, len(seeds))
    trainable.initialise([torch.Generator().manual_seed(seed) for seed in seeds])
    return trainable


@pytest.mark.parametrize("bias", [True, False])
def test_a_network_has_a_weight_and_a_bias_for_each_layer(bias):
    shapes = {name: weight.shape for name, weight in network_weights("f", [3, 5, 2], bias).items()}
    biases = {"f.biases.0": (1, 5), "f.biases.1": (1, 2)} if bias else {}
    assert shapes == {"f.weights.0": (3, 5), "f.weights.1": (5, 2)} | biases
    layers = Plain(3, None, dict.fromkeys(shapes, 0)).layers("f")
    assert (len(layers.weights), layers.biases and len(layers.biases)) == (2, 2 if bias else None)


def test_replicas_start_as_separate_networks_do():
    together, alone = made(7, 8), made(8)
    assert set(together.tensors) == set(together.weights)
    for name, tensor in together.tensors.items():
        assert torch.equal(tensor[1], alone.tensors[name][0])
    assert not torch.equal(together.tensors["phi.weights.0"][0], together.tensors["phi.weights.0"][1])


def test_networks_start_uniform_within_one_over_the_root_of_the_number_of_inputs():
    tensors = made(0).tensors
    for layer, n_in in enumerate((16, 400)):
        for name in ("weights", "biases"):
            values, bound = tensors[f"phi.{name}.{layer}"].detach(), n_in**-0.5
            assert -bound <= values.min() < -0.95 * bound
            assert 0.95 * bound < values.max() <= bound
            assert abs(values.mean()) < 0.15 * bound
            assert values.std() == pytest.approx(bound / 3**0.5, rel=0.1)


def test_other_weights_start_normal_or_as_a_number():
    tensors = made(0).tensors
    assert float(tensors["vector"].detach().std()) == pytest.approx(1.0, abs=0.15)
    assert float(tensors["vector"].detach().mean()) == pytest.approx(0.0, abs=0.2)
    assert tensors["number"].tolist() == [-2.5]
    assert tensors["center"].tolist() == [[0.0, 0.0]]


def test_a_fixed_weight_is_not_trained():
    trainable = made(0)
    assert not trainable.tensors["center"].requires_grad
    learned = {name for name, weight in trainable.weights.items() if weight.is_learned}
    assert learned == set(trainable.weights) - {"center"}
    assert len(trainable.parameters) == len(learned)
    assert all(tensor.requires_grad for tensor in trainable.parameters)
