import dataclasses
import json
import os
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from oddshot import FewShotDetector, InputError, load_universal
from oddshot.adapted.onnx_export import columns, writing
from oddshot.adapted.onnx_export.columns import encode_numbers, encode_texts, kind_of_rows
from oddshot.data.encoding import Encoding
from oddshot.data.encoding.category_column import CategoryColumn
from oddshot.data.encoding.numeric_arrays import encode_array
from oddshot.data.encoding.numeric_column import NumericColumn
from oddshot.errors import FileError, MissingPackage
from oddshot.methods import find_method
from oddshot.methods.ensemble import Ensemble
from tests.fleets import labels, mixed, numbers, small_model

ndx = pytest.importorskip("ndonnx")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

NUMBERS = ("temperature", "speed", "on")
TEXTS = ("mode", "door")


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


def categories(seed, n=40):
    """Numbers with gaps, booleans and categories, one of them with gaps; of 50 modes some are rare."""
    rng, X = np.random.default_rng(seed), numbers(seed, n, 2)
    X[rng.random(n) < 0.1, 1] = np.nan
    mode = np.array([f"mode {k}" for k in range(50)], object)[rng.integers(0, 50, n) * rng.integers(0, 2, n)]
    mode[rng.random(n) < 0.1] = None
    door = np.where(rng.random(n) < 0.5, "öffen", "shut")
    on = rng.random(n) < 0.5
    return pd.DataFrame({"temperature": 20 + 5 * X[:, 0], "mode": mode, "speed": X[:, 1], "door": door, "on": on})


def inputs_of(table, number_type="float64"):
    """A table as a file with named columns takes it."""
    texts = {name: table[name].fillna("").to_numpy(str) for name in TEXTS}
    return texts | {name: table[name].to_numpy(number_type) for name in NUMBERS}


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
    """Distances between close rows are differences of large numbers: NumPy's own rounding is allowed for."""
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
    X, new, one = numbers(9), numbers(8, 100), small_model("relative")
    others = {name: value * 0.9 for name, value in one.method.weights.items()}
    other = type(one.method)(one.method.n_attributes, one.method.config, others)
    ensemble = dataclasses.replace(one, method=Ensemble([one.method, other], [1.0, 2.0]))
    for model in (one, ensemble):
        for y in (labels(), np.where(labels() == 1, -1, labels())):
            detector = FewShotDetector(model).fit(X, y)
            detector.export_onnx(tmp_path / "scorer.onnx")
            assert_alike(scores_of(tmp_path / "scorer.onnx", new), detector.score_samples(new))


@pytest.mark.parametrize("number_type", ["float64", "float32"])
@pytest.mark.parametrize("with_anomalies", [True, False])
def test_numbers_and_categories_are_inputs_by_their_names(tmp_path, number_type, with_anomalies):
    y, new = labels(200), categories(8, 300)
    new.loc[:5, "mode"] = "never seen"
    new.loc[6, "temperature"] = np.nan
    detector = FewShotDetector().fit(categories(9, 200), y if with_anomalies else np.where(y == 1, -1, y))
    detector.export_onnx(tmp_path / "scorer.onnx", number_type)
    session = session_of(tmp_path / "scorer.onnx")
    assert [one.name for one in session.get_inputs()] == list(new)
    kinds = {one.name: one.type for one in session.get_inputs()}
    assert {kinds[name] for name in TEXTS} == {"tensor(string)"}
    assert {kinds[name] for name in NUMBERS} == {"tensor(double)" if number_type == "float64" else "tensor(float)"}
    if number_type == "float32":
        new = new.assign(**{name: new[name].astype(np.float32) for name in ("temperature", "speed")})
    found = session.run(["scores"], inputs_of(new, number_type))[0]
    # Beyond what rounding does to NumPy's own scores: rows of few columns lie close to some of the support.
    error = writing.largest_error(detector.task_, detector.encoding_.transform(new), found)
    assert error <= writing.MAX_RELATIVE_ERROR
    assert_alike(found, detector.score_samples(new), 2e-5 if with_anomalies else 1e-3)
    assert found[:6].std() > 0


@pytest.mark.parametrize("number_type", ["float64", "float32"])
def test_a_matrix_of_numbers_has_the_type_that_is_asked_for(tmp_path, number_type):
    detector, X = FewShotDetector().fit(numbers(9), labels()), numbers(8, 100).astype(number_type)
    detector.export_onnx(tmp_path / "scorer.onnx", number_type)
    assert_alike(scores_of(tmp_path / "scorer.onnx", X), detector.score_samples(X))
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument, match="Unexpected input data type"):
        scores_of(tmp_path / "scorer.onnx", X.astype("float32" if number_type == "float64" else "float64"))


