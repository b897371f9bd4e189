import json
import os
import sys

import numpy as np
import pytest

from oddshot import FewShotDetector, InputError, load_universal, meta_train
from oddshot.adapted.onnx_export import writing
from oddshot.adapted.onnx_export.encoding import add_encoding
from oddshot.adapted.onnx_export.graph import DOUBLE, Graph
from oddshot.data.encoding.numeric_arrays import encode_array
from oddshot.data.encoding.numeric_column import NumericColumn
from oddshot.errors import FileError
from oddshot.methods import METHODS
from tests.fleets import SHORT, SIZES, fleet, labels, mixed, numbers, small_model

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def fitted(method="eigen", make=numbers):
    return FewShotDetector(small_model(method, make)).fit(make(9), labels())


def session_of(path):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def scores_of(path, rows):
    return session_of(path).run(None, {"rows": rows})[0]


def assert_alike(found, expected, tolerance=2e-5):
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).mean())


@pytest.mark.parametrize(
    "method", ["eigen", "ssvdd", "proto", "r2d2", "maml", "ft", "wonn", "woproj", "woanomaly", "relative"]
)
def test_onnxruntime_gives_the_same_scores(tmp_path, method):
    detector, X = fitted(method), numbers(8, 300)
    detector.export_onnx(tmp_path / "scorer.onnx")
    assert_alike(scores_of(tmp_path / "scorer.onnx", X), detector.score_samples(X))


def as_new(detector, X):
    """Scores of rows, also of those that equal one given to `fit`."""
    return detector.task_.score_as_new(detector.encoding_.transform(X))


def table(seed, n, width, kind):
    """Columns of different units; some constant, with gaps, heavy-tailed or of few values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)) * np.linspace(1, 90, width) + np.linspace(-500, 300, width)
    if kind == "constant":
        X[:, 1], X[:, 2] = 7.0, 0.0
    if kind == "gaps":
        X[rng.random(X.shape) < 0.1] = np.nan
    if kind == "heavy":
        X = np.sinh(X / 60)
    return X


@pytest.mark.parametrize("kind", ["plain", "constant", "gaps", "heavy"])
@pytest.mark.parametrize(
    ("n_normal", "n_anomaly", "n_unlabelled"),
    [(5, 1, 0), (20, 4, 0), (5, 0, 0), (5, 1, 100), (5, 0, 100), (1, 0, 0), (1, 1, 0), (80, 70, 0)],
)
def test_the_model_that_ships_is_exported_for_every_support(tmp_path, n_normal, n_anomaly, n_unlabelled, kind):
    y = np.repeat([0, 1, -1], [n_normal, n_anomaly, n_unlabelled])
    X, new = table(0, len(y), 6, kind), table(1, 200, 6, kind)
    X[y == 1, 3] += 300
    new[0, 1], new[1, 2], new[2, :] = 9.0, -1e-9, np.nan  # values beside a constant; nothing known
    new[3] = 1e9  # far beyond
    detector = FewShotDetector().fit(X, y)
    detector.export_onnx(tmp_path / "scorer.onnx")
    used = [int(name[1:]) for name in json.loads(facts_of(tmp_path / "scorer.onnx")["columns"])]
    assert_alike(scores_of(tmp_path / "scorer.onnx", new[:, used]), as_new(detector, new))
    one = scores_of(tmp_path / "scorer.onnx", new[5:6, used])  # a single row
    assert_alike(one, detector.score_samples(new[5:6]), 1e-4)


def test_few_columns_and_many_unlabelled_rows(tmp_path):
    """Distances between close rows are differences of large numbers: torch's own rounding is allowed for."""
    rng = np.random.default_rng(0)
    for n_anomaly, width in ((1, 2), (0, 2), (1, 3)):
        X, y = rng.normal(size=(305 + n_anomaly, width)), np.repeat([0, 1, -1], [5, n_anomaly, 300])
        detector, new = FewShotDetector().fit(X, y), rng.normal(size=(200, width))
        detector.export_onnx(tmp_path / "scorer.onnx")
        assert_alike(scores_of(tmp_path / "scorer.onnx", new), detector.score_samples(new), 1e-3)


@pytest.mark.parametrize("n_anomaly", [0, 1])
def test_one_column_and_many_unlabelled_rows(tmp_path, n_anomaly):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1005 + n_anomaly, 1)), np.repeat([0, 1, -1], [5, n_anomaly, 1000])
    detector, new = FewShotDetector().fit(X, y), rng.normal(size=(200, 1))
    detector.export_onnx(tmp_path / "scorer.onnx")
    assert_alike(scores_of(tmp_path / "scorer.onnx", new), detector.score_samples(new))


def test_a_fleet_model_with_columns_of_its_own_and_an_ensemble(tmp_path):
    X, new = numbers(9), numbers(8, 100)
    ensemble = meta_train(fleet(), method="relative", members=2, sizes=SIZES, training=SHORT, device="cpu", units=16)
    for model in (small_model("relative"), ensemble):
        for y in (labels(), np.where(labels() == 1, -1, labels())):
            detector = FewShotDetector(model).fit(X, y)
            detector.export_onnx(tmp_path / "scorer.onnx")
            assert_alike(scores_of(tmp_path / "scorer.onnx", new), detector.score_samples(new))


def test_a_row_given_to_fit_is_scored_as_a_new_one(tmp_path):
    X, y = numbers(9), labels()
    detector = FewShotDetector().fit(X, y)
    detector.export_onnx(tmp_path / "scorer.onnx")
    found = scores_of(tmp_path / "scorer.onnx", X)
    assert_alike(found, as_new(detector, X))
    assert not np.allclose(found, detector.score_samples(X), rtol=1e-2)


