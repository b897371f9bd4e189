import copy
import pickle
import warnings
from collections import OrderedDict
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import average_precision_score, make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from oddshot import FewShotDetector, FileError, InputError, Model, Task, load_detector, load_universal
from oddshot.adapted.task import MAX_UNLABELLED, sample_unlabelled
from oddshot.data.encoding import Encoding
from oddshot.decisions.support_scores import SupportScores
from oddshot.detector import MAX_BLOCK_ROWS
from oddshot.score.rows import LabelledRows
from oddshot.storage.model_file import to_bytes
from tests import references
from tests.fleets import fleet, labels, mixed, numbers, small_model
from tests.methods.samples import build

EXPECTED_FAILURES = {
    "check_classifiers_classes": "labels are numbers: which of two texts is the anomaly must not be guessed",
}
ROUNDING = dict.fromkeys(
    ("check_methods_subset_invariance", "check_methods_sample_order_invariance"),
    "scores are of float32 networks, whose products round a row as its place among the others has it: alike within "
    "1e-4, not within 1e-7",
)
FAILURES_WITH_MODEL = EXPECTED_FAILURES | {
    "check_classifier_data_not_an_array": "a table's columns are matched by name, and the model's are x0 and x1",
}
WIDTHS = {  # of scikit-learn's data, where it is not 3
    "check_estimators_overwrite_params": 2,
    "check_estimators_fit_returns_self": 2,
    "check_readonly_memmap_input": 2,
    "check_n_features_in_after_fitting": 4,
    "check_positive_only_tag_during_fit": 4,
    "check_estimators_dtypes": 5,
    "check_dtype_object": 10,
    "check_classifier_data_not_an_array": 2,
    "check_classifiers_train": 2,
    "check_fit2d_1feature": 1,
    "check_decision_proba_consistency": 2,
    "check_fit_idempotent": 2,
    "check_fit_check_is_fitted": 2,
    "check_n_features_in": 2,
}


def checks(failures, loose=None):
    """scikit-learn's checks: those that must fail, and those that rounding may let fail, each with its reason."""
    for _, check in estimator_checks_generator(FewShotDetector(), legacy=True):
        name = check.func.__name__
        marks = [pytest.mark.xfail(reason=failures[name])] if name in failures else []
        marks += [pytest.mark.xfail(reason=loose[name], strict=False)] if name in (loose or {}) else []
        yield pytest.param(check, WIDTHS.get(name, 3), id=name, marks=marks)


@pytest.mark.parametrize(("check", "width"), list(checks(EXPECTED_FAILURES, ROUNDING)))
def test_scikit_learn_contract(check, width):
    check(FewShotDetector())


@pytest.mark.parametrize("model", [None, small_model()], ids=["without model", "with model"])
def test_a_score_depends_on_the_rows_beside_it_and_on_their_order_by_rounding_only(model):
    X = numbers(9)
    fitted = FewShotDetector(model).fit(X[:10], labels(10))
    together = fitted.score_samples(X)  # with the rows that it was fitted on
    alone = np.concatenate([fitted.score_samples(X[k : k + 1]) for k in range(len(X))])
    np.testing.assert_allclose(alone, together, rtol=2e-4)
    np.testing.assert_allclose(fitted.score_samples(X[::-1])[::-1], together, rtol=2e-4)


@cache
def model_of_width(width):
    """With random weights: it is not to be good. Its encoding was used before, as that of a trained model was."""
    tables = [task.X for task in fleet(partial(numbers, width=width))]
    encoding = Encoding.fit(tables)
    encoding.clip(encoding.transform(tables[0]))
    method = build("eigen", M=encoding.n_attributes, dtype=np.float32, units=8)
    return Model(method, encoding, 0.25, {}, replace(load_universal().calibration, scale=1e-3))


@pytest.mark.parametrize(("check", "width"), list(checks(FAILURES_WITH_MODEL, ROUNDING)))
def test_scikit_learn_contract_with_a_model(check, width):
    """A model fixes the number of columns, so each check gets one of the width of its data."""
    check(FewShotDetector(model_of_width(width)))


FORMS = {
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "batch": pa.RecordBatch.from_pandas,
    "dict": lambda frame: {name: frame[name].tolist() for name in frame},
    "mapping": lambda frame: OrderedDict(frame.items()),
}
SUPPORT, LABELS = mixed(9, 10), labels(10)


def named(X):
    return pd.DataFrame(X, columns=["x0", "x1", "x2"])


