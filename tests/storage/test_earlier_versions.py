"""Files of earlier versions load, and load the same after they are saved again; what cannot be read says what to do."""

import json
from pathlib import Path

import numpy as np
import pytest

from oddshot import FewShotDetector, load_detector, load_model
from oddshot.errors import ModelFileError
from oddshot.storage import detector_file, model_file
from oddshot.storage.container import read_header, to_sealed_bytes
from tests.fleets import labels, numbers, small_model
from tests.golden.of_files import DETECTOR
from tests.golden.samples import mixed

GOLDEN = Path(__file__).parents[1] / "golden"
MODEL, SCORES = GOLDEN / "format1.safetensors", GOLDEN / "format1.json"


def format_of(path, module):
    return read_header(path.read_bytes(), module.KEY, "file", module.FORMAT)["format"]


def test_a_model_of_format_1_is_converted_by_saving_it(tmp_path):
    assert format_of(MODEL, model_file) == 1
    load_model(MODEL).save(tmp_path / "new")
    assert format_of(tmp_path / "new", model_file) == model_file.FORMAT
    expected = json.loads(SCORES.read_text())
    scores = [
        FewShotDetector(load_model(path)).fit(expected["support"], expected["labels"]).score_samples(expected["rows"])
        for path in (MODEL, tmp_path / "new")
    ]
    np.testing.assert_array_equal(*scores)


def test_a_detector_of_format_1_is_converted_by_saving_it(tmp_path):
    assert format_of(DETECTOR, detector_file) == 1
    old = load_detector(DETECTOR)
    old.save(tmp_path / "new")
    assert format_of(tmp_path / "new", detector_file) == detector_file.FORMAT
    rows = mixed(91, 10)
    new = load_detector(tmp_path / "new")
    np.testing.assert_array_equal(new.score_samples(rows), old.score_samples(rows))
    np.testing.assert_array_equal(new.predict(rows), old.predict(rows))


def saved_with_other_weights(tmp_path, monkeypatch):
    """A detector of a version whose networks had one weight less."""

    def to_other_bytes(tensors, header, key):
        name = max(tensors)
        return to_sealed_bytes({**tensors, name: tensors[name].flatten()[1:].copy()}, header, key)

    monkeypatch.setattr(model_file, "to_sealed_bytes", to_other_bytes)
    model = small_model()
    model.save(tmp_path / "model")
    FewShotDetector(model).fit(numbers(1), labels()).save(tmp_path / "detector")


@pytest.mark.parametrize(("name", "load"), [("model", load_model), ("detector", load_detector)])
def test_weights_of_another_version_say_what_to_do(tmp_path, monkeypatch, name, load):
    saved_with_other_weights(tmp_path, monkeypatch)
    with pytest.raises(ModelFileError) as caught:
        load(tmp_path / name)
    expected = "has it in this version of oddshot; train it again, or use the version that wrote it"
    assert str(caught.value).endswith(expected)


@pytest.mark.parametrize(("module", "name"), [(model_file, "model"), (detector_file, "detector")])
def test_files_of_a_newer_version_say_so(tmp_path, monkeypatch, module, name):
    detector = FewShotDetector(small_model()).fit(numbers(1), labels())
    newer = module.FORMAT + 1
    with monkeypatch.context() as patched:
        patched.setattr(module, "FORMAT", newer)
        (detector.model if name == "model" else detector).save(tmp_path / "file")
    with pytest.raises(ModelFileError, match=f"{name} of format {newer}, written by a newer oddshot"):
        (load_model if name == "model" else load_detector)(tmp_path / "file")
