"""What is counted in a cell, beside the public methods of the detector and naive loops."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from oddshot import FewShotDetector
from oddshot.bench.decisions.grid import RATES, DecisionCell
from oddshot.bench.decisions.measure import N_BINS, N_VALUES, DecisionJob, job_cost, measure_draw, reliability
from oddshot.bench.decisions.results import to_frame
from oddshot.bench.decisions.rows import draw_table, take_rows
from oddshot.bench.decisions.runner import tables_of_sources
from oddshot.bench.field.workers import run_in_workers
from oddshot.methods.contract import SupportError
from tests.bench.decisions.samples import gaussian_table, numbered_table

CELLS = (
    DecisionCell(5, 1, 10, 10, "as-is"),
    DecisionCell(300, 1, 0, 0, "as-is"),  # for which the table has too few rows
    DecisionCell(20, 0, 0, 0, "near"),
)
JOB = DecisionJob(draw_table(gaussian_table("made/0"), 0), CELLS)


def test_reliability_is_that_of_a_naive_loop():
    rng = np.random.default_rng(0)
    p, is_anomaly = np.r_[rng.random(200), 0.0, 1.0, 0.3], np.r_[rng.random(200) < 0.2, True, False, True]
    sums = np.zeros((3, N_BINS))
    for one, truth in zip(p, is_anomaly, strict=True):
        k = next(k for k in range(N_BINS) if one < (k + 1) / N_BINS or k == N_BINS - 1)
        weight = 0.5 / is_anomaly.sum() if truth else 0.5 / (~is_anomaly).sum()
        sums[:, k] += weight, weight * one, weight * truth
    found = reliability(p, is_anomaly)
    np.testing.assert_allclose(found, sums, atol=1e-12)
    assert found[0].sum() == pytest.approx(1)
    assert found[2].sum() == pytest.approx(0.5)


def test_values_are_those_of_the_public_methods():
    (values, missing, _) = measure_draw(JOB).values
    assert np.isnan(missing).all()
    rows = take_rows(CELLS[0], JOB.drawn)
    flagged, found = [], []
    for rate in RATES:
        detector = FewShotDetector(false_positive_rate=rate).fit(rows.X, rows.labels)
        flagged.append(detector.predict(rows.normal).mean())
        found.append(detector.predict(rows.anomaly).mean())
    tested, truth = (
        np.concatenate([rows.normal, rows.anomaly]),
        np.repeat([0, 1], [len(rows.normal), len(rows.anomaly)]),
    )
    np.testing.assert_allclose(values[:9], [*flagged, *found, roc_auc_score(truth, detector.score_samples(tested))])
    p = detector.predict_proba(tested)[:, 1]
    np.testing.assert_allclose(values[9:], reliability(p, truth == 1).ravel(), rtol=1e-5, atol=1e-7)
    assert len(values) == N_VALUES


def test_the_frame_has_a_row_for_every_cell_in_which_the_table_takes_part():
    measured = measure_draw(JOB)
    frame = to_frame([measured], CELLS)
    assert list(zip(frame["normal"], frame["copies"], strict=True)) == [(5, "as-is"), (20, "near")]
    assert set(frame["source"]) == {"made"}
    assert frame["auc"].tolist() == pytest.approx([measured.values[0, 8], measured.values[2, 8]])


def test_a_method_that_needs_an_anomaly_has_no_cell_without_one(monkeypatch):
    def refuse(self, X, y):
        raise SupportError("method 'rf' needs at least one labelled anomaly")

    monkeypatch.setattr(FewShotDetector, "fit", refuse)
    assert np.isnan(measure_draw(DecisionJob(JOB.drawn, CELLS[2:])).values).all()
    with pytest.raises(SupportError):
        measure_draw(JOB)


def test_worker_processes_give_the_same():
    jobs = [DecisionJob(draw_table(gaussian_table("made/0"), draw), CELLS[:1]) for draw in range(2)]
    found = {one.draw: one.values for one in run_in_workers(measure_draw, jobs, 2)}
    for one in run_in_workers(measure_draw, jobs, 1):
        np.testing.assert_allclose(found[one.draw], one.values, rtol=1e-5)


def test_cost_and_choice_of_tables():
    tables = [numbered_table(200, n, f"{source}/{n}") for source in "ab" for n in (20, 60, 40)]
    assert [table.name for table in tables_of_sources(tables, 2)] == ["a/60", "a/40", "b/60", "b/40"]
    few, many = (DecisionJob(draw_table(tables[0], 0), CELLS[:n]) for n in (1, 3))
    assert 0 < job_cost(few) < job_cost(many)
    assert job_cost(DecisionJob(JOB.drawn, CELLS[1:2])) == 0
