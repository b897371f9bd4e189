import copy

import numpy as np
import pytest
import torch

from oddshot import FewShotDetector, InputError, load_universal
from oddshot.methods.contract import LabelledRows
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


@pytest.mark.parametrize("n_anomaly", [0, 1, 2])
@pytest.mark.parametrize("kind", ["normal", "whole", "heavy"])
def test_many_rows_of_one_column_score_the_same_in_single_and_double_precision(kind, n_anomaly):
    rng = np.random.default_rng(3)
    draw = {
        "normal": lambda n: rng.normal(size=n),
        "whole": lambda n: rng.integers(0, 9, n),
        "heavy": lambda n: rng.standard_t(1.5, n),
    }[kind]
    parts = [torch.tensor(draw(n), dtype=torch.float32)[None, None, :, None] for n in (5, n_anomaly, 1000, 200)]
    single = load_universal().method
    scores = []
    for method in (single, copy.deepcopy(single).double()):
        normal, anomaly, unlabelled, query = (part.to(method.phi.weights[0].dtype) for part in parts)
        with torch.no_grad():
            scores.append(method.relate(LabelledRows(normal, anomaly + 3), unlabelled)(query).double())
    torch.testing.assert_close(*scores, rtol=1e-3, atol=1e-5 * scores[1].max().item())
