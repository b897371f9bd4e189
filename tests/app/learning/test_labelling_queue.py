"""The rows of a labelling queue are without a label, different and spread."""

import numpy as np
import pytest

from oddshot.app.labels import Labels
from oddshot.app.learning.labelling_queue import QUEUE_LENGTH, choose_queue
from oddshot.app.rankers import make_ranker
from tests.app.samples import some_labels, two_kinds_sheet


def queue_of(sheet, labels):
    ranker, rows = make_ranker(sheet, labels, np.arange(len(sheet))), np.arange(len(sheet))
    scores = ranker.score(sheet.encoded)
    return choose_queue(sheet, labels, ranker, rows, scores), scores


@pytest.mark.parametrize(("n_normal", "n_anomaly"), [(0, 0), (2, 0), (4, 0), (5, 2)])
def test_ten_rows_without_a_label(n_normal, n_anomaly):
    sheet, y = two_kinds_sheet()
    labels = some_labels(y, n_normal, n_anomaly)
    queue, _ = queue_of(sheet, labels)
    assert len(set(queue)) == QUEUE_LENGTH
    assert not set(queue) & set(labels.rows.tolist())


def test_without_labels_rows_from_both_ends_of_the_ranking():
    sheet, _ = two_kinds_sheet()
    queue, scores = queue_of(sheet, Labels({}))
    assert queue[0] == scores.argmin()
    assert queue[1] == scores.argmax()
    assert sum(scores[row] < np.median(scores) for row in queue) == QUEUE_LENGTH // 2


def test_the_highest_ranked_row_comes_first():
    sheet, y = two_kinds_sheet()
    labels = some_labels(y, 4, 1)
    queue, scores = queue_of(sheet, labels)
    scores[labels.rows] = -np.inf
    assert queue[0] == scores.argmax()


def test_copies_of_a_row_are_not_labelled_twice():
    sheet, y = two_kinds_sheet()
    labels = some_labels(y, 5, 2)
    sheet.encoded[150:160] = sheet.encoded[150]
    queue, _ = queue_of(sheet, labels)
    assert sum(150 <= row < 160 for row in queue) <= 1


def test_a_table_with_fewer_rows_has_a_shorter_queue():
    sheet, _ = two_kinds_sheet(12)
    labels = Labels(dict.fromkeys(range(8), 0))
    queue, _ = queue_of(sheet, labels)
    assert sorted(queue) == [8, 9, 10, 11]
