"""The workspace without HTTP: ranking, labels, thresholds, suggestions and large tables."""

import json

import numpy as np
import pyarrow as pa
import pytest
from sklearn.decomposition import PCA

from oddshot import FewShotDetector
from oddshot.app import open_table, session, views
from oddshot.app.edits import Edits
from oddshot.app.example import example_sheet
from oddshot.app.labels_file import LoadedLabels, labels_to_csv, labels_to_json, parse_labels_file
from oddshot.app.ranking import Ranking
from oddshot.app.sheet import describe_columns, make_sheet
from oddshot.app.workspace import Workspace
from oddshot.data.task import ANOMALY, NORMAL
from oddshot.errors import InputError
from oddshot.storage.model_file import from_bytes, to_bytes
from oddshot.universal.shipped import load_universal
from tests.app.samples import DIGEST, arrow, two_kinds


def opened(table, folder=None, **settings):
    work = Workspace(load_universal(), folder)
    return work.open(DIGEST, lambda edits: make_sheet(table, "t", DIGEST, work.model, **settings))


def set_threshold(work, value):
    setting = None if value is None else work.current.make_threshold(value).to_setting()
    work.change({"settings": {"threshold": setting}})


def test_before_the_first_normal_label_rows_are_ranked_by_distance_to_the_median():
    X, _ = two_kinds()
    now = opened(arrow(X)).current
    rows = now.sheet.encoded
    expected = ((rows - np.median(rows[now.unlabelled_sample], axis=0)) ** 2).mean(axis=1)
    np.testing.assert_allclose(now.ranking.scores, expected, rtol=1e-5)
    assert now.threshold is None
    assert now.suggested_row == expected.argmin()
    assert "distance to the median row" in now.ranking.ranker.notice
    np.testing.assert_allclose(
        now.ranking.ranker.explain(np.arange(9)).contributions.sum(axis=1), expected[:9], rtol=1e-5
    )


def test_scores_are_those_of_a_detector_with_the_same_labels():
    X, y = two_kinds()
    work = opened(arrow(X))
    chosen = [*np.flatnonzero(y == 0)[:5], np.flatnonzero(y == 1)[0]]
    for row in chosen:
        work.change({"labels": {int(row): int(y[row])}})
    now = work.current
    rows = np.concatenate([now.labels.rows, np.setdiff1d(now.unlabelled_sample, now.labels.rows)])
    given = np.concatenate([now.labels.values, np.full(len(rows) - 6, -1)])
    model = from_bytes(to_bytes(now.sheet.model))  # with the encoding of the whole table
    detector = FewShotDetector(model).fit(arrow(X[rows]), given)
    np.testing.assert_allclose(now.ranking.scores, detector.score_samples(arrow(X)), rtol=1e-5)
    assert now.threshold == pytest.approx(detector.threshold_)
    assert (np.diff(now.ranking.sorted_scores) <= 0).all()


def test_the_encoding_does_not_change_with_labels():
    X, y = two_kinds()
    work = opened(arrow(X))
    before = work.current.sheet
    for row in range(4):
        work.change({"labels": {row: int(y[row])}})
    assert work.current.sheet is before
    assert work.current.ranking.ranker._task.encoding == before.encoding


def test_eight_labels_in_the_example_find_the_foreign_wines():
    sheet = example_sheet(load_universal())
    work = Workspace(load_universal(), None).open(sheet.digest, lambda edits: sheet)
    now = work.current
    start = now.auc()
    for _ in range(8):
        row = now.suggested_row
        work.change({"labels": {row: int(now.sheet.truth[row])}})
    assert start < 0.8
    assert now.auc() > 0.9
    assert now.labels.count(1) >= 5  # of fifteen foreign wines among 122