def adapted_scores(fitted, X, y, rows):
    """Scores of the method itself, adapted to the encoded rows: not prepared, and all rows at once.

    Those that have a scale of their own are 0 for a median normal row and 1 at the default threshold.
    """
    model = fitted.model or load_universal()
    method = model.method
    given, query = (fitted.encoding_.transform(part) for part in (X, rows))
    normal, anomaly, unlabelled = (given[np.asarray(y) == label] for label in (0, 1, -1))
    support, others = LabelledRows(normal, anomaly), unlabelled if len(unlabelled) else None
    score = method.adapt(support, others)
    scores = score(query)
    if not score.is_standardised:
        return scores
    decision = model.calibration.decide(SupportScores.of(score, support, others))
    return (scores - decision.threshold(0.5)) / (decision.threshold(0.05) - decision.threshold(0.5))


def detector(model=None):
    return FewShotDetector(model or small_model("eigen", mixed)).fit(SUPPORT, LABELS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", [None, small_model("eigen", mixed)], ids=["without model", "with model"])
def test_tables_of_every_library_give_the_same_scores(form, model):
    expected = FewShotDetector(model).fit(SUPPORT, LABELS).score_samples(mixed(8))
    fitted = FewShotDetector(model).fit(FORMS[form](SUPPORT), LABELS)
    np.testing.assert_array_equal(fitted.score_samples(FORMS[form](mixed(8))), expected)
    np.testing.assert_array_equal(fitted.score_samples(mixed(8)), expected)


@pytest.mark.parametrize("model", [None, small_model()], ids=["without model", "with model"])
def test_an_array_gives_the_scores_of_a_table_with_its_numbers(model):
    X = numbers(9)
    X[3, 1] = X[20, 2] = np.nan
    expected = FewShotDetector(model).fit(X[:10], LABELS).score_samples(X)
    for table in (named(X), {f"x{j}": X[:, j] for j in range(3)}):
        rows = pa.table(table) if isinstance(table, dict) else table
        part = rows.slice(0, 10) if isinstance(table, dict) else rows[:10]
        np.testing.assert_array_equal(FewShotDetector(model).fit(part, LABELS).score_samples(table), expected)
    np.testing.assert_array_equal(FewShotDetector(model).fit(X[:10].tolist(), LABELS).score_samples(X), expected)


def test_the_order_of_columns_and_of_support_rows_is_free():
    X = mixed(8)
    expected = detector().score_samples(X)
    np.testing.assert_array_equal(detector().score_samples(X[X.columns[::-1]]), expected)
    order = np.random.default_rng(0).permutation(10)
    shuffled = FewShotDetector(small_model("eigen", mixed)).fit(SUPPORT.iloc[order], LABELS[order])
    np.testing.assert_allclose(shuffled.score_samples(X), expected, rtol=1e-3)
    assert shuffled.threshold_ == pytest.approx(detector().threshold_, rel=1e-3)


def test_columns_that_are_missing_renamed_or_unknown():
    X = mixed(8)
    with pytest.raises(InputError, match=r"^X: column 'speed' is missing$"):
        detector().score_samples(X.drop(columns="speed"))
    with pytest.raises(InputError, match=r"^X: column 'speed' is missing \(renamed to 'pace'\?\)$"):
        detector().predict(X.rename(columns={"speed": "pace"}))
    with pytest.raises(InputError, match=r"^support: column 'mode' is missing"):
        FewShotDetector(small_model("eigen", mixed)).fit(SUPPORT.drop(columns="mode"), LABELS)
    with pytest.warns(UserWarning, match="X: ignored unknown columns: 'fault'"):
        scores = detector().score_samples(X.assign(fault=1))
    np.testing.assert_array_equal(scores, detector().score_samples(X))


def test_wrong_widths():
    model = small_model()
    with pytest.raises(InputError, match="support has 4 columns, the model was trained on 3"):
        FewShotDetector(model).fit(numbers(0, width=4), labels())
    fitted = FewShotDetector(model).fit(numbers(0), labels())
    for width in (2, 4):
        with pytest.raises(ValueError, match=f"X has {width} features, but FewShotDetector is expecting 3 features"):
            fitted.predict(numbers(0, width=width))


@pytest.mark.parametrize(
    ("make", "value"), [*((np.asarray, v) for v in (np.inf, -np.inf, 1e19, -1e19)), (named, 1e19), (named, -1e19)]
)
def test_numbers_beyond_the_limit_are_found(make, value):
    X = numbers(9)
    X[6, 1] = value
    with pytest.raises(InputError, match=r"X: row 7, column 'x1': .* is too large"):
        FewShotDetector(small_model()).fit(make(numbers(9)), labels()).score_samples(make(X[:10]))
    for model in (None, small_model()):
        with pytest.raises(InputError, match=r"row \d, column 'x1': .* is too large"):
            FewShotDetector(model).fit(make(X), labels())


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_cells_of_a_frame_are_missing_with_a_warning(value):
    X = numbers(9)
    X[6, 1] = value
    gaps = np.where(np.isinf(X), np.nan, X)
    with pytest.warns(UserWarning, match=r"support: row 7, column 'x1': -?inf is infinite and taken as missing$"):
        fitted = FewShotDetector().fit(named(X), labels())
    same = FewShotDetector().fit(named(gaps), labels())
    with pytest.warns(UserWarning, match=r"^row 7, column 'x1': -?inf is infinite and taken as missing$"):
        scores = fitted.score_samples(named(X))
    np.testing.assert_array_equal(scores, same.score_samples(named(gaps)))


@pytest.mark.parametrize("method", [None, "wonn", "woanomaly", "eigen"])
def test_the_largest_numbers_are_anomalies_with_finite_scores(method):
    X = np.array([[1e18, -1e18, 0.0], [1e-300, 5e17, -1.0]])
    # Of more labelled anomalies, all of them off in the first column, a forest learns that no other column matters.
    fitted = FewShotDetector(method and small_model(method)).fit(numbers(9)[:10], labels(10))
    assert np.isfinite(fitted.score_samples(X)).all()
    assert fitted.predict(X).tolist() == [1, 1]


def test_text_in_a_column_of_numbers():
    X = mixed(8).astype({"speed": object})
    X.loc[4, "speed"] = "fast"
    with pytest.raises(InputError, match=r"X: row 5, column 'speed': 'fast' is not a number; 1 of 10 cells"):
        detector().predict(X[:10])
    many = pd.concat([X, *[mixed(k) for k in range(5)]])
    gaps = many.assign(speed=pd.to_numeric(many["speed"], errors="coerce"))
    with pytest.warns(UserWarning, match=r"^row 5, column 'speed': 'fast' is not a number and taken as missing$"):
        scores = detector().decision_function(many)
    np.testing.assert_allclose(scores, detector().decision_function(gaps))


@pytest.mark.parametrize("model", [None, small_model()], ids=["without model", "with model"])
def test_a_support_without_normal_row_is_refused(model):
    for y in ([1, 1], [1, -1], [-1, -1]):
        with pytest.raises(InputError, match="at least one row labelled normal is needed"):
            FewShotDetector(model).fit(numbers(0)[:2], y)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("method", [None, "wonn", "woanomaly"])
def test_normal_rows_alone_are_enough_for_some_methods(method, n):
    X = numbers(9)
    fitted = FewShotDetector(method and small_model(method)).fit(X[1 : 1 + n], [0] * n)
    expected = adapted_scores(fitted, X[1 : 1 + n], [0] * n, X)
    new = np.setdiff1d(np.arange(len(X)), np.arange(1, 1 + n))  # the others are hidden from themselves
    np.testing.assert_allclose(fitted.score_samples(X)[new], expected[new], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(fitted.predict(X), fitted.score_samples(X) > fitted.threshold_)


def test_eigen_needs_an_anomaly():
    X = numbers(9)
    with pytest.raises(
        InputError, match="needs at least one labelled anomaly; for normal rows alone train 'woanomaly'"
    ):
        FewShotDetector(small_model()).fit(X[1:4], [0, 0, 0])


@pytest.mark.parametrize("method", [None, "eigen", "woanomaly", "wonn"])
def test_duplicates_and_an_anomaly_equal_to_a_normal_row(method):
    model = method and small_model(method)
    X, y = numbers(9)[:6], np.array([1, 0, 0, 0, 0, 0])
    once = FewShotDetector(model).fit(X, y)
    twice = FewShotDetector(model).fit(np.vstack([X, X]), np.append(y, y))
    if model is not None:  # which counts rows where the one that ships looks at how many there are
        np.testing.assert_allclose(twice.score_samples(numbers(8)), once.score_samples(numbers(8)), rtol=1e-3)
    X[0] = X[1]
    for rows, labelled in ((X, y), (X[[0, 1]], [1, 0]), (X[[1, 1, 1]], [0, 1, 0])):
        fitted = FewShotDetector(model).fit(rows, labelled)
        scores, expected = fitted.score_samples(numbers(8)), adapted_scores(fitted, rows, labelled, numbers(8))
        np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-6 * expected.max())
        assert np.isfinite(fitted.threshold_)


def test_a_method_that_uses_unlabelled_rows_gets_them():
    model, X, y = small_model("relative"), numbers(9), labels()
    y[10:] = -1
    fitted = FewShotDetector(model).fit(X, y)
    expected = adapted_scores(fitted, X, y, numbers(8))
    np.testing.assert_allclose(fitted.score_samples(numbers(8)), expected, rtol=1e-4)
    table = FewShotDetector(model).fit(named(X), y)
    np.testing.assert_array_equal(table.score_samples(named(numbers(8))), fitted.score_samples(numbers(8)))
    without = FewShotDetector(model).fit(X[:10], y[:10]).score_samples(numbers(8))
    assert not np.allclose(fitted.score_samples(numbers(8)), without, rtol=1e-2)


def test_of_many_unlabelled_rows_a_thousand_are_drawn_once_and_for_all():
    y = np.where(np.arange(5000) % 5 == 0, 0, -1).astype(np.int8)
    chosen = sample_unlabelled(y)
    assert len(chosen) == len(set(chosen)) == MAX_UNLABELLED
    assert (y[chosen] == -1).all()
    assert abs(chosen.mean() - 2500) < 200  # from everywhere
    np.testing.assert_array_equal(sample_unlabelled(y), chosen)
    assert sample_unlabelled(y[:1000]).tolist() == np.flatnonzero(y[:1000] == -1).tolist()


def test_unlabelled_rows_are_not_used_where_the_method_does_without():
    model, X, y = small_model(), numbers(9), labels()
    y[10:] = -1
    expected = FewShotDetector(model).fit(X[:10], y[:10])
    X[10:] = 1e6
    fitted = FewShotDetector(model).fit(X, y)
    np.testing.assert_array_equal(fitted.score_samples(numbers(8)), expected.score_samples(numbers(8)))
    assert fitted.threshold_ == expected.threshold_
    table = FewShotDetector(model).fit(named(X), pd.Series(y, index=range(40, 0, -1)))
    np.testing.assert_array_equal(table.score_samples(named(numbers(8))), expected.score_samples(numbers(8)))


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint8, float, lambda y: y + 1, lambda y: y * 7 - 3, list])
def test_labels_of_other_types_and_pairs_of_numbers(kind):
    X, y = numbers(9)[:10], (labels(10) == 1).astype(int)
    expected = FewShotDetector().fit(X, y)
    given = y.astype(kind) if isinstance(kind, type) and kind is not list else kind(y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = FewShotDetector().fit(X, given)
    low, high = np.unique(given).tolist()
    is_said = [
        f"y has {low} and {high}: {high} is taken for anomalies and {low} for normal rows" in str(w.message)
        for w in caught
    ]
    assert is_said == ([] if {low, high} == {0, 1} else [True])
    np.testing.assert_array_equal(fitted.score_samples(X), expected.score_samples(X))
    assert set(fitted.classes_.tolist()) == set(np.unique(given).tolist())
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[expected.predict(X)])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            ["ok", "fault", "ok"],
            "labels are text; name the values of anomalies with anomaly_value, or those of normal",
        ),
        ([0, 1, 2], "Only binary classification"),
        ([5, 5, 5], "only one class, label"),
        ([0.5, 1.0, 0.0], "Unknown label type"),
        ([0, 1, np.inf], "infinity"),
        ([-1, 2, 2], "y has -1, which is unlabelled, beside 2; labels are 1 = anomaly"),
        ([0, 1], "X has 3 rows and y has 2 labels"),
        ([-1, 1, 1], "at least one row labelled normal"),
        (None, "requires y to be passed"),
    ],
)
def test_wrong_labels(y, message):
    with pytest.raises(ValueError, match=message) as caught:
        FewShotDetector().fit(numbers(0)[:3], y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, np.nan, 0],
        [0, 1, None, 0],
        [False, True, None, False],
        pd.Series([0, 1, None, 0], dtype="Int64"),
        pd.Series([False, True, None, False], dtype="boolean"),
        pd.Series([0, 1, None, 0]),
    ],
)
def test_a_missing_label_is_unlabelled(y):
    X = numbers(0)[:4]
    expected = FewShotDetector().fit(X, [0, 1, -1, 0]).score_samples(X)
    np.testing.assert_array_equal(FewShotDetector().fit(X, y).score_samples(X), expected)


