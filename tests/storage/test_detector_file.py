"""A detector on disk: the same scores bit by bit, and one line for everything that is no such file."""

import dataclasses
import json
import warnings

import numpy as np
import pandas as pd
import pytest

from oddshot import FewShotDetector, load_detector, load_model
from oddshot.errors import FileError, ModelFileError
from oddshot.storage import detector_file
from oddshot.storage.container import to_sealed_bytes
from oddshot.storage.detector_file import from_bytes, to_bytes
from oddshot.universal.shipped import load_universal
from tests.fleets import labels, mixed, numbers, small_model


def refusal(path):
    with pytest.raises(ModelFileError) as caught:
        load_detector(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value)


def unlabelled(y, first=8):
    return np.where(np.arange(len(y)) < first, y, -1).astype(np.int8)


CASES = {
    "universal, table": (lambda: load_universal(), mixed, np.asarray),
    "universal, unlabelled": (lambda: load_universal(), mixed, unlabelled),
    "universal, array": (lambda: load_universal(), numbers, unlabelled),
    "eigen, table": (lambda: small_model(make=mixed), mixed, np.asarray),
    "eigen, array": (lambda: small_model(), numbers, np.asarray),
    "default": (lambda: None, numbers, np.asarray),
}


@pytest.fixture(params=CASES)
def fitted(request):
    model, make, label = CASES[request.param]
    X = make(3)
    return FewShotDetector(model()).fit(X[:30], label(labels()[:30])), X


def test_the_same_bit_by_bit(fitted, tmp_path):
    detector, X = fitted
    detector.save(tmp_path / "d.safetensors")
    again = load_detector(tmp_path / "d.safetensors")
    np.testing.assert_array_equal(again.score_samples(X), detector.score_samples(X))
    assert again.threshold_ == detector.threshold_
    np.testing.assert_array_equal(again.predict(X), detector.predict(X))
    assert again.classes_.dtype == detector.classes_.dtype
    mine, theirs = again.explain(X[:3]), detector.explain(X[:3])
    np.testing.assert_array_equal(mine.contributions, theirs.contributions)
    np.testing.assert_array_equal(mine.neighbours, theirs.neighbours)
    assert again.n_features_in_ == detector.n_features_in_
    assert hasattr(again, "feature_names_in_") == hasattr(detector, "feature_names_in_")
    again.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "d.safetensors").read_bytes()


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int64, np.uint8, bool])
def test_arrays_of_any_type(tmp_path, kind):
    X = (np.random.default_rng(0).normal(size=(20, 4)) * 3).astype(kind)
    detector = FewShotDetector(load_universal()).fit(X, unlabelled(np.arange(20) % 4 == 0))
    detector.save(tmp_path / "d")
    np.testing.assert_array_equal(load_detector(tmp_path / "d").score_samples(X), detector.score_samples(X))


def test_more_unlabelled_rows_than_are_used(tmp_path):
    X = np.random.default_rng(0).normal(size=(3000, 3))
    detector = FewShotDetector(load_universal()).fit(X, unlabelled(np.arange(3000) % 4 == 0))
    detector.save(tmp_path / "d")
    np.testing.assert_array_equal(load_detector(tmp_path / "d").score_samples(X[:50]), detector.score_samples(X[:50]))
    assert len(from_bytes((tmp_path / "d").read_bytes()).unlabelled) == 1000


def test_other_classes_and_a_rate(tmp_path):
    model = small_model()
    rate = None if model.calibration is None else 0.05
    detector = FewShotDetector(model, rate).fit(numbers(1), np.where(labels() == 1, 7, 3))
    detector.save(tmp_path / "d")
    again = load_detector(tmp_path / "d")
    assert again.classes_.tolist() == [3, 7]
    assert again.false_positive_rate == rate
    assert again.threshold_ == detector.threshold_


@pytest.mark.parametrize("threshold", [1e300, 2.5, 0.0, -1e-300])
def test_a_threshold_holds_until_a_rate_is_set(tmp_path, threshold):
    X = numbers(1)
    own = FewShotDetector(load_universal()).fit(X, labels())
    (tmp_path / "d").write_bytes(to_bytes(dataclasses.replace(own._record(), threshold=threshold)))
    detector = load_detector(tmp_path / "d")
    assert detector.threshold_ == threshold
    np.testing.assert_array_equal(detector.predict(X), own.score_samples(X) > threshold)
    detector.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "d").read_bytes()
    detector.false_positive_rate = 0.2
    assert detector.threshold_ == FewShotDetector(load_universal(), 0.2).fit(X, labels()).threshold_
    detector.save(tmp_path / "again")
    assert load_detector(tmp_path / "again").threshold_ == detector.threshold_


