import numpy as np
import pytest

from oddshot.methods.eigen import Eigen, EigenConfig
from oddshot.score.networks import Layers, hidden
from oddshot.score.rows import LabelledRows
from tests.score.tasks import random_layers

torch = pytest.importorskip("torch")

from oddshot.training.trainable import Trainable, drop  # noqa: E402


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_keeps_the_mean_and_drops_the_rate(rate):
    x = torch.ones(400, 1001)
    dropped = drop(x, rate, torch.Generator().manual_seed(0))
    assert float((dropped == 0).float().mean()) == pytest.approx(rate, abs=0.003)
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.005)
    # Neighbours come from the same 64-bit word and must not depend on each other.
    kept = (dropped != 0).double().flatten()
    assert abs(float(torch.corrcoef(torch.stack([kept[1:], kept[:-1]]))[0, 1])) < 0.01


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


def episode():
    rows = torch.randn(1, 2, 12, 4, generator=torch.Generator().manual_seed(1))
    return LabelledRows(rows[:, :, :4], rows[:, :, 4:6]), LabelledRows(rows[:, :, 6:9], rows[:, :, 9:])


def test_dropout_only_in_training_steps_and_from_its_own_generator():
    trainable = Trainable(Eigen, 4, EigenConfig(units=50, dropout=0.5))
    trainable.initialise([torch.Generator().manual_seed(0)])
    support, query = episode()
    before, whole = torch.get_rng_state(), trainable.loss(support, query)
    torch.testing.assert_close(trainable.loss(support, query), whole, rtol=0, atol=0)
    trainable.noise = torch.Generator().manual_seed(0)
    first = trainable.loss(support, query)
    assert not torch.equal(first, whole)
    assert not torch.equal(trainable.loss(support, query), first)
    scores = [trainable.method.adapt(support)(query.joined()) for _ in range(2)]
    torch.testing.assert_close(*scores, rtol=0, atol=0)
    trainable.noise = torch.Generator().manual_seed(0)
    torch.testing.assert_close(trainable.loss(support, query), first, rtol=0, atol=0)
    assert torch.equal(before, torch.get_rng_state())


def test_the_representation_of_a_task_is_dropped_with_its_rows():
    layers = random_layers(np.random.default_rng(0), 3 + 2, 60, 1, lead=(1,))
    layers = Layers(*(tuple(map(torch.from_numpy, part)) for part in layers))
    x, r = torch.ones(1, 1, 1, 3, dtype=torch.float64), torch.ones(1, 1, 2, dtype=torch.float64)
    noise = torch.Generator().manual_seed(0)
    dropped, full = hidden(x, layers, r, lambda h: drop(h, 0.5, noise)), hidden(x, layers, r)
    kept = dropped != 0
    assert 0 < kept.sum() < (full != 0).sum()
    torch.testing.assert_close(dropped[kept], 2 * full[kept])
