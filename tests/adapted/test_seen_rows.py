import numpy as np
import pytest
import torch

from oddshot import FewShotDetector
from oddshot.adapted import seen_rows
from oddshot.adapted.seen_rows import SeenRows, hash_rows
from tests.fleets import labels, numbers, small_model


def rows_of(seed, n, width=3):
    return np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)


@pytest.mark.parametrize("block", [1, 7, 1 << 16])
def test_only_seen_rows_get_their_own_scores(block, monkeypatch):
    monkeypatch.setattr(seen_rows, "MAX_BLOCK_VALUES", 3 * block)
    seen, new = rows_of(0, 20), rows_of(1, 15)
    rows = np.concatenate([new, seen[[3, 3, 19, 0]]])
    scores = np.arange(len(rows), dtype=np.float64)
    SeenRows.of(seen, -np.arange(1.0, 21), 8).replace_scores(rows, scores)
    np.testing.assert_array_equal(scores, [*range(15), -4, -4, -20, -1])


def test_no_seen_rows_change_nothing():
    scores = np.ones(4)
    SeenRows.of(np.empty((0, 3), np.float32), np.empty(0), 0).replace_scores(rows_of(1, 4), scores)
    np.testing.assert_array_equal(scores, np.ones(4))


def test_a_row_that_equals_a_labelled_one_is_that_row_only_where_equal_rows_are_rare():
    labelled, unlabelled = rows_of(0, 4), rows_of(1, 40)
    for n_twins, expected in ((0, [1, 2, 20]), (1, [1, 2, 20]), (3, [0, 0, 20])):
        seen = np.concatenate([labelled, unlabelled])
        seen[-n_twins - 1 : -1] = seen[-1]  # twins of each other
        scores = np.zeros(3)
        SeenRows.of(seen, np.arange(1.0, 45), 40).replace_scores(seen[[0, 1, 19]], scores)
        np.testing.assert_array_equal(scores, expected)


def test_of_a_labelled_and_an_equal_unlabelled_row_the_unlabelled_one_counts():
    seen, scores = np.concatenate([rows_of(0, 3), rows_of(1, 97), rows_of(0, 1)]), np.zeros(1)
    SeenRows.of(seen, np.arange(101.0), 98).replace_scores(seen[:1], scores)
    assert scores == [100]


def test_rows_of_one_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(seen_rows, "hash_rows", lambda rows: np.zeros(len(rows), np.uint64))
    seen, scores = rows_of(0, 1), np.zeros(2)
    SeenRows.of(seen, np.array([5.0]), 0).replace_scores(np.concatenate([rows_of(1, 1), seen]), scores)
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
def test_fit_leaves_the_scores_of_its_own_rows_which_score_samples_gives_again(method):
    X, y = numbers(3, 30), labels(30)
    y[12:] = -1
    detector = FewShotDetector(None if method == "ships" else small_model(method)).fit(X, y)
    np.testing.assert_allclose(detector.decision_scores_, detector.score_samples(X), rtol=1e-9)
    task = detector.task_
    as_new = task.score_as_new(task.encode(X, "X"))
    with torch.no_grad():
        hidden = task.score.scored_context()
    if hidden.scores.shape[-1] == 0:
        np.testing.assert_allclose(detector.decision_scores_, as_new)
        return
    assert not np.isclose(detector.decision_scores_, as_new, rtol=1e-3).any()
    order = [*np.flatnonzero(y == 1), *np.flatnonzero(y == 0), *np.flatnonzero(y == -1)]
    np.testing.assert_allclose(detector.decision_scores_[order], hidden.scores[0, 0], rtol=1e-9)


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