def test_suggestions_lead_to_the_labels_that_tell_how_sure_the_ranking_is():
    work, y = opened(arrow(two_kinds()[0])), two_kinds()[1]
    anomaly = int(np.flatnonzero(y == 1)[0])
    work.change({"labels": {anomaly: ANOMALY, **dict.fromkeys(np.flatnonzero(y == 0)[:4].tolist(), NORMAL)}})
    now = work.current
    unlabelled = np.setdiff1d(np.arange(len(y)), now.labels.rows)
    assert now.suggested_row == unlabelled[now.ranking.scores[unlabelled].argmax()]
    work.change({"labels": {now.suggested_row: ANOMALY}})
    assert now.suggested_row != now.ranking.order[0]


def test_suggestions_are_not_labelled_and_end_when_all_are():
    X, _ = two_kinds(6)
    work = opened(arrow(X))
    for _ in range(6):
        row = work.current.suggested_row
        assert work.current.labels.get(row) is None
        work.change({"labels": {row: 0}})
    assert work.current.suggested_row is None


def test_large_tables_are_ranked_in_part_first_and_then_completely(monkeypatch):
    monkeypatch.setattr(open_table, "MAX_FOREGROUND_ROWS", 200)
    monkeypatch.setattr(session, "N_ROWS_PER_BLOCK", 64)
    monkeypatch.setattr(open_table, "MAX_MAP_ROWS", 80)
    X, _ = two_kinds(1000)
    work = opened(arrow(X))
    work.wait_until_scored()
    assert work.current.ranking.is_complete
    version = work.ranking_version
    with work.lock:  # the background thread cannot show its ranking
        highest = work.current.ranking.order[:100].tolist()
        work.change({"labels": {0: 0}})
        assert set(highest) <= set(work.current.ranking.order.tolist())  # half of the rows are those ranked highest
        work.change({"labels": {1: 0}})
        assert len(work.current.ranking.order) <= 200 + 2
        assert {0, 1} <= set(work.current.ranking.order.tolist())  # the labelled rows
        assert work.activity == "scoring"
        partial = work.current.ranking
        assert len(views.map_points(work.current)["rows"]) >= 80
    work.wait_until_scored()
    assert work.current.ranking.is_complete
    assert work.activity == ""
    assert work.ranking_version == version + 3  # two partial rankings, and the whole of the latter
    known = partial.order
    np.testing.assert_allclose(partial.scores[known], work.current.ranking.scores[known], rtol=1e-4)


def test_a_threshold_keeps_its_number_of_rows_when_labels_come():
    X, y = two_kinds()
    work = opened(arrow(X))
    for row in range(5):
        work.change({"labels": {row: int(y[row])}})
    ranking = work.current.ranking
    set_threshold(work, float(ranking.sorted_scores[29:31].mean()))
    assert views.threshold_state(work.current)["above"] == 30
    work.change({"labels": {9: int(y[9])}})
    assert views.threshold_state(work.current)["above"] == 30
    set_threshold(work, None)
    assert work.current.threshold == work.current.ranking.ranker.threshold


def test_a_threshold_is_the_score_that_was_set_when_a_label_is_undone_and_in_the_next_run(tmp_path):
    X, y = two_kinds()
    work = opened(arrow(X), tmp_path)
    for row in range(5):
        work.change({"labels": {row: int(y[row])}})
    value = float(work.current.ranking.sorted_scores[29])  # that of a row, so that not only the number of rows tells it
    set_threshold(work, value)
    work.change({"labels": {9: int(y[9])}})
    assert work.current.threshold != value
    work.undo()
    assert work.current.threshold == value
    work.close()
    assert opened(arrow(X), tmp_path).current.threshold == value


@pytest.fixture
def partly_ranked(monkeypatch):
    """A table of 4,000 rows, five of them labelled, whose ranking can be seen while 400 rows are scored."""
    monkeypatch.setattr(open_table, "MAX_FOREGROUND_ROWS", 400)
    X, y = two_kinds(4000)
    work = opened(arrow(X))
    for row in range(5):
        work.change({"labels": {row: int(y[row])}})
        work.wait_until_scored()
    return work, y