def test_labels_of_text_with_an_anomaly_value():
    X, expected = numbers(0)[:4], FewShotDetector().fit(numbers(0)[:4], [0, 1, -1, 0])
    for y in (
        ["ok", "bad", None, "ok"],
        pd.Series(["ok", "bad", pd.NA, "ok"], dtype="string"),
        ["ok", " bad", "", "ok"],
    ):
        fitted = FewShotDetector(anomaly_value="bad").fit(X, y)
        np.testing.assert_array_equal(fitted.score_samples(X), expected.score_samples(X))
        np.testing.assert_array_equal(fitted.predict(X), np.array(["ok", y[1]])[expected.predict(X)])
    several = FewShotDetector(anomaly_value="bad").fit(X, ["ok", "bad", None, "fine"])
    assert several.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"y: no label is 'Bad'; values seen: 'ok', 'bad' \(did you mean 'bad'\?\)"):
        FewShotDetector(anomaly_value="Bad").fit(X, ["ok", "bad", None, "ok"])


def test_several_values_of_anomalies_or_of_normal_rows():
    X = numbers(0)[:6]
    expected = FewShotDetector().fit(X, [0, 1, -1, 0, 1, 0])
    y = ["ok", "bearing", None, "ok", "leak", "ok"]
    for named in ({"anomaly_value": ["bearing", "leak"]}, {"normal_value": "ok"}, {"normal_value": ("ok", "idle")}):
        fitted = clone(FewShotDetector(**named)).fit(X, y)
        np.testing.assert_array_equal(fitted.score_samples(X), expected.score_samples(X))
        assert fitted.classes_.tolist() == [0, 1]
    (lacking,) = {tuple(FewShotDetector(**named).fit(X, ["ok", "leak", None, "ok", "leak", "ok"]).classes_)}
    assert lacking == ("leak", "ok")
    frame = pd.DataFrame({"x": X[:, 0], "state": y})
    assert Task.from_frame("m1", frame, "state", normal_value="ok").y.tolist() == [0, 1, -1, 0, 1, 0]
    with pytest.warns(UserWarning, match="y: no label is 'broken'; values seen: 'ok'"):
        alone = FewShotDetector(anomaly_value="broken").fit(X, ["ok"] * 6)
    assert alone.classes_.tolist() == ["broken", "ok"]
    with pytest.raises(ValueError, match="anomaly_value and normal_value exclude each other"):
        FewShotDetector(anomaly_value="leak", normal_value="ok").fit(X, y)


