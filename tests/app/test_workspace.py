import numpy as np
import pyarrow as pa
import pytest

from oddshot import FewShotDetector
from oddshot.app import views, workspace
from oddshot.app.example import example_sheet
from oddshot.app.labels import Labels, parse_labels_file
from oddshot.app.sheet import describe_columns, make_sheet
from oddshot.app.workspace import Workspace
from oddshot.errors import InputError
from oddshot.storage.model_file import from_bytes, to_bytes
from oddshot.universal.shipped import load_universal
from tests.app.samples import two_kinds


def opened(table, folder=None, **settings):
    work = Workspace(load_universal(), folder)
    work.open(lambda: make_sheet(table, "t", "0" * 64, work.model, **settings))
    return work


def arrow(X):
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})


def test_before_the_first_normal_label_rows_are_ranked_by_distance_to_the_median():
    X, _ = two_kinds()
    now = opened(arrow(X)).current
    rows = now.sheet.rows
    expected = ((rows - np.median(rows[now.sample], axis=0)) ** 2).mean(axis=1)
    np.testing.assert_allclose(now.ranking.by_row, expected, rtol=1e-5)
    assert now.decided is None
    assert now.suggestion == expected.argmin()
    assert "distance to the median row" in now.ranking.scorer.notice
    np.testing.assert_allclose(now.ranking.scorer.explain(np.arange(9)).added.sum(axis=1), expected[:9], rtol=1e-5)


def test_scores_are_those_of_a_detector_with_the_same_labels():
    X, y = two_kinds()
    work = opened(arrow(X))
    chosen = [*np.flatnonzero(y == 0)[:5], np.flatnonzero(y == 1)[0]]
    for row in chosen:
        work.change(lambda labels, row=row: labels.set(int(row), int(y[row])))
    now = work.current
    rows = np.concatenate([now.labels.rows, np.setdiff1d(now.sample, now.labels.rows)])
    given = np.concatenate([now.labels.values, np.full(len(rows) - 6, -1)])
    model = from_bytes(to_bytes(now.sheet.model))  # with the encoding of the whole table
    detector = FewShotDetector(model).fit(arrow(X[rows]), given)
    np.testing.assert_allclose(now.ranking.by_row, detector.score_samples(arrow(X)), rtol=1e-5)
    assert now.decided == pytest.approx(detector.threshold_)
    assert (np.diff(now.ranking.falling) <= 0).all()


def test_the_encoding_does_not_change_with_labels():
    X, y = two_kinds()
    work = opened(arrow(X))
    before = work.current.sheet
    for row in range(4):
        work.change(lambda labels, row=row: labels.set(row, int(y[row])))
    assert work.current.sheet is before
    assert work.current.ranking.scorer.detector.encoding_ == before.encoding


def test_eight_labels_in_the_example_find_the_foreign_wines():
    work = Workspace(load_universal(), None)
    work.open(lambda: example_sheet(work.model))
    now = work.current
    start = now.auc()
    for _ in range(8):
        row = now.suggestion
        work.change(lambda labels, row=row: labels.set(row, int(now.sheet.truth[row])))
    assert start < 0.8
    assert now.auc() > 0.98


def test_suggestions_are_not_labelled_and_end_when_all_are():
    X, _ = two_kinds(6)
    work = opened(arrow(X))
    for _ in range(6):
        row = work.current.suggestion
        assert work.current.labels.get(row) is None
        work.change(lambda labels, row=row: labels.set(row, 0))
    assert work.current.suggestion is None


def test_large_tables_are_ranked_in_part_at_once_and_then_whole(monkeypatch):
    monkeypatch.setattr(workspace, "QUICK_ROWS", 200)
    monkeypatch.setattr(workspace, "BLOCK_ROWS", 64)
    monkeypatch.setattr(workspace, "MAP_ROWS", 80)
    X, _ = two_kinds(1000)
    work = opened(arrow(X))
    work.wait()
    assert work.current.ranking.is_complete
    turn = work.turn
    with work.lock:  # the background thread cannot show its ranking
        work.change(lambda labels: labels.set(0, 0))
        work.change(lambda labels: labels.set(1, 0))
        assert 190 < len(work.current.ranking.order) < 210
        assert work.stage == "scoring"
        partial = work.current.ranking
        assert len(views.map_points(work.current)["rows"]) >= 80
    work.wait()
    assert work.current.ranking.is_complete
    assert work.stage == ""
    assert work.turn > turn
    known = partial.order
    np.testing.assert_allclose(partial.by_row[known], work.current.ranking.by_row[known], rtol=1e-4)