def test_a_file_of_before_has_no_threshold(tmp_path, monkeypatch):
    detector = FewShotDetector(load_universal(), 0.1).fit(numbers(1), labels())

    def to_old_bytes(tensors, header, key):
        assert header.pop("threshold") is None
        return to_sealed_bytes(tensors, {**header, "format": 2}, key)

    monkeypatch.setattr(detector_file, "to_sealed_bytes", to_old_bytes)
    detector.save(tmp_path / "d")
    assert load_detector(tmp_path / "d").threshold_ == detector.threshold_


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), "2", [1.0], True])
def test_a_threshold_that_is_no_number_is_refused(tmp_path, threshold):
    record = FewShotDetector(load_universal()).fit(numbers(1), labels())._record()
    (tmp_path / "d").write_bytes(to_bytes(dataclasses.replace(record, threshold=threshold)))
    assert "the threshold is" in refusal(tmp_path / "d")


def test_dates_categories_and_missing_cells(tmp_path):
    X = mixed(4)
    X["mode"] = X["mode"].astype("category")
    X["nothing"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = FewShotDetector(load_universal()).fit(X, labels())
        detector.save(tmp_path / "d")
        again = load_detector(tmp_path / "d")
        np.testing.assert_array_equal(again.score_samples(X), detector.score_samples(X))


def test_files_that_are_none(tmp_path):
    path = tmp_path / "d"
    with pytest.raises(FileError, match=r"nowhere: cannot be read \(No such file"):
        load_detector(tmp_path / "nowhere")
    for content in (b"", b"{}", b"\x00" * 100, b"PK\x03\x04"):
        path.write_bytes(content)
        assert "not an oddshot detector file" in refusal(path)
    load_universal().save(path)
    assert refusal(path).endswith("this is a model file; load_model, FewShotDetector and the commands read it")
    FewShotDetector().fit(numbers(1), labels()).save(path)
    with pytest.raises(ModelFileError, match=r"this is a detector file, which is adapted to one table; load_detector"):
        load_model(path)


def test_every_damaged_byte_shows(tmp_path):
    detector = FewShotDetector(small_model()).fit(numbers(1), labels())
    path = tmp_path / "d"
    detector.save(path)
    data = path.read_bytes()
    for place in np.random.default_rng(0).integers(0, len(data), 60).tolist():
        path.write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        refusal(path)
        path.write_bytes(data[:place])
        refusal(path)


@pytest.mark.parametrize(
    "changes", [{"classes": [0, 2**70]}, {"class_type": "<U900000000"}, {"class_type": "i8,"}, {"class_type": 3}]
)
def test_classes_that_are_none(tmp_path, monkeypatch, changes):
    def to_forged_bytes(tensors, header, key):
        return to_sealed_bytes(tensors, {**header, **changes}, key)

    monkeypatch.setattr(detector_file, "to_sealed_bytes", to_forged_bytes)
    FewShotDetector().fit(numbers(3), labels()).save(tmp_path / "d.safetensors")
    assert "the detector file does not fit together: " in refusal(tmp_path / "d.safetensors")


def test_not_fitted(tmp_path):
    with pytest.raises(Exception, match="not fitted"):
        FewShotDetector(small_model()).save(tmp_path / "d")
    assert not list(tmp_path.iterdir())


def test_no_pickle_and_no_paths(tmp_path):
    X = pd.DataFrame({"a": np.arange(9.0), "../../b": np.arange(9.0) % 3, "<script>": ["x", "y", "z"] * 3})
    detector = FewShotDetector(load_universal()).fit(X, np.arange(9) % 3 == 0)
    detector.save(tmp_path / "d")
    data = (tmp_path / "d").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert {part["dtype"] for name, part in header.items() if name != "__metadata__"} == {"U8", "I8", "I64"}
    np.testing.assert_array_equal(load_detector(tmp_path / "d").score_samples(X), detector.score_samples(X))