def test_text_of_0_and_1_is_taken_as_in_files():
    X = numbers(0)[:4]
    expected = FewShotDetector().fit(X, [0, 1, -1, 0])
    for y in (["0", "1", "-1", "0"], ["0", "1", None, "0"], pd.Series(["0", "1", pd.NA, "0"], dtype="string")):
        fitted = FewShotDetector().fit(X, y)
        np.testing.assert_array_equal(fitted.score_samples(X), expected.score_samples(X))
        assert fitted.predict(X).tolist() == [str(label) for label in expected.predict(X)]


def test_minus_one_is_the_anomaly_where_one_says_so():
    X, y = numbers(9), (labels() == 1).astype(int)
    expected = FewShotDetector().fit(X, y)
    as_outliers = FewShotDetector(anomaly_value=-1).fit(X, 1 - 2 * y)  # as scikit-learn's outlier detectors predict
    np.testing.assert_array_equal(as_outliers.predict(X), 1 - 2 * expected.predict(X))
    as_signs = FewShotDetector(anomaly_value=1).fit(X, 2 * y - 1)
    np.testing.assert_array_equal(as_signs.predict(X), 2 * expected.predict(X) - 1)


LABELS_OF_OTHERS = {  # the labels of normal rows and of anomalies, and the value of anomalies where it must be named
    "text": ("ok", "broken", "broken"),
    "text, sorted": ("good", "poor", "poor"),
    "booleans": (False, True, None),
    "booleans, False is the anomaly": (True, False, False),
    "1 and -1 as of outlier detectors": (1, -1, -1),
    "-1 and 1": (-1, 1, 1),
    "0 and 1": (0, 1, None),
    "1 and 0": (1, 0, 0),
}


