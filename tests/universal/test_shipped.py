import numpy as np
import pytest
import torch

from oddshot import FewShotDetector, InputError, load_universal
from oddshot.universal import shipped


def test_the_file_is_read_once():
    assert load_universal() is load_universal("cpu")


def test_another_device_gets_a_copy_and_the_cached_model_stays_on_the_cpu(monkeypatch):
    before = FewShotDetector(load_universal()).fit(np.eye(4), [0, 0, 0, 1]).score_samples(np.eye(4))
    monkeypatch.setattr(shipped, "resolve_device", torch.device)  # which accepts "meta", a device without numbers
    moved = load_universal("meta")
    assert moved.method.device.type == "meta"
    assert moved.calibration is load_universal().calibration
    assert load_universal().method.device.type == "cpu"
    after = FewShotDetector(load_universal()).fit(np.eye(4), [0, 0, 0, 1]).score_samples(np.eye(4))
    np.testing.assert_array_equal(after, before)


def test_a_device_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="device 'bogus' cannot be used"):
        load_universal("bogus")