def test_a_threshold_set_while_a_part_is_scored_stays_that_score(partly_ranked):
    work, y = partly_ranked
    with work.lock:  # the background thread cannot show its ranking
        work.change({"labels": {9: int(y[9])}})
        value = float(work.current.ranking.sorted_scores[39:41].mean())
        set_threshold(work, value)
        assert not work.current.ranking.is_complete
        assert views.threshold_state(work.current)["value"] == value
    work.wait_until_scored()
    assert work.current.ranking.is_complete
    assert work.current.threshold == value
    assert views.threshold_state(work.current)["above"] == work.current.ranking.count_above(value)


@pytest.mark.parametrize("n_above", [0, 40, 1000, 3500, 4000])
def test_a_threshold_of_all_rows_keeps_their_number_through_partial_rankings(partly_ranked, n_above):
    work, y = partly_ranked
    set_threshold(work, work.current.ranking.threshold_for_count(n_above))
    with work.lock:
        for row in (9, 10):  # the second label comes before all rows are scored
            work.change({"labels": {row: int(y[row])}})
            estimate = views.threshold_state(work.current)["share"] * 4000
            assert abs(estimate - n_above) <= 4000 / 200  # as close as a sample of 200 rows can come
    work.wait_until_scored()
    assert views.threshold_state(work.current)["above"] == n_above


def test_a_partial_ranking_estimates_the_rows_above_without_bias(partly_ranked):
    """Half of its rows are the highest of the ranking before: as they are, they would count four times too often."""
    work, y = partly_ranked
    with work.lock:
        for row in (9, 10):
            work.change({"labels": {row: int(y[row])}})
        partial = work.current.ranking
    work.wait_until_scored()
    complete = work.current.ranking
    for n_above in (20, 60, 200, 1000, 2500):
        threshold = complete.threshold_for_count(n_above)
        share = n_above / 4000
        deviation = 4000 * np.sqrt(share * (1 - share) / 200)  # of an estimate from 200 random rows
        assert abs(partial.estimate_above(threshold) - n_above) < 3 * deviation
    assert sum(partial.histogram) == pytest.approx(4000, abs=30)  # each of 56 bins is rounded


def test_the_page_says_that_rows_above_are_estimated(partly_ranked):
    work, y = partly_ranked
    with work.lock:
        work.change({"labels": {9: int(y[9])}})
        n_scored = len(work.current.ranking.order)
        facts = views.threshold_state(work.current)["facts"][0]
    assert facts.startswith("About ")
    assert f" of 4,000 rows lie above {work.current.threshold:.4g} (" in facts
    assert facts.endswith(f", estimated from the {n_scored} rows scored so far.")
    work.wait_until_scored()
    assert "bout" not in views.threshold_state(work.current)["facts"][0]


def test_ranks_agree_with_the_order_also_with_ties():
    now = opened(pa.table({"x": [1.0, 2.0, 1.0, 9.0, 2.0, 2.0, 1.0]})).current
    assert [now.ranking.rank_of(row) for row in now.ranking.order.tolist()] == list(range(7))


@pytest.mark.parametrize("count", [0, 3, 150, 300])
@pytest.mark.parametrize("scale", [1.0, 1e12])
def test_threshold_for_a_count(count, scale):
    ranking = opened(arrow(two_kinds()[0])).current.ranking
    ranking = Ranking(ranking.ranker, scale * (1 + ranking.scores))
    assert ranking.count_above(ranking.threshold_for_count(count)) == count


def test_left_out_columns_do_not_count():
    """Scores, thresholds and suggestions are those of a table that never had the column."""
    X, y = two_kinds()
    X[:, 4] *= 1000
    X[7, 4] = 1e6
    all_columns, left_out, without = opened(arrow(X)), opened(arrow(X), left_out=("x4",)), opened(arrow(X[:, :4]))
    assert [column.kind for column in describe_columns(left_out.current.sheet)] == ["number"] * 4 + ["not used"]
    for row in range(5):
        np.testing.assert_array_equal(left_out.current.ranking.scores, without.current.ranking.scores)
        assert left_out.current.threshold == without.current.threshold
        assert left_out.current.suggested_row == without.current.suggested_row
        for work in (all_columns, left_out, without):
            work.change({"labels": {row: int(y[row])}})
    assert not np.allclose(all_columns.current.ranking.scores, without.current.ranking.scores)  # the column would count


