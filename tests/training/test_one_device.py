"""Training on a GPU needs all tensors there: on a device without numbers, any other one is an error as well."""

import pytest
import torch

from oddshot.methods import find_method, method_names
from oddshot.score.rows import LabelledRows
from oddshot.training.trainable import MAX_TRAINED_COLUMNS, Trainable

R, T = 2, 3
LEARNED = [name for name in method_names() if find_method(name).weights_of(3, find_method(name).config_type())]


def rows(n_normal, n_anomaly, n_columns):
    return LabelledRows(*(torch.empty(R, T, n, n_columns, device="meta") for n in (n_normal, n_anomaly)))


@pytest.fixture(autouse=True)
def cannot_be_asked(monkeypatch):
    """As the numbers of a GPU cannot while a step is recorded; and noise needs a generator of the device."""
    monkeypatch.setattr("oddshot.score.context.is_lazy", lambda x: True)
    monkeypatch.setattr(Trainable, "_drop", lambda self, x: 0.9 * x)
    monkeypatch.setattr(
        Trainable,
        "_seen_columns",
        lambda self: (
            torch.empty(MAX_TRAINED_COLUMNS, dtype=torch.int64, device="meta")
            if self.kind.name.startswith("relative") and self.n_attributes > MAX_TRAINED_COLUMNS
            else None
        ),
    )


@pytest.mark.parametrize("n_columns", [3, MAX_TRAINED_COLUMNS + 1])
@pytest.mark.parametrize("name", LEARNED)
def test_a_training_step_needs_no_tensor_of_another_device(name, n_columns):
    kind = find_method(name)
    trainable = Trainable(kind, n_columns, kind.config_type(), R).to("meta")
    trainable.noise = torch.Generator()
    for step in range(4):
        for n_anomaly in (1, 3):
            support, query, unlabelled = trainable.method.vary_episode(
                rows(5, n_anomaly, n_columns), rows(9, 3, n_columns), step
            )
            trainable.fix_center(support, torch.cat([support.normal, query.normal], dim=2))
            loss = trainable.loss(support, query, unlabelled)
            assert (loss.device.type, loss.shape) == ("meta", (R,))
            loss.sum().backward()
    with torch.no_grad():
        scores = trainable.method.learned(rows(5, 1, n_columns))(query.joined())
    assert scores.device.type == "meta"


def test_a_tensor_of_another_device_is_an_error():
    with pytest.raises(RuntimeError):
        torch.ones(3, device="meta") * torch.ones(3)