@pytest.mark.parametrize("name", ["scores", ""])
def test_a_column_that_cannot_be_called_so_in_a_graph_leaves_encoded_rows(tmp_path, name):
    table, new = (categories(seed, 60).rename(columns={"speed": name}) for seed in (9, 8))
    detector = FewShotDetector().fit(table, labels(60))
    detector.export_onnx(tmp_path / "scorer.onnx")
    assert facts_of(tmp_path / "scorer.onnx")["rows"] == "attributes"
    found = scores_of(tmp_path / "scorer.onnx", detector.encoding_.transform(new))
    assert_alike(found, detector.score_samples(new))


@pytest.mark.parametrize(
    ("method", "make"),
    [
        *((None, make) for make in (numbers, categories, mixed)),
        *((method, numbers) for method in ("eigen", "relative", "wonn", "woanomaly", "maml", "r2d2")),
        ("eigen", mixed),
    ],
)
def test_no_row_has_no_score(tmp_path, method, make):
    FewShotDetector(method and small_model(method, make)).fit(make(9), labels()).export_onnx(tmp_path / "a.onnx")
    session = session_of(tmp_path / "a.onnx")
    if make is categories:
        rows = inputs_of(categories(8, 40)[:0])
    else:
        (one,) = session.get_inputs()
        rows = {"rows": np.empty((0, one.shape[1]), np.float64 if one.type == "tensor(double)" else np.float32)}
    assert session.run(None, rows)[0].shape == (0,)


def test_no_row_has_no_score_without_anomalies(tmp_path):
    FewShotDetector().fit(numbers(9), np.where(labels() == 1, -1, 0)).export_onnx(tmp_path / "a.onnx")
    assert scores_of(tmp_path / "a.onnx", np.empty((0, 3))).shape == (0,)


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


NUMERIC = [
    NumericColumn("a", "number", 0.1, 1 / 3, missing=True),
    NumericColumn("b", "boolean", 0.25, 0.4, missing=False),
    NumericColumn("c", "number", 1e-3, 1.0, missing=True, constant=True),
    NumericColumn("d", "number", 0.0, 1.0, missing=False, constant=True),
    NumericColumn("e", "number", 1e6, 1e-12, missing=False),
    NumericColumn("f", "number", 2.0, 1.0, missing=False, constant=True, rounding=1e-2),
]


def run(out, **inputs):
    """What onnxruntime makes of an expression over inputs, each an argument of a graph and its value."""
    graph = ndx.build({name: argument for name, (argument, _) in inputs.items()}, {"out": out})
    return session_of(graph.SerializeToString()).run(None, {name: value for name, (_, value) in inputs.items()})[0]


def encoded_by_onnx(encoders, X):
    rows = ndx.argument(shape=("n", len(encoders)), dtype=ndx.float64)
    return run(encode_numbers(encoders, rows), rows=(rows, X))