def test_not_every_column_can_be_left_out():
    with pytest.raises(InputError, match="every column is left out"):
        opened(arrow(two_kinds()[0]), left_out=[f"x{j}" for j in range(5)])


def test_the_map_shows_the_principal_components():
    now = opened(arrow(two_kinds()[0])).current
    X = np.arcsinh(now.sheet.encoded.astype(np.float64))
    expected = PCA(2).fit_transform(X)
    expected /= expected.std(axis=0)
    points = views.map_points(now)
    assert points["rows"] == list(range(300))
    for found, component in zip((points["x"], points["y"]), expected.T, strict=True):
        sign = np.sign(np.dot(found, component))  # that of a component is arbitrary
        np.testing.assert_allclose(found, sign * component, atol=1e-3)  # the page gets three digits


def test_ranges_of_numbers_have_no_powers_of_ten_that_people_do_not_need():
    cells = {"cost": [12_345.6, 24.5, 1500.0, 0.0], "tiny": [2e-7, 0.5, 0.25, 0.25], "mass": [3e9, 1.0, 4.0, 4.0]}
    notes = {column.name: column.note for column in describe_columns(opened(pa.table(cells)).current.sheet)}
    assert notes["cost"] == "0 to 12350, median 762.2"
    assert notes["tiny"] == "2.00e-07 to 0.5, median 0.25"
    assert notes["mass"] == "1 to 3.00e+09, median 4"


def test_columns_by_kind():
    table = pa.table(
        {
            "n": [1.5, None, 3.0, 2.0],
            "t": ["a", "b", None, "a"],
            "b": [True, False, True, None],
            "d": ["2024-01-01", "2024-02-01", "2024-03-01", "NA"],
            "empty": pa.nulls(4, pa.float64()),
        }
    )
    found = {column.name: column for column in describe_columns(opened(table).current.sheet)}
    assert {name: column.kind for name, column in found.items()} == {
        "n": "number", "t": "category", "b": "boolean", "d": "date", "empty": "not used",
    }  # fmt: skip
    assert [found[name].missing for name in found] == [1, 1, 1, 1, 4]
    assert found["d"].note == "2024-01-01 00:00:00 to 2024-03-01 00:00:00 (weekday)"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_tables(n):
    work = opened(pa.table({"x": [1.0, 2.0, 5.0][:n]}))
    for row in range(n):
        work.change({"labels": {row: 0}})
    assert views.state(work)["labels"]["normal"] == n
    for points in (views.map_points(work.current), views.axis_points(work.current)):
        assert points["rows"] in (list(range(n)), [])
        assert len(points["x"]) == len(points["rows"])
        assert np.isfinite(points["x"]).all()
    assert views.map_points(work.current)["rows"] == list(range(n))


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_saved_labels_load(kind):
    now = opened(arrow(two_kinds(10)[0])).current
    now.set_edits(Edits(labels={0: 1, 9: 0}, notes={9: "-5 degrees", 3: "new"}))
    text = labels_to_csv(now) if kind == "csv" else json.dumps(labels_to_json(now))
    assert parse_labels_file(text.encode(), now) == LoadedLabels(now.edits.labels, now.edits.notes)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff\xfe\x00", b"{", b"{}", b'{"labels": 3}', b"a,b\n1,2\n", b"row,label\n0,normal\n",
        b"row,label\n11,normal\n", b"row,label\n1,odd\n", b'{"labels": {"1e3": "normal"}}', b"[" * 100_000,
        b"row,label\n99999999999999999999999999,normal\n", b'{"labels": ' + b"{" * 100_000,
    ],
)  # fmt: skip
def test_wrong_label_files_are_one_line(data):
    now = opened(arrow(two_kinds(10)[0])).current
    with pytest.raises(InputError) as caught:
        parse_labels_file(data, now)
    assert "\n" not in str(caught.value)