def labelled_as(normal, anomaly):
    """Sixty rows of which every fifth is an anomaly that is hard to find, and their labels."""
    X, is_anomaly = np.random.default_rng(3).normal(size=(60, 3)), np.arange(60) % 5 == 0
    X[is_anomaly, 0] += 2.5
    return X, is_anomaly, np.where(is_anomaly, anomaly, normal)


@pytest.mark.parametrize(("normal", "anomaly", "value"), LABELS_OF_OTHERS.values(), ids=LABELS_OF_OTHERS)
def test_scores_grow_with_anomaly_and_the_rest_follows_the_sorted_classes(normal, anomaly, value):
    X, is_anomaly, y = labelled_as(normal, anomaly)
    expected, fitted = FewShotDetector().fit(X, is_anomaly), FewShotDetector(anomaly_value=value).fit(X, y)
    assert fitted.classes_.tolist() == sorted([normal, anomaly])
    column, sign = fitted.classes_.tolist().index(anomaly), 1 if anomaly > normal else -1
    np.testing.assert_array_equal(fitted.score_samples(X), expected.score_samples(X))
    np.testing.assert_array_equal(fitted.decision_scores_, expected.decision_scores_)
    np.testing.assert_array_equal(fitted.decision_function(X), sign * expected.decision_function(X))
    np.testing.assert_array_equal(fitted.predict_proba(X)[:, column], expected.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(fitted.predict(X) == anomaly, expected.predict(X) == 1)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[(fitted.decision_function(X) > 0) * 1])