def assert_same_bits(found, expected):
    assert found.dtype == expected.dtype == np.float32
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def test_columns_are_encoded_to_the_last_bit():
    """The trees of a forest compare encoded numbers: one that is rounded otherwise may go the other way."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)) * [1, 1, 1e-3, 1e-9, 1, 1e-2] + [0, 0, 0, 0, 1e6, 2]
    X[rng.random(X.shape) < 0.2] = np.nan
    X[::3, 2], X[::4, 3] = 1e-3, 0.0
    assert_same_bits(encoded_by_onnx(NUMERIC, X), encode_array(NUMERIC, X))
    for encoder in NUMERIC:  # alone, without indicators or constants of others
        column = X[:, [NUMERIC.index(encoder)]]
        assert_same_bits(encoded_by_onnx([encoder], column), encode_array([encoder], column))


CELLS = st.one_of(st.floats(-1e18, 1e18), st.sampled_from([np.nan, 0.0, -0.0, 0.1, 1e-3, 2.0, 2.005, 1e6, 5e-324]))


@settings(max_examples=40, deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(0, 5), st.just(len(NUMERIC))), elements=CELLS))
def test_any_numbers_are_encoded_to_the_last_bit_by_numpy_and_by_onnxruntime(X):
    with np.errstate(all="ignore"):
        expected, by_numpy = encode_array(NUMERIC, X), encode_numbers(NUMERIC, X)
    assert_same_bits(by_numpy, expected)
    assert_same_bits(encoded_by_onnx(NUMERIC, X), expected)


KNOWN = ("run", "stop", "\u00e4 b", "1")


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_categories_are_encoded_to_the_last_bit(other, missing, data):
    texts = st.one_of(st.sampled_from(["", *KNOWN]), st.text(st.characters(codec="utf-8", exclude_characters="\0")))
    cells = data.draw(st.lists(texts.filter(lambda text: text == text.strip()), max_size=6))
    shares = (0.4, 0.3, 0.2, 0.1 - 0.05 * other, *[0.05] * other)
    encoder = CategoryColumn("mode", "category", KNOWN, other, shares, missing)
    column = ndx.argument(shape=("n",), dtype=ndx.utf8)
    found = run(encode_texts(encoder, column), mode=(column, np.array(cells, dtype=np.str_)))
    rows = encoder.attributes_of([*KNOWN, "another"])
    places = [len(KNOWN) + 1 if cell == "" else KNOWN.index(cell) if cell in KNOWN else len(KNOWN) for cell in cells]
    assert_same_bits(found, rows[places])


def test_a_whole_table_is_encoded_as_the_encoding_does_it():
    table, new = categories(9, 200), categories(8, 300)
    new.loc[:5, "mode"] = "never seen"
    encoding = Encoding.fit([table])
    assert any(isinstance(one, CategoryColumn) and one.other for one in encoding.encoders)
    inputs, rows = columns.column_inputs(encoding, "float64")
    values = inputs_of(new)
    found = run(rows, **{name: (argument, values[name]) for name, argument in inputs.items()})
    assert_same_bits(found, encoding.transform(new))


@pytest.mark.parametrize("make", [numbers, categories, mixed])
def test_the_rows_that_are_checked_are_those_that_the_encoding_makes_of_the_inputs(make):
    encoding = FewShotDetector().fit(make(9, 200), labels(200)).encoding_
    rows, encoded = columns.draw_rows(encoding, 200, "float64")
    if kind_of_rows(encoding) == "columns":
        assert_same_bits(encode_array(encoding.encoders, rows["rows"]), encoded)
        assert np.isnan(rows["rows"]).any()
    elif kind_of_rows(encoding) == "named columns":
        table = pd.DataFrame({name: pd.Series(values).replace("", None) for name, values in rows.items()})
        for name in TEXTS:
            assert table[name].isna().any()
            known = next(one.categories for one in encoding.encoders if one.name == name)
            assert {*known} < {*table[name].dropna()}  # and one that is not known
        for one, of_column in zip(encoding.encoders, by_column(encoding, encoded), strict=True):
            if isinstance(one, NumericColumn):
                assert_same_bits(encode_array([one], rows[one.name][:, None]), of_column)
            else:
                assert_same_bits(encoding_of(one).transform(table[[one.name]]), of_column)
    else:
        assert_same_bits(rows["rows"], encoded)


def by_column(encoding, rows):
    ends = np.cumsum([len(one.attribute_names) for one in encoding.encoders])
    return np.split(rows, ends[:-1], axis=1)


def encoding_of(encoder):
    return Encoding((encoder.name,), (encoder,), {})


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


def test_the_file_tells_that_its_columns_are_inputs(tmp_path):
    detector = FewShotDetector().fit(categories(9), labels())
    detector.export_onnx(tmp_path / "scorer.onnx")
    facts = facts_of(tmp_path / "scorer.onnx")
    assert facts["rows"] == "named columns"
    assert json.loads(facts["columns"]) == list(detector.encoding_.kinds)
    assert float(facts["threshold"]) == detector.threshold_


def test_onnxruntime_1_18_reads_the_file(tmp_path):
    """It has opset 21 and version 10 of the format, and opset 4 of the operators on text."""
    for make in (numbers, categories):
        for detector in (FewShotDetector().fit(make(9), labels()), *([fitted()] if make is numbers else [])):
            detector.export_onnx(tmp_path / "scorer.onnx")
            model = onnx.load(tmp_path / "scorer.onnx")
            opsets = {opset.domain: opset.version for opset in model.opset_import}
            assert opsets == ({"": 21} if make is numbers else {"": 21, "ai.onnx.ml": 4})
            assert model.ir_version == 10
            assert not model.functions
            assert [model.producer_name, model.graph.name] == ["oddshot", "oddshot"]


def test_inputs_and_output_have_names_and_shapes(tmp_path):
    FewShotDetector().fit(numbers(9), labels()).export_onnx(tmp_path / "scorer.onnx")
    model = onnx.load(tmp_path / "scorer.onnx")
    (rows,), (scores,) = model.graph.input, model.graph.output
    assert [rows.name, scores.name] == ["rows", "scores"]
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
    with pytest.raises(InputError, match=r"scorer\.onnx: not written, onnxruntime's scores differ from the detector"):
        FewShotDetector(model).fit(numbers(9), labels()).export_onnx(tmp_path / "scorer.onnx")
    assert (tmp_path / "scorer.onnx").read_text() == "old"
    assert os.listdir(tmp_path) == ["scorer.onnx"]


@pytest.mark.parametrize("method", ["knn", "rf", "lr", "ridge+nearest"])
def test_a_method_without_a_network_is_refused(tmp_path, method):
    assert find_method(method).name == method
    with pytest.raises(InputError, match=r"^method .* cannot be exported: its scores are neither a network's nor"):
        fitted(method).export_onnx(tmp_path / "scorer.onnx")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("module", ["ndonnx", "onnxruntime"])
def test_a_missing_package_is_one_line(tmp_path, monkeypatch, module):
    detector = fitted()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackage, match=f"export_onnx needs {module}: pip install .*ndonnx onnxruntime"):
        detector.export_onnx(tmp_path / "scorer.onnx")
    assert os.listdir(tmp_path) == []


def test_a_missing_folder_is_one_line(tmp_path):
    with pytest.raises(FileError, match="cannot write"):
        fitted().export_onnx(tmp_path / "nowhere" / "scorer.onnx")
