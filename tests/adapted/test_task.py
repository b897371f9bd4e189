"""One adapted task: what it is made of, how it decides, what it says of itself."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from oddshot import InputError, load_universal
from oddshot.adapted import AdaptedTask
from oddshot.adapted import task as module
from oddshot.adapted.explanation import column_contributions, column_orders
from oddshot.adapted.task import NoCalibration, check_labels, require_calibration, sample_unlabelled
from oddshot.data.encoding import Encoding
from oddshot.decisions.calibration import FixedThreshold
from oddshot.decisions.support_scores import SupportScores
from oddshot.score.rows import LabelledRows
from tests.fleets import MIXED, labels, mixed, numbers, small_model

Y = labels(12)  # anomalies 0, 5, 10; the last row is unlabelled


def bare(method="eigen"):
    return replace(small_model(method), calibration=None)


def mixed_table(seed, n):
    return pa.Table.from_pandas(mixed(seed, n), preserve_index=False)


def by_method(model, X, y, unlabelled=None):
    """The support and the score, without AdaptedTask."""
    rows = model.encoding.transform(X)
    support = LabelledRows(rows[y == 0], rows[y == 1])
    others = None if unlabelled is None else model.encoding.transform(unlabelled)
    return support, others, model.method.adapt(support, others)


def test_a_task_knows_its_labelled_rows_and_their_numbers():
    model, X = small_model(), numbers(9, 12)
    y = np.roll(Y, 1)  # the first row is unlabelled
    task = AdaptedTask.from_table(model, X, y)
    assert task.row_numbers.tolist() == list(range(1, 12))
    assert task.labels.tolist() == y[1:].tolist()
    np.testing.assert_array_equal(task.support, model.encoding.transform(X[1:]))
    assert task.encoding is model.encoding


@pytest.mark.parametrize("method", ["eigen", "relative"])
def test_scores_and_thresholds_are_those_of_the_method(method):
    model, X, new = small_model(method), numbers(9, 12), numbers(8)
    uses = model.method.uses_unlabelled
    assert uses == (method == "relative")
    support, others, score = by_method(model, X[:-1], Y[:-1], X[-1:] if uses else None)
    known = SupportScores.of(score, support, others)
    for rate in (None, 0.05, 0.3):
        task = AdaptedTask.from_table(model, X, Y, rate)
        assert task.threshold == pytest.approx(model.calibration.decide(known).threshold(rate), rel=1e-6)
    rows = task.encode(new, "new rows")
    expected = score(rows)
    np.testing.assert_allclose(task.score_encoded(rows), expected, rtol=1e-3, atol=1e-6)
    decided = task.decide(task.score_encoded(rows))
    np.testing.assert_array_equal(decided.anomalies, decided.scores > task.threshold)
    np.testing.assert_allclose(decided.probabilities, task.decision.probability(decided.scores))


def test_without_calibration_the_threshold_is_a_fraction_of_the_span():
    model, X = replace(bare(), threshold=0.25), numbers(9, 12)
    task = AdaptedTask.from_table(model, X, Y)
    scores = task.score_as_new(task.support)
    low, high = scores[task.labels == 0].mean(), scores[task.labels == 1].mean()
    assert task.threshold == pytest.approx(low + 0.25 * (high - low), rel=1e-4)
    assert isinstance(task.decision, FixedThreshold)
    assert task.notice == ""
    assert task.decide(scores).probabilities is None


def test_a_rate_needs_a_calibration():
    with pytest.raises(NoCalibration, match=r"^false_positive_rate needs a calibration, and the model has none"):
        AdaptedTask.from_table(bare(), numbers(9, 12), Y, 0.05)
    with pytest.raises(AttributeError):
        require_calibration(bare(), "predict_proba")
    assert require_calibration(small_model(), "predict_proba") is None


def test_unlabelled_rows_are_used_by_methods_that_can():
    X, y, new = numbers(9, 30), labels(30), small_model("relative").encoding.transform(numbers(8))
    y[12:] = -1
    model = small_model("relative")
    _, _, score = by_method(model, X[:12], y[:12], X[12:])
    expected = score(new)
    task = AdaptedTask.from_table(model, X, y)
    np.testing.assert_allclose(task.score_encoded(new), expected, rtol=1e-3, atol=1e-6)
    without = AdaptedTask.from_table(model, X[:12], y[:12])
    assert not np.allclose(task.score_encoded(new), without.score_encoded(new), rtol=1e-2)
    encoded = model.encoding.transform(X[12:])
    same = AdaptedTask.from_encoded(model, model.encoding, without.support, y[:12], without.row_numbers, encoded)
    np.testing.assert_array_equal(same.score_encoded(new), task.score_encoded(new))
    assert same.threshold == task.threshold


def test_encoded_unlabelled_rows_are_not_used_by_other_methods():
    model, X = small_model(), numbers(9, 12)
    support = model.encoding.transform(X[:11])
    tasks = [AdaptedTask.from_encoded(model, model.encoding, support, Y[:11], np.arange(11), rows)
             for rows in (None, model.encoding.transform(1e3 * X))]  # fmt: skip
    np.testing.assert_array_equal(*(task.score_encoded(support) for task in tasks))
    assert tasks[0].threshold == tasks[1].threshold


def test_a_model_for_any_table_is_adapted_with_an_encoding_of_the_task():
    model, X = load_universal(), numbers(9, 12)
    task = AdaptedTask.from_table(model, X, Y)
    expected = Encoding.fit([X[:11], X[11:]])
    np.testing.assert_array_equal(task.support, expected.transform(X[:11]))
    without = AdaptedTask.from_table(model, X[:11], Y[:11])
    np.testing.assert_array_equal(without.support, Encoding.fit([X[:11]]).transform(X[:11]))
    X[11] = 1e4  # the unlabelled row takes part in the encoding
    assert not np.allclose(AdaptedTask.from_table(model, X, Y).support, task.support)


def test_messages_name_the_rows():
    task, X = AdaptedTask.from_table(small_model(), numbers(9, 12), Y), numbers(8)
    X[3, 1] = np.inf
    with pytest.raises(InputError, match=r"^query: row 4\b"):
        task.encode(X, "query")
    with pytest.raises(InputError, match=r"^query: row 103\b"):
        task.encode(X, "query", 100)
    for model in (small_model("relative"), load_universal()):
        for row in (3, 11):  # labelled, and not
            bad = numbers(9, 12)
            bad[row, 0] = np.inf
            with pytest.raises(InputError, match=f"^support: row {row + 1}, "):
                AdaptedTask.from_table(model, bad, Y)


def test_projected_rows_have_the_scores_as_squared_lengths():
    task = AdaptedTask.from_table(small_model(), numbers(9, 12), Y)
    rows = task.encode(numbers(8), "new")
    projected = task.project(rows)
    assert projected.shape == (40, 1)
    np.testing.assert_allclose((projected**2).sum(1), task.score_encoded(rows), rtol=1e-3, atol=1e-6)


def test_an_explanation_is_made_of_contributions_and_nearest_rows():
    X, y = mixed_table(9, 12), np.roll(Y, 1)
    task = AdaptedTask.from_table(small_model("eigen", mixed), X, y)
    rows = task.encode(mixed_table(8, 40)[:6], "new")
    found = task.explain(rows)
    distance = np.array([[math.sqrt(np.mean((a.astype(float) - b) ** 2)) for b in task.support] for a in rows])
    order = distance.argsort(1, kind="stable")
    np.testing.assert_array_equal(found.neighbours, 1 + order[:, :5])  # row 0 is unlabelled
    np.testing.assert_allclose(found.distances, np.sort(distance, 1)[:, :5], rtol=1e-6)
    nearest_normal = np.where(task.labels == 0, distance, np.inf).argmin(1)
    np.testing.assert_array_equal(found.baseline, 1 + nearest_normal)
    start = task.support[nearest_normal]
    np.testing.assert_allclose(found.baseline_score, task.score_fitted(start), rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(found.score, task.score_encoded(rows), rtol=1e-3, atol=1e-6)
    assert found.attributes == MIXED
    groups, first = [], 0
    for encoder in task.encoding.encoders:
        groups.append(slice(first, first + len(encoder.attribute_names)))
        first = groups[-1].stop
    assert first == rows.shape[1] > len(groups)
    expected, _, _ = column_contributions(task.score_fitted, rows, start, groups, column_orders(len(groups)))
    np.testing.assert_allclose(found.contributions, expected, rtol=1e-3, atol=1e-5)
    assert task.explain(rows, 2).neighbours.shape == (6, 2)
    assert task.explain(rows, 100).neighbours.shape == (6, 11)


@pytest.mark.parametrize("threshold", [-5.0, 0.0, 3.0])
def test_without_calibration_rows_near_the_threshold_are_uncertain(monkeypatch, threshold):
    task = replace(AdaptedTask.from_table(bare(), numbers(9, 12), Y), threshold=threshold)
    given = []
    monkeypatch.setattr(module, "suggest_rows", lambda *arguments: given.append(arguments))
    rows, scores = task.encode(numbers(8)[:5], "new"), np.array([0.0, 1.0, 3.0, 4.0, -8.0])
    task.suggest(rows, scores, 3)
    ((given_rows, given_scores, p, n),) = given
    unit = np.median([abs(score - threshold) for score in scores])
    np.testing.assert_allclose(p, [1 / (1 + math.exp(-(score - threshold) / unit)) for score in scores], rtol=1e-9)
    np.testing.assert_array_equal(given_scores, scores)
    assert (given_rows is rows, n) == (True, 3)
    task.suggest(rows, np.array([threshold] * 3 + [threshold + 2] * 2), 1)  # the median distance is 0
    np.testing.assert_allclose(given[1][2], [0.5] * 3 + [1 / (1 + math.exp(-2))] * 2)


def test_with_calibration_the_probability_tells_what_to_label_and_labelled_rows_come_last(monkeypatch):
    task, given = AdaptedTask.from_table(small_model(), numbers(9, 12), Y), []
    monkeypatch.setattr(module, "suggest_rows", lambda *arguments: given.append(arguments))
    rows, scores = np.concatenate([numbers(8)[:3].astype(np.float32), task.support[:2]]), np.array([0.0, 1, 3, 9, 9])
    task.suggest(rows, scores, 2)
    np.testing.assert_array_equal(given[0][1], [0, 1, 3, -np.inf, -np.inf])
    np.testing.assert_array_equal(given[0][2], [*task.decision.probability(scores[:3]), 0, 0])


def test_a_support_needs_a_normal_row():
    assert check_labels(np.array([0, -1], np.int8)) is None
    with pytest.raises(InputError, match="only one class: 2 anomalies and no normal row"):
        check_labels(np.array([1, -1, 1], np.int8))
    with pytest.raises(InputError, match="only one class: 3 anomalies"):
        AdaptedTask.from_table(small_model(), numbers(9, 3), np.ones(3, np.int8))


def test_of_many_unlabelled_rows_a_thousand_are_drawn_once_and_for_all():
    y = np.where(np.arange(3000) % 3 == 0, 0, -1).astype(np.int8)
    chosen = sample_unlabelled(y)
    assert len(set(chosen.tolist())) == 1000
    assert (y[chosen] == -1).all()
    assert chosen.tolist() == sorted(chosen.tolist())
    assert abs(chosen.mean() - 1500) < 100  # from everywhere
    np.testing.assert_array_equal(sample_unlabelled(y), chosen)
    few = y[:1500]
    assert sample_unlabelled(few).tolist() == [i for i in range(1500) if few[i] == -1]


def test_tables_and_arrays_give_the_same_task():
    X = numbers(9, 12)
    table = pa.table({f"x{j}": X[:, j] for j in range(3)})
    tasks = [AdaptedTask.from_table(small_model(), rows, Y) for rows in (X, table)]
    np.testing.assert_array_equal(tasks[0].support, tasks[1].support)
    assert tasks[0].threshold == tasks[1].threshold


def test_the_score_is_prepared_once():
    task = AdaptedTask.from_table(small_model(), numbers(9, 12), Y)
    assert task.prepared is task.prepared