@pytest.mark.parametrize(("normal", "anomaly", "value"), LABELS_OF_OTHERS.values(), ids=LABELS_OF_OTHERS)
def test_tools_of_scikit_learn_give_the_same_figures_whatever_the_labels_are_called(normal, anomaly, value):
    X, is_anomaly, y = labelled_as(normal, anomaly)
    plain, named = FewShotDetector(), FewShotDetector(anomaly_value=value)
    precision = make_scorer(
        average_precision_score, pos_label=anomaly, response_method=("decision_function", "predict_proba")
    )
    for scoring, of_named in (
        ("roc_auc", "roc_auc"),
        ("neg_log_loss", "neg_log_loss"),
        ("accuracy", "accuracy"),
        ("average_precision", precision),
    ):
        expected = cross_val_score(plain, X, is_anomaly, scoring=scoring, cv=3)
        np.testing.assert_allclose(cross_val_score(named, X, y, scoring=of_named, cv=3), expected, err_msg=scoring)
    assert cross_val_score(named, X, y, scoring="roc_auc", cv=3).min() > 0.6
    grid = {"false_positive_rate": [0.02, 0.2]}
    searches = [
        GridSearchCV(one, grid, scoring="balanced_accuracy", cv=3).fit(X, labels)
        for one, labels in ((plain, is_anomaly), (named, y))
    ]
    figures = [search.cv_results_["mean_test_score"] for search in searches]
    np.testing.assert_allclose(*figures)
    assert len(set(figures[0])) == 2  # the rate matters
    calibrated = [
        CalibratedClassifierCV(one, cv=3).fit(X, labels).predict_proba(X)
        for one, labels in ((plain, is_anomaly), (named, y))
    ]
    np.testing.assert_allclose(calibrated[1][:, sorted([normal, anomaly]).index(anomaly)], calibrated[0][:, 1])


def test_a_saved_detector_keeps_the_order_of_its_classes(tmp_path):
    X, _, y = labelled_as("ok", "broken")
    fitted = FewShotDetector(anomaly_value="broken").fit(X, y)
    fitted.save(tmp_path / "detector.safetensors")
    loaded = load_detector(tmp_path / "detector.safetensors")
    assert loaded.classes_.tolist() == ["broken", "ok"]
    np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (numbers(7), ["ok", "fault"] * 20),
        (numbers(7, width=4), np.ones(40)),
        (named(numbers(7, width=3)), labels(39)),
        (pd.DataFrame({"a": [], "b": []}), []),
        (np.full((40, 3), np.inf), labels()),
    ],
    ids=["labels", "no normal row", "lengths", "no rows", "infinite"],
)
def test_a_fit_that_fails_leaves_the_detector_as_it_was(X, y):
    fitted = FewShotDetector(false_positive_rate=0.1).fit(numbers(9), labels())
    before, state = fitted.score_samples(numbers(8)), set(vars(fitted))
    with pytest.raises(InputError):
        fitted.fit(X, y)
    assert set(vars(fitted)) == state
    np.testing.assert_array_equal(fitted.score_samples(numbers(8)), before)
    assert (fitted.n_features_in_, fitted.classes_.tolist(), len(fitted.decision_scores_)) == (3, [0, 1], 40)
    unfitted = FewShotDetector()
    with pytest.raises(InputError):
        unfitted.fit(X, y)
    with pytest.raises(NotFittedError):
        unfitted.score_samples(numbers(8))


def messages(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in caught]


def test_more_anomalies_than_normal_rows_are_doubted():
    X, y = numbers(9), np.arange(40) % 4 == 0
    doubt = (
        "30 rows are labelled anomalous and only 10 normal: are the labels the wrong way round? 1 = anomaly, 0 = normal"
    )
    assert doubt in messages(lambda: FewShotDetector().fit(X, ~y))
    assert messages(lambda: FewShotDetector().fit(X, y)) == []
    assert messages(lambda: FewShotDetector().fit(X[:12], np.arange(12) > 2)) == []  # a handful may be chosen so


