import json
import os
import sys

import numpy as np
import pytest

from oddshot import FewShotDetector, InputError
from oddshot.adapted import onnx_export as onnxfile
from oddshot.errors import FileError
from oddshot.methods import METHODS
from tests.fleets import labels, mixed, numbers, small_model

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def fitted(method="eigen", make=numbers):
    return FewShotDetector(small_model(method, make)).fit(make(9), labels())


def scores_of(path, rows):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"rows": rows})[0]


@pytest.mark.parametrize("method", ["eigen", "ssvdd", "proto", "r2d2", "maml", "ft", "wonn", "woproj", "woanomaly"])
def test_onnxruntime_gives_the_same_scores(tmp_path, method):
    detector, X = fitted(method), numbers(8, 300)
    detector.export_onnx(tmp_path / "scorer.onnx")
    found = scores_of(tmp_path / "scorer.onnx", detector.encoding_.transform(X))
    expected = detector.score_samples(X)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).mean())


@pytest.mark.parametrize("n", [1, 2, 40])
def test_columns_of_any_kind_and_any_number_of_rows(tmp_path, n):
    detector, X = fitted(make=mixed), mixed(8, 40)[:n]
    detector.export_onnx(str(tmp_path / "scorer.onnx"))
    found = scores_of(tmp_path / "scorer.onnx", detector.encoding_.transform(X))
    expected = detector.score_samples(X)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).mean())


def test_the_file_tells_the_threshold_and_the_attributes(tmp_path):
    detector = fitted(make=mixed)
    detector.export_onnx(tmp_path / "scorer.onnx")
    facts = onnxruntime.InferenceSession(tmp_path / "scorer.onnx").get_modelmeta().custom_metadata_map
    assert float(facts["threshold"]) == detector.threshold_
    assert json.loads(facts["attributes"]) == list(detector.encoding_.attribute_names)


def test_runtimes_of_2022_read_the_file(tmp_path):
    fitted().export_onnx(tmp_path / "scorer.onnx")
    model = onnx.load(tmp_path / "scorer.onnx")
    assert [(opset.domain, opset.version) for opset in model.opset_import] == [("", 17)]
    assert model.ir_version == 8
    assert model.producer_name == "oddshot"
    (rows,), (scores,) = model.graph.input, model.graph.output
    assert [rows.name, scores.name, model.graph.name] == ["rows", "scores", "oddshot"]
    assert [one.dim_param or one.dim_value for one in rows.type.tensor_type.shape.dim] == ["n", 3]
    assert [one.dim_param for one in scores.type.tensor_type.shape.dim] == ["n"]


def test_the_same_detector_gives_the_same_file(tmp_path):
    for name in ("a", "b"):
        fitted().export_onnx(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("wrong", [1.001, np.nan])
def test_other_scores_write_nothing(tmp_path, monkeypatch, wrong):
    true = onnxfile.run_onnx
    monkeypatch.setattr(onnxfile, "run_onnx", lambda content, rows: true(content, rows) * wrong)
    (tmp_path / "scorer.onnx").write_text("old")
    with pytest.raises(InputError, match=r"scorer\.onnx: not written, onnxruntime's scores differ from torch's by"):
        fitted().export_onnx(tmp_path / "scorer.onnx")
    assert (tmp_path / "scorer.onnx").read_text() == "old"
    assert os.listdir(tmp_path) == ["scorer.onnx"]


@pytest.mark.parametrize("method", ["knn", "ridge+nearest"])
def test_a_method_without_a_network_is_refused(tmp_path, method):
    assert method in METHODS
    with pytest.raises(InputError, match=r"cannot be exported: its scores are more than a network"):
        fitted(method).export_onnx(tmp_path / "scorer.onnx")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("module", ["onnx", "onnxruntime"])
def test_a_missing_package_is_one_line(tmp_path, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=f"export_onnx needs {module}: pip install"):
        fitted().export_onnx(tmp_path / "scorer.onnx")
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_one_line(tmp_path):
    with pytest.raises(FileError, match="cannot write"):
        fitted().export_onnx(tmp_path / "nowhere" / "scorer.onnx")
