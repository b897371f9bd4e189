import warnings

import numpy as np
import pytest

from oddshot import FewShotDetector
from oddshot.adapted import seen_rows
from oddshot.adapted.copies import Copies
from oddshot.adapted.seen_rows import SeenRows, hash_rows, is_ambiguous
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED
from tests.fleets import labels, numbers, small_model


def rows_of(seed, n, width=3):
    return np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)


NO_BOUNDS = (-np.inf, np.inf)


def unlabelled(n):
    return np.full(n, UNLABELLED, np.int8)


@pytest.mark.parametrize("block", [1, 7, 1 << 16])
def test_only_seen_rows_get_their_own_scores(block, monkeypatch):
    monkeypatch.setattr(seen_rows, "MAX_BLOCK_VALUES", 3 * block)
    seen, new = rows_of(0, 20), rows_of(1, 15)
    rows = np.concatenate([new, seen[[3, 3, 19, 0]]])
    scores = np.arange(len(rows), dtype=np.float64)
    found = SeenRows.of(seen, -np.arange(1.0, 21), unlabelled(20), NO_BOUNDS)
    np.testing.assert_array_equal(found.score(rows, lambda some: scores[: len(some)]), [*range(15), -4, -4, -20, -1])
    np.testing.assert_array_equal(found.leave_one_out(rows), [*[np.nan] * 15, -4, -4, -20, -1])


def test_no_seen_rows_change_nothing():
    scores, nothing = np.ones(4), SeenRows.of(np.empty((0, 3), np.float32), np.empty(0), unlabelled(0), NO_BOUNDS)
    np.testing.assert_array_equal(nothing.score(rows_of(1, 4), lambda _: scores), np.ones(4))
    assert np.isnan(nothing.leave_one_out(rows_of(1, 4))).all()


def test_rows_that_equal_a_labelled_one_are_decided_on_as_labelled():
    rows, labels = rows_of(0, 3), np.array([NORMAL, ANOMALY, UNLABELLED], np.int8)
    found = SeenRows.of(rows, np.array([7.0, 8.0, 9.0]), labels, (1.0, 5.0))
    for scores, expected in (([0.5, 2.0, 0.0], [0.5, 5.0, 9.0]), ([3.0, 6.0, 20.0], [1.0, 6.0, 9.0])):
        scores = found.score(rows, lambda some, scores=scores: np.array(scores)[: len(some)])
        np.testing.assert_allclose(scores, expected)
        assert scores[1] > 5.0
    np.testing.assert_array_equal(found.leave_one_out(rows), [7, 8, 9])


def test_contradicting_labels_leave_the_score():
    rows = np.concatenate([rows_of(0, 2), rows_of(0, 1)])
    found = SeenRows.of(rows, np.zeros(3), np.array([NORMAL, ANOMALY, ANOMALY], np.int8), (1.0, 5.0))
    np.testing.assert_allclose(found.score(rows[:2], lambda _: np.array([3.0, 3.0])), [3.0, 5.0])


def test_labels_say_nothing_of_equal_rows_where_these_are_to_be_expected():
    rows = np.random.default_rng(0).integers(0, 2, (40, 2)).astype(np.float32)
    labels = np.where(rows.all(1), ANOMALY, NORMAL)
    assert is_ambiguous(rows, labels).all()
    found = SeenRows.of(rows, np.zeros(40), labels, (1.0, 5.0))
    assert (found.score(rows, lambda _: np.full(40, 3.0)) == 3).all()


def test_of_a_labelled_and_an_equal_unlabelled_row_the_unlabelled_one_counts():
    seen = np.concatenate([rows_of(0, 3), rows_of(1, 97), rows_of(0, 1)])
    labels = np.repeat(np.array([NORMAL, UNLABELLED], np.int8), [3, 98])
    found = SeenRows.of(seen, np.arange(101.0), labels, NO_BOUNDS)
    assert found.score(seen[:1], lambda _: np.empty(0)) == [100]


def test_copies_that_were_not_used_have_what_their_originals_have():
    rows, labels = rows_of(0, 3), np.array([NORMAL, ANOMALY, UNLABELLED], np.int8)
    copies = Copies(rows + np.float32(1e-6), rows)
    found = SeenRows.of(rows, np.array([7.0, 8.0, 9.0]), labels, (1.0, 5.0), copies)
    scores = found.score(np.concatenate([rows, copies.rows]), lambda some: np.full(len(some), 3.0))
    np.testing.assert_allclose(scores, [1, 5, 9] * 2)
    np.testing.assert_array_equal(found.leave_one_out(copies.rows), [7, 8, 9])


