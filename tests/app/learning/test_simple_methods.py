"""Simple methods beside the detector, on labels that none of them has seen."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from oddshot.app.learning import label_folds
from oddshot.app.learning.label_auc import LabelAuc
from oddshot.app.learning.label_folds import fold_numbers, held_out_scores, nearest_normal_scorer, simple_scorers
from oddshot.app.learning.simple_methods import DETECTOR, ComparedMethod, SimpleMethodsJob, compare_methods, verdict
from oddshot.app.rankers import make_ranker
from oddshot.errors import InputError
from tests.app.samples import some_labels, two_kinds_sheet

SAMPLE = np.arange(100, 300)


def start(sheet, labels, is_outdated=lambda: False):
    unlabelled = make_ranker(sheet, labels, SAMPLE).unlabelled
    return SimpleMethodsJob(sheet, sheet.encoded[labels.rows], labels.values, unlabelled, is_outdated)


@pytest.mark.parametrize(("n_normal", "n_anomaly", "n_folds"), [(5, 2, 2), (9, 4, 4), (40, 30, 10), (2, 9, 2)])
def test_every_fold_holds_out_both_labels(n_normal, n_anomaly, n_folds):
    labels = np.repeat([0, 1], [n_normal, n_anomaly]).astype(np.int8)
    folds = fold_numbers(labels)
    assert set(folds.tolist()) == set(range(n_folds))
    for fold in range(n_folds):
        assert set(labels[folds == fold].tolist()) == {0, 1}


def test_a_row_is_scored_without_its_own_label():
    rng, labels = np.random.default_rng(0), np.repeat([0, 1], [8, 4]).astype(np.int8)
    rows, seen = rng.normal(size=(12, 3)).astype(np.float32), []

    def scorer(given, given_labels, held_out):
        assert not (given[:, None] == held_out[None]).all(-1).any()
        seen.extend(map(tuple, held_out.tolist()))
        return held_out[:, 0].astype(np.float64)

    scores = np.empty(12)
    assert len(list(held_out_scores(scorer, rows, labels, scores))) == 4
    np.testing.assert_array_equal(scores, rows[:, 0])
    assert len(set(seen)) == 12


def test_useless_scores_have_an_auc_of_a_half():
    """Without a single row the share of anomalies in the rest would give its label away, the wrong way round."""
    rng, aucs = np.random.default_rng(0), []
    for _ in range(60):
        rows = rng.normal(size=(18, 3)).astype(np.float32)
        labels = np.repeat([0, 1], [12, 6]).astype(np.int8)
        scores = np.empty(18)
        list(held_out_scores(simple_scorers(rows)["logistic regression"], rows, labels, scores))
        aucs.append((scores[12:, None] > scores[None, :12]).mean())
    assert abs(np.mean(aucs) - 0.5) < 3 * np.std(aucs) / np.sqrt(len(aucs)) + 0.02


def test_simple_methods_are_what_their_names_say():
    rng = np.random.default_rng(0)
    rows, held_out = (rng.normal(size=(n, 3)).astype(np.float32) for n in (9, 4))
    labels = np.repeat([0, 1], [6, 3]).astype(np.int8)
    nearest = [min(np.sqrt(np.mean((row - normal) ** 2)) for normal in rows[:6]) for row in held_out.astype(float)]
    np.testing.assert_allclose(nearest_normal_scorer(rows, labels, held_out), nearest, rtol=1e-6)
    forest = simple_scorers(rows)["random forest"](rows, labels, held_out)
    expected = RandomForestClassifier(random_state=0).fit(rows, labels).predict_proba(held_out)[:, 1]
    assert np.corrcoef(forest, expected)[0, 1] > 0.8
    unlabelled = rng.normal(size=(100, 3)).astype(np.float32)
    far = np.array([[9, 9, 9], [0, 0, 0]], np.float32)
    isolated = simple_scorers(unlabelled)["isolation forest"](rows, labels, far)
    assert isolated[0] > isolated[1]


def test_all_methods_are_compared_in_a_thread():
    sheet, y = two_kinds_sheet()
    job = start(sheet, some_labels(y, 10, 4))
    job.wait()
    content = job.to_json()
    assert content["done"] == 1
    assert {one["name"] for one in content["methods"]} == {DETECTOR, *simple_scorers(sheet.encoded)}
    assert [one["auc"] for one in content["methods"]] == sorted(
        (one["auc"] for one in content["methods"]), reverse=True
    )
    detector = next(one for one in content["methods"] if one["name"] == DETECTOR)
    assert detector["p"] is None
    assert detector["auc"] > 0.9
    assert content["verdict"].endswith(".")


def test_a_newer_label_stops_it():
    sheet, y = two_kinds_sheet()
    asked = []
    job = start(sheet, some_labels(y, 10, 4), lambda: bool(asked.append(1)) or len(asked) > 3)
    job.wait()
    assert job.n_done == 3
    assert job.methods is None
    assert job.to_json()["outdated"]


def test_too_few_labels_are_refused():
    sheet, y = two_kinds_sheet()
    with pytest.raises(InputError, match="1 more anomaly"):
        start(sheet, some_labels(y, 5, 1))


def test_an_error_is_one_sentence(monkeypatch):
    def fail(*_):
        raise InputError("no such thing")

    monkeypatch.setattr(label_folds, "nearest_normal_scorer", fail)
    sheet, y = two_kinds_sheet()
    job = start(sheet, some_labels(y, 5, 2))
    job.wait()
    assert job.to_json()["error"] == "no such thing"


def method(name, auc, p):
    return ComparedMethod(name, LabelAuc(10, 5, auc, auc - 0.1, min(1, auc + 0.1)), p)


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        (
            [method(DETECTOR, 0.9, None), method("random forest", 0.88, 0.6)],
            "A random forest ranks these labels as well",
        ),
        ([method("isolation forest", 0.95, 0.01), method(DETECTOR, 0.7, None)], "An isolation forest ranks .* better"),
        ([method(DETECTOR, 0.9, None), method("nearest normal row", 0.6, 0.001)], "The detector ranks .* better"),
    ],
)
def test_verdict(methods, words):
    import re

    assert re.match(words, verdict(methods))


def test_compared_methods_agree_with_one_by_one():
    rng, labels = np.random.default_rng(0), np.repeat([0, 1], [10, 5]).astype(np.int8)
    scores = {DETECTOR: rng.normal(size=15) + 3 * labels, "random forest": rng.normal(size=15)}
    best, other = compare_methods(scores, labels)
    assert best.name == DETECTOR
    assert other.p_value < 0.05