def test_a_threshold_keeps_its_share_of_the_rows_when_labels_come():
    X, y = two_kinds()
    work = opened(arrow(X))
    for row in range(5):
        work.change(lambda labels, row=row: labels.set(row, int(y[row])))
    ranking = work.current.ranking
    work.set_threshold(float(ranking.falling[29:31].mean()))
    assert views.threshold_state(work.current)["above"] == 30
    work.change(lambda labels: labels.set(9, int(y[9])))
    assert views.threshold_state(work.current)["above"] == 30
    work.set_threshold(None)
    assert work.current.decided == work.current.ranking.scorer.threshold


def test_places_are_those_of_the_order_also_with_ties():
    now = opened(pa.table({"x": [1.0, 2.0, 1.0, 9.0, 2.0, 2.0, 1.0]})).current
    assert [now.ranking.place(row) for row in now.ranking.order.tolist()] == list(range(7))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_threshold_for_a_share(share):
    ranking = opened(arrow(two_kinds()[0])).current.ranking
    assert ranking.above(ranking.threshold_for(share)) == round(share * 300)


def test_left_out_columns_do_not_count():
    X, _ = two_kinds()
    first = opened(arrow(X)).current.ranking.by_row
    X[:, 4] *= 1000
    X[7, 4] = 1e6
    left = opened(arrow(X), left_out=("x4",)).current
    assert [column.kind for column in describe_columns(left.sheet)] == ["number"] * 4 + ["not used"]
    assert not np.allclose(first, left.ranking.by_row)
    with pytest.raises(InputError, match="every column is left out"):
        opened(arrow(X), left_out=[f"x{j}" for j in range(5)])


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
    assert found["d"].note == "2024-01-01 00:00:00 to 2024-03-01 00:00:00"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_tables(n):
    work = opened(pa.table({"x": [1.0, 2.0, 5.0][:n]}))
    for row in range(n):
        work.change(lambda labels, row=row: labels.set(row, 0))
    assert views.state(work)["labels"]["normal"] == n
    views.map_points(work.current)  # that these can be drawn at all
    views.axis_points(work.current)


def test_labels_survive_in_their_file(tmp_path):
    X, _ = two_kinds()
    work = opened(arrow(X), tmp_path)
    work.change(lambda labels: labels.set(3, 1))
    work.change(lambda labels: labels.set(4, 0))
    assert opened(arrow(X), tmp_path).current.labels.to_json() == {"4": "anomaly", "5": "normal"}
    (tmp_path / f"{'0' * 64}.json").write_text("{")
    assert len(opened(arrow(X), tmp_path).current.labels) == 0


def test_labels_that_cannot_be_kept_do_not_stop_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    work = opened(arrow(two_kinds()[0]), tmp_path / "file")
    work.change(lambda labels: labels.set(3, 1))
    assert len(work.current.labels) == 1
    assert "Labels are not kept" in views.state(work)["notice"]


def test_undo_takes_back_one_change_at_a_time():
    labels = Labels(10)
    labels.set(1, 0)
    labels.set(1, 1)
    labels.replace({2: 0, 3: 1})
    assert labels.to_json() == {"3": "normal", "4": "anomaly"}
    labels.undo()
    assert labels.to_json() == {"2": "anomaly"}
    labels.undo()
    assert labels.to_json() == {"2": "normal"}
    labels.undo()
    assert len(labels) == 0
    with pytest.raises(InputError, match="nothing to undo"):
        labels.undo()


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_saved_labels_load(kind):
    labels = Labels(10, {0: 1, 9: 0})
    text = labels.to_csv() if kind == "csv" else f'{{"labels": {labels.to_json()}}}'.replace("'", '"')
    assert parse_labels_file(text.encode(), 10) == {0: 1, 9: 0}


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff\xfe\x00", b"{", b"{}", b'{"labels": 3}', b"a,b\n1,2\n", b"row,label\n0,normal\n",
        b"row,label\n11,normal\n", b"row,label\n1,odd\n", b'{"labels": {"1e3": "normal"}}', b"[" * 100_000,
        b"row,label\n99999999999999999999999999,normal\n", b'{"labels": ' + b"{" * 100_000,
    ],
)  # fmt: skip
def test_wrong_label_files_are_one_line(data):
    with pytest.raises(InputError) as caught:
        parse_labels_file(data, 10)
    assert "\n" not in str(caught.value)
