"""How sure the ranking is: the detector's own leave-one-out scores against models that are fitted again."""

import dataclasses

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from oddshot.adapted.task import AdaptedTask
from oddshot.app.learning.certainty import describe_certainty
from oddshot.app.learning.label_auc import MIN_ANOMALIES, MIN_NORMAL
from oddshot.app.rankers import DetectorRanker, make_ranker
from oddshot.methods import find_method
from tests.app.samples import some_labels, two_kinds_sheet

SAMPLE = np.arange(100, 300)


def refitted_scores(sheet, labels, unlabelled):
    """Of each labelled row, by a detector that was adapted to all others."""
    rows, values, encoded = labels.rows, labels.values, sheet.encoded
    scores = []
    for k in range(len(rows)):
        kept = np.arange(len(rows)) != k
        task = AdaptedTask.from_encoded(
            sheet.model, sheet.encoding, encoded[rows[kept]], values[kept], rows[kept], unlabelled
        )
        scores.append(task.score_as_new(encoded[rows[[k]]])[0])
    return np.array(scores)


@pytest.mark.parametrize("seed", range(4))
def test_leave_one_out_scores_rank_as_those_of_refits(seed):
    sheet, y = two_kinds_sheet(seed=seed)
    labels = some_labels(y, 12, 6)
    ranker = make_ranker(sheet, labels, SAMPLE)
    certainty = describe_certainty(sheet, labels, ranker)
    refitted = roc_auc_score(labels.values, refitted_scores(sheet, labels, ranker.unlabelled))
    rest = np.setdiff1d(np.arange(len(y)), labels.rows)
    unseen = roc_auc_score(y[rest], ranker.score(sheet.encoded[rest]))
    assert certainty["pairs"] == 72
    assert abs(certainty["auc"] - refitted) < (certainty["high"] - certainty["low"]) / 2
    assert certainty["low"] <= unseen <= certainty["high"]
    assert abs(certainty["auc"] - unseen) <= abs(refitted - unseen) + 0.02


def test_too_few_labels_say_how_many_are_missing():
    sheet, y = two_kinds_sheet()
    labels = some_labels(y, MIN_NORMAL - 1, MIN_ANOMALIES - 1)
    certainty = describe_certainty(sheet, labels, make_ranker(sheet, labels, SAMPLE))
    assert certainty == {
        "missing": "Label 1 more normal row and 1 more anomaly to see how well the ranking does",
        "auc": None,
    }


def test_a_method_without_such_scores_is_fitted_again():
    sheet, y = two_kinds_sheet()
    method = find_method("ridge+nearest")
    model = dataclasses.replace(
        sheet.model,
        method=method(sheet.encoding.n_attributes, method.config_type()),
        calibration=None,
    )
    sheet = dataclasses.replace(sheet, model=model)
    labels = some_labels(y, 6, 3)
    ranker = make_ranker(sheet, labels, SAMPLE)
    assert isinstance(ranker, DetectorRanker)
    assert ranker.leave_one_out() is None
    certainty = describe_certainty(sheet, labels, ranker)
    assert certainty["pairs"] == 18
    assert 0 <= certainty["low"] <= certainty["auc"] <= certainty["high"] <= 1