def test_unlabelled_rows_are_asked_for_where_a_cautious_threshold_finds_nothing():
    """Ten columns, two of which the anomalies differ in by five deviations; three labelled normal rows."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(400, 10)), np.arange(400) < 60
    X[y, :2] += 5
    known, others = np.arange(60, 63), np.r_[:15, 100:235]  # a tenth of the others are anomalies
    cautious = FewShotDetector().fit(X[known], [0, 0, 0])
    assert cautious.predict(X).sum() == 0
    hint = "none of 400 rows is called an anomaly, where a false-positive rate of 5 % alone would give about 20: "
    assert [text.startswith(hint) for text in messages(lambda: cautious.predict(X))] == [True]
    assert messages(lambda: cautious.predict(X[:50])) == []  # 2.5 expected
    assert messages(lambda: cautious.score_samples(X)) == []
    better = FewShotDetector().fit(X[np.r_[known, others]], np.r_[np.zeros(3), np.full(len(others), -1)])
    assert better.predict(X[30:60]).mean() > 0.2  # of the anomalies; without unlabelled rows none
    assert messages(lambda: better.predict(X[235:])) == []


def test_labels_in_a_column_are_taken_with_a_warning():
    X, y = numbers(9)[:10], labels(10)
    with pytest.warns(DataConversionWarning):
        fitted = FewShotDetector().fit(X, y[:, None])
    assert fitted.threshold_ == FewShotDetector().fit(X, y).threshold_


@pytest.mark.parametrize("method", ["eigen", "woanomaly", "wonn"])
def test_predictions_are_scores_above_the_threshold(method):
    fitted, X = detector(small_model(method, mixed)), mixed(8)
    scores = fitted.score_samples(X)
    assert (scores >= 0).all()
    np.testing.assert_array_equal(fitted.decision_function(X), scores - fitted.threshold_)
    np.testing.assert_array_equal(fitted.predict(X), (scores > fitted.threshold_) * 1)


def test_scores_and_threshold_are_those_of_the_equations():
    """Eqs. 1-6 letter by letter on the support, in NumPy float64."""
    model = replace(small_model(), calibration=None)
    X, y = numbers(9), labels()
    everything = np.vstack([task.X for task in fleet()])
    rows = (X - everything.mean(0)) / everything.std(0)
    normal, anomaly = rows[:10][y[:10] == 0], rows[:10][y[:10] == 1]
    f, g, phi = (references.layers_of(model.method.layers(name)) for name in ("f", "g", "phi"))
    r = references.task_representation(f, g, normal, anomaly)
    center = model.method.weights["center"].astype(np.float64)

    def embed(part):
        return np.array([references.feed_forward(phi, np.append(x, r)) - center for x in part])

    eta = model.method.config.eta_floor + np.exp(float(model.method.weights["log_eta"]))
    w = references.projection(embed(normal), embed(anomaly), eta)
    w /= np.linalg.norm(w)
    scores = [references.anomaly_score(w, z) for z in embed(rows)]
    fitted = FewShotDetector(model).fit(X[:10], y[:10])
    np.testing.assert_allclose(fitted.score_samples(X[10:]), scores[10:], rtol=1e-3, atol=1e-7)
    low, high = (np.mean([references.anomaly_score(w, z) for z in embed(part)]) for part in (normal, anomaly))
    assert fitted.threshold_ == pytest.approx(low + model.threshold * (high - low), rel=1e-3)


def test_without_a_model_it_finds_clear_anomalies():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), np.arange(200) % 10 == 0
    X[y] += 6
    fitted = FewShotDetector().fit(X[:30], y[:30])
    assert roc_auc_score(y[30:], fitted.decision_function(X[30:])) > 0.99
    assert fitted.score(X[30:], y[30:]) > 0.95
    assert roc_auc_score(y[30:], FewShotDetector().fit(X[1:10], np.zeros(9)).decision_function(X[30:])) > 0.99


@pytest.mark.parametrize("model", [None, small_model()], ids=["without model", "with model"])
def test_it_works_with_scikit_learn(model):
    X, y = numbers(9), (labels() == 1).astype(int)
    pipeline = make_pipeline(StandardScaler(), FewShotDetector(model)).fit(X, y)
    expected = FewShotDetector(model).fit(StandardScaler().fit_transform(X), y)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(pipeline.decision_function(X), expected.decision_function(scaled))
    aucs = []
    for train, test in StratifiedKFold(2).split(X, y):
        aucs.append(roc_auc_score(y[test], FewShotDetector(model).fit(X[train], y[train]).score_samples(X[test])))
    np.testing.assert_allclose(cross_val_score(FewShotDetector(model), X, y, scoring="roc_auc", cv=2), aucs)


@pytest.mark.parametrize("method", [None, "eigen", "woanomaly", "wonn"])
def test_clones_and_pickles_score_alike(method):
    fitted = FewShotDetector(method and small_model(method)).fit(numbers(9), labels())
    expected = fitted.score_samples(numbers(8))
    copied = clone(fitted)
    with pytest.raises(NotFittedError):
        copied.predict(numbers(8))
    np.testing.assert_array_equal(copied.fit(numbers(9), labels()).score_samples(numbers(8)), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).score_samples(numbers(8)), expected)  # noqa: S301


@pytest.mark.parametrize("method", [None, "eigen", "relative", "wonn"])
@pytest.mark.parametrize("n_rows", [3, 5000])
def test_copies_of_a_detector_that_has_scored_score_alike(method, n_rows):
    fitted = FewShotDetector(method and small_model(method)).fit(numbers(9), labels())
    rows = np.random.default_rng(0).normal(size=(n_rows, 3))
    expected = fitted.score_samples(rows)
    fitted.explain(rows[:3])
    np.testing.assert_array_equal(copy.deepcopy(fitted).score_samples(rows), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).score_samples(rows), expected)  # noqa: S301


def test_one_model_serves_many_detectors_and_stays_as_it_is():
    model, X = small_model(), numbers(8)
    content = to_bytes(model)
    one = FewShotDetector(model).fit(numbers(9), labels())
    before = one.score_samples(X)
    FewShotDetector(model).fit(numbers(7) * 3, labels())
    np.testing.assert_array_equal(one.score_samples(X), before)
    assert to_bytes(model) == content


def test_a_large_table_is_scored_in_blocks_and_errors_tell_the_row():
    detector, X = FewShotDetector(small_model()).fit(numbers(9), labels()), numbers(8, MAX_BLOCK_ROWS + 3)
    expected = detector.task_.score_encoded(detector.encoding_.transform(X))
    np.testing.assert_allclose(detector.score_samples(X), expected, rtol=1e-4, atol=1e-6)
    table = pa.table({f"x{j}": X[:, j] for j in range(3)})
    named = FewShotDetector(small_model()).fit(table.slice(0, 40), labels())
    expected = named.task_.score_encoded(named.encoding_.transform(table))
    np.testing.assert_allclose(named.score_samples(table), expected, rtol=1e-4, atol=1e-6)
    X[MAX_BLOCK_ROWS + 1, 2] = np.inf
    with pytest.raises(InputError, match=f"row {MAX_BLOCK_ROWS + 2}, column 'x2'"):
        detector.score_samples(X)


def test_a_pipeline_may_give_it_tables_but_it_has_no_set_output():
    X, y = named(numbers(9)), labels()
    assert not hasattr(FewShotDetector(), "set_output")  # as scikit-learn's classifiers: there is no transform
    pipeline = make_pipeline(StandardScaler(), FewShotDetector()).set_output(transform="pandas").fit(X, y)
    assert pipeline[-1].feature_names_in_.tolist() == ["x0", "x1", "x2"]
    expected = FewShotDetector().fit(StandardScaler().fit_transform(X), y)
    found = pipeline.decision_function(X)
    np.testing.assert_array_equal(found, expected.decision_function(StandardScaler().fit(X).transform(X)))


def test_a_model_may_be_a_path_or_a_name(tmp_path):
    path, X, y = tmp_path / "fleet.safetensors", numbers(9), labels()
    small_model().save(path)
    for given, model in (("universal", load_universal()), (path, small_model()), (str(path), small_model())):
        fitted = FewShotDetector(given)
        assert fitted.get_params()["model"] is given  # untouched: it is read when fit is called
        fitted = clone(fitted).fit(X, y)
        assert fitted.model == given
        expected = FewShotDetector(model).fit(X, y)
        np.testing.assert_array_equal(fitted.score_samples(X), expected.score_samples(X))
        np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))
    copied = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    path.unlink()  # a fitted detector needs the file no more
    np.testing.assert_array_equal(copied.predict_proba(X), expected.predict_proba(X))


def test_a_model_that_cannot_be_read_is_one_line():
    for given, error, message in (
        ("nowhere.safetensors", FileError, r"nowhere\.safetensors: cannot be read"),
        ("Universal", FileError, "Universal: no such file; did you mean 'universal'"),
        (7, InputError, "model is of type 'int'; expected a Model, the path of its file, or 'universal'"),
    ):
        assert not hasattr(FewShotDetector(given), "predict_proba")
        with pytest.raises(error, match=message):
            FewShotDetector(given).fit(numbers(9), labels())


def test_a_fitted_detector_tells_of_its_own_model_whether_there_are_probabilities():
    bare = replace(small_model(), calibration=None)
    assert hasattr(FewShotDetector(), "predict_proba")
    assert not hasattr(FewShotDetector(bare), "predict_proba")
    fitted = FewShotDetector(small_model()).fit(numbers(9), labels()).set_params(model=bare)
    assert fitted.predict_proba(numbers(8)).shape == (40, 2)


def test_a_rate_can_be_set_after_fit():
    X, y = numbers(1), labels()
    detector = FewShotDetector().fit(X, y)
    for rate in (0.01, 0.3, None):
        detector.set_params(false_positive_rate=rate)
        fresh = FewShotDetector(false_positive_rate=rate).fit(X, y)
        assert detector.threshold_ == fresh.threshold_
        np.testing.assert_array_equal(detector.predict(X), fresh.predict(X))
    with pytest.raises(InputError, match=r"false_positive_rate is 0\.9; it must be"):
        detector.set_params(false_positive_rate=0.9).predict(X)