@pytest.mark.parametrize("method", ["eigen", "relative"])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_columns_of_any_kind_and_any_number_of_rows(tmp_path, n, method):
    detector, X = fitted(method, mixed), mixed(8, 40)[:n]
    detector.export_onnx(str(tmp_path / "scorer.onnx"))
    found = scores_of(tmp_path / "scorer.onnx", detector.encoding_.transform(X))
    assert_alike(found, detector.score_samples(X), 1e-4)


def encoded_by_onnx(encoders, X):
    graph = Graph()
    graph.add("Identity", add_encoding(graph, "rows", encoders), output="encoded")
    helper = onnx.helper
    width = sum(len(encoder.attribute_names) for encoder in encoders)
    rows = helper.make_tensor_value_info("rows", DOUBLE, ["n", len(encoders)])
    out = helper.make_tensor_value_info("encoded", onnx.TensorProto.FLOAT, ["n", width])
    made = helper.make_graph(graph.nodes, "encoding", [rows], [out], graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return session_of(model.SerializeToString()).run(None, {"rows": X})[0]


def test_columns_are_encoded_to_the_last_bit():
    """The trees of a forest compare encoded numbers: one that is rounded otherwise may go the other way."""
    encoders = [
        NumericColumn("a", "number", 0.1, 1 / 3, missing=True),
        NumericColumn("b", "boolean", 0.25, 0.4, missing=False),
        NumericColumn("c", "number", 1e-3, 1.0, missing=True, constant=True),
        NumericColumn("d", "number", 0.0, 1.0, missing=False, constant=True),
        NumericColumn("e", "number", 1e6, 1e-12, missing=False),
    ]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * [1, 1, 1e-3, 1e-9, 1] + [0, 0, 0, 0, 1e6]
    X[rng.random(X.shape) < 0.2] = np.nan
    X[::3, 2], X[::4, 3] = 1e-3, 0.0
    found = encoded_by_onnx(encoders, X)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, encode_array(encoders, X))


def facts_of(path):
    return session_of(path).get_modelmeta().custom_metadata_map


@pytest.mark.parametrize("make", [numbers, mixed])
def test_the_file_tells_the_threshold_and_what_its_rows_are(tmp_path, make):
    detector = fitted(make=make)
    detector.export_onnx(tmp_path / "scorer.onnx")
    facts = facts_of(tmp_path / "scorer.onnx")
    assert float(facts["threshold"]) == detector.threshold_
    assert json.loads(facts["attributes"]) == list(detector.encoding_.attribute_names)
    assert json.loads(facts["columns"]) == list(detector.encoding_.kinds)
    assert facts["rows"] == ("columns" if make is numbers else "attributes")


def test_runtimes_of_2022_read_the_file(tmp_path):
    for detector in (fitted(), FewShotDetector().fit(numbers(9), labels())):
        detector.export_onnx(tmp_path / "scorer.onnx")
        model = onnx.load(tmp_path / "scorer.onnx")
        assert [(opset.domain, opset.version) for opset in model.opset_import] == [("", 17)]
        assert model.ir_version == 8
        assert model.producer_name == "oddshot"
        (rows,), (scores,) = model.graph.input, model.graph.output
        assert [rows.name, scores.name, model.graph.name] == ["rows", "scores", "oddshot"]
        assert [one.dim_param or one.dim_value for one in rows.type.tensor_type.shape.dim] == ["n", 3]
        assert [one.dim_param for one in scores.type.tensor_type.shape.dim] == ["n"]


@pytest.mark.parametrize("model", [load_universal(), small_model()], ids=["relative", "eigen"])
def test_the_same_detector_gives_the_same_file(tmp_path, model):
    for name in ("a", "b"):
        FewShotDetector(model).fit(numbers(9), labels()).export_onnx(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("wrong", [1.001, np.nan])
@pytest.mark.parametrize("model", [load_universal(), small_model()], ids=["relative", "eigen"])
def test_other_scores_write_nothing(tmp_path, monkeypatch, wrong, model):
    true = writing.run_onnx
    monkeypatch.setattr(writing, "run_onnx", lambda content, rows: true(content, rows) * wrong)
    (tmp_path / "scorer.onnx").write_text("old")
    with pytest.raises(InputError, match=r"scorer\.onnx: not written, onnxruntime's scores differ from torch's by"):
        FewShotDetector(model).fit(numbers(9), labels()).export_onnx(tmp_path / "scorer.onnx")
    assert (tmp_path / "scorer.onnx").read_text() == "old"
    assert os.listdir(tmp_path) == ["scorer.onnx"]


@pytest.mark.parametrize("method", ["knn", "ridge+nearest"])
def test_a_method_without_a_network_is_refused(tmp_path, method):
    assert method in METHODS
    with pytest.raises(InputError, match=r"^method .* cannot be exported: its scores are neither a network's nor"):
        fitted(method).export_onnx(tmp_path / "scorer.onnx")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("module", ["onnx", "onnxruntime"])
def test_a_missing_package_is_one_line(tmp_path, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=f"export_onnx needs {module}: pip install onnx onnxruntime$"):
        fitted().export_onnx(tmp_path / "scorer.onnx")
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_one_line(tmp_path):
    with pytest.raises(FileError, match="cannot write"):
        fitted().export_onnx(tmp_path / "nowhere" / "scorer.onnx")