def test_rows_of_one_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(seen_rows, "hash_rows", lambda rows: np.zeros(len(rows), np.uint64))
    seen = rows_of(0, 1)
    found = SeenRows.of(seen, np.array([5.0]), unlabelled(1), NO_BOUNDS)
    scores = found.score(np.concatenate([rows_of(1, 1), seen]), lambda some: np.zeros(len(some)))
    np.testing.assert_array_equal(scores, [0, 5])


def test_hashes_depend_on_every_column_and_on_no_sign_of_zero():
    rows = rows_of(0, 50, 4)
    assert len(set(hash_rows(rows).tolist())) == 50
    for column in range(4):
        moved = rows.copy()
        moved[:, column] = np.nextafter(moved[:, column], np.float32(9))
        assert (hash_rows(moved) != hash_rows(rows)).all()
    assert hash_rows(np.array([[0.0, 1]], np.float32)) == hash_rows(np.array([[-0.0, 1]], np.float32))


@pytest.mark.parametrize("method", ["ships", "relative", "eigen"])
def test_fit_leaves_the_scores_of_its_own_rows_each_hidden_from_itself(method):
    X, y = numbers(3, 30), labels(30)
    y[12:] = -1
    detector = FewShotDetector(None if method == "ships" else small_model(method)).fit(X, y)
    task = detector.task_
    as_new = task.score_as_new(task.encode(X, "X"))
    hidden = task.score.own()
    if hidden is None:
        np.testing.assert_allclose(detector.decision_scores_, as_new)
        return
    assert not np.isclose(detector.decision_scores_, as_new, rtol=1e-3).any()
    order = [*np.flatnonzero(y == 1), *np.flatnonzero(y == 0), *np.flatnonzero(y == -1)]
    np.testing.assert_allclose(detector.decision_scores_[order], hidden.scores, rtol=1e-9)
    np.testing.assert_allclose(detector.score_samples(X[12:]), detector.decision_scores_[12:], rtol=1e-9)


@pytest.mark.parametrize("method", ["ships", "relative", "eigen"])
@pytest.mark.parametrize("rate", [0.001, 0.05, 0.5])
def test_what_is_labelled_stays_labelled(method, rate):
    X, y = numbers(3, 30), labels(30)
    y[12:] = -1
    detector = FewShotDetector(None if method == "ships" else small_model(method), false_positive_rate=rate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few rows cannot show a rate of one in a thousand
        predicted = detector.fit(X, y).predict(X)
    np.testing.assert_array_equal(predicted[:12], y[:12])


def test_an_unlabelled_row_that_equals_a_labelled_one_is_ranked_as_that_label_says():
    X, y = numbers(3, 30), labels(30)
    y[12:] = -1
    anomaly, normal = np.flatnonzero(y == 1)[0], np.flatnonzero(y == 0)[0]
    X[20], X[21] = X[anomaly], X[normal]
    detector = FewShotDetector().fit(X, y)
    assert detector.decision_scores_[20] > detector.threshold_ > detector.decision_scores_[21]
    np.testing.assert_allclose(detector.decision_scores_[12:], detector.score_samples(X[12:]))
    assert detector.decision_scores_[anomaly] < detector.decision_scores_[20]  # itself, it is left out


def test_the_score_decides_on_a_row_that_is_labelled_both_ways():
    X, y = numbers(3, 30), labels(30)
    y[12:] = -1
    both = np.flatnonzero(y == 1)[:1]
    with pytest.warns(UserWarning, match="labelled both normal and anomalous"):
        detector = FewShotDetector().fit(np.concatenate([X, X[both]]), np.append(y, 0))
    task = detector.task_
    np.testing.assert_allclose(detector.score_samples(X[both]), task.score_as_new(task.encode(X[both], "X")))


def test_seen_and_unseen_rows_are_ranked_together():
    """Each half of a table is given or not: a row that met itself would look normal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    X[:40] += rng.normal(size=(40, 5)) * 4
    is_anomaly, given = np.arange(400) < 40, np.arange(400) % 2 == 0
    y = np.full(200, -1)
    y[100:105] = 0
    detector = FewShotDetector().fit(X[given], y)
    flagged = detector.predict(X[~is_anomaly]) == 1
    seen = given[~is_anomaly]
    assert abs(flagged[seen].mean() - flagged[~seen].mean()) < 0.05
    scores = detector.score_samples(X)
    assert np.median(scores[given & is_anomaly]) > np.quantile(scores[~is_anomaly], 0.9)
