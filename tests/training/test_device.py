import pytest
import torch

from oddshot.errors import InputError
from oddshot.training.device import resolve_device


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device")
def test_auto_is_the_cpu_without_a_gpu():
    assert resolve_device("auto") == torch.device("cpu")


def test_auto_takes_cuda_where_there_is_one(monkeypatch):
    used = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "zeros", lambda size, device: used.append((size, device)) or torch.ones(1))
    assert resolve_device("auto") == torch.device("cuda")
    assert used == [(1, torch.device("cuda"))]


@pytest.mark.parametrize("name", ["qpu", "meta", "", "cpu:x"])
def test_other_names_are_one_line(name):
    with pytest.raises(
        InputError, match=rf"^device '{name}' cannot be used: .+ \(take 'cpu', 'cuda' or 'auto'\)$"
    ) as e:
        resolve_device(name)
    assert "\n" not in str(e.value)


def test_the_name_of_a_device_is_torchs_own():
    assert resolve_device("cpu") == torch.device("cpu")
    assert resolve_device("cpu:0") == torch.device("cpu", 0)
