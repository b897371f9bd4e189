import warnings

import numpy as np
import pandas as pd
import pytest

from oddshot import FewShotDetector, Task
from oddshot.adapted.monitor import ScoringMonitor
from oddshot.adapted.ranges import SeenRanges
from oddshot.data.encoding import Encoding
from oddshot.errors import InputError


def ranges(n_rows: int = 10) -> SeenRanges:
    frame = pd.DataFrame({"a": np.linspace(0, 1, n_rows) ** 2, "b": ["x", "y"] * (n_rows // 2), "c": [5.0] * n_rows})
    encoding = Encoding.fit([frame])
    return SeenRanges.of(encoding, encoding.transform(frame))


def test_columns_of_numbers_that_vary_have_a_range() -> None:
    assert ranges().names == ("a",)
    assert ranges(4).names == ()


@pytest.mark.parametrize("n", [0, 1, 63, 64, 200])
@pytest.mark.parametrize("attributes", [[], [0, 2], [0, 1, 2]])
def test_rows_beyond_are_counted_as_one_by_one(n: int, attributes: list[int]) -> None:
    rows = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    low, high = np.array([-1, -0.5, 0], np.float32)[attributes], np.array([1, 0.2, 2], np.float32)[attributes]
    seen = SeenRanges(tuple(map(str, attributes)), np.array(attributes, np.int64), low, high)
    expected = [sum(not a <= row[j] <= b for row in rows) for j, a, b in zip(attributes, low, high, strict=True)]
    assert seen.count_beyond(rows).tolist() == expected


def test_rows_beyond_the_range_are_counted_over_blocks() -> None:
    rng = np.random.default_rng(0)
    task = FewShotDetector().fit(rng.normal(size=(30, 2)), [0] * 5 + [1] + [-1] * 24).task_
    inside, beyond = np.zeros((10, 2)), np.full((15, 2), 0.0)
    beyond[:, 0] = 100.0
    monitor = ScoringMonitor(task)
    assert monitor.notices() == []
    monitor.encode(inside, "X")
    monitor.encode(beyond, "X", 11)
    (notice,) = monitor.notices()
    assert notice.startswith("column 'x0': 15 of 25 rows to score lie beyond the rows that were labelled")
    monitor.encode(inside, "X", 26)
    assert monitor.notices() == []


def test_cells_taken_as_missing_are_counted_over_blocks() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
    monitor = ScoringMonitor(FewShotDetector().fit(frame, [0] * 5 + [1] + [-1] * 24).task_)
    monitor.encode(pd.DataFrame({"a": [0.0, np.inf, -np.inf], "b": [0.0, 0.0, 0.0]}), "X")
    monitor.encode(pd.DataFrame({"a": [0.0, -np.inf], "b": [np.inf, 0.0]}), "X", 4)
    assert monitor.notices() == [
        "row 2, column 'a': inf is infinite and taken as missing (also row 3: -inf, row 5: -inf)",
        "row 4, column 'b': inf is infinite and taken as missing",
    ]


def test_gaps_in_columns_that_had_none_are_counted_over_blocks() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "c"])
    frame["d"], frame.loc[7, "c"] = ["x", "y", "z"] * 10, None
    monitor = ScoringMonitor(FewShotDetector().fit(frame, [0] * 5 + [1] + [-1] * 24).task_)
    monitor.encode(frame.drop(index=7), "X")
    assert monitor.notices() == []
    block = pd.DataFrame({"a": [0.0, None, np.inf], "b": [0.0] * 3, "c": [None] * 3, "d": ["x", None, ""]})
    monitor.encode(block, "X", 30)
    monitor.encode(block, "X", 33)
    assert monitor.notices() == [
        "row 32, column 'a': inf is infinite and taken as missing (also row 35: inf)",
        "columns 'd' (4 of 35 rows), 'a' (2 of 35 rows) have gaps in the rows to score, but none in the rows that were "
        "learned from; a gap is scored as an average value",
    ]


@pytest.mark.parametrize("kind", ["number", "boolean", "category", "date", "text", "interval"])
def test_gaps_of_every_kind_of_column(kind: str) -> None:
    days = pd.date_range("2024-01-01", periods=30, freq="7h").strftime("%Y-%m-%d %H:%M")
    cells = {"number": np.arange(30) % 7, "boolean": [True, False] * 15, "category": ["x", "y"] * 15}
    frame = pd.DataFrame({"a": np.arange(30) ** 2 % 11, "b": cells.get(kind, days)})
    detector = FewShotDetector(columns={"b": kind}).fit(frame, [0] * 5 + [1] + [-1] * 24)
    gaps = frame.astype({"b": object})
    gaps.loc[[3, 4, 9], "b"] = None
    with pytest.warns(UserWarning, match=r"^column 'b' \(3 of 30 rows\) has gaps in the rows to score, but none in"):
        detector.score_samples(gaps)
    detector = FewShotDetector(columns={"b": kind}).fit(gaps, [0] * 5 + [1] + [-1] * 24)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detector.score_samples(gaps)


def test_gaps_of_an_array() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[3, 2] = np.nan
    detector = FewShotDetector().fit(X, [0] * 5 + [1] + [-1] * 24)
    X[[4, 5], 1] = np.nan
    with pytest.warns(UserWarning, match=r"^column 'x1' \(2 of 30 rows\) has gaps"):
        detector.score_samples(X)


def test_a_detector_warns_of_columns_that_have_moved() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.array([0] * 5 + [1] + [-1] * 24)
    detector = FewShotDetector().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detector.score_samples(rng.normal(size=(50, 3)))
    with pytest.warns(UserWarning, match=r"column 'x1': 50 of 50 rows to score lie beyond"):
        detector.score_samples(rng.normal(size=(50, 3)) + np.array([0, 100, 0]))


def test_a_row_labelled_both_ways_is_warned_of() -> None:
    X = np.random.default_rng(0).normal(size=(6, 3))
    X[5] = X[2]
    with pytest.warns(UserWarning, match=r"rows 3, 6 are the same and labelled both normal and anomalous; correct"):
        FewShotDetector().fit(X, [0, 0, 0, 0, 0, 1])


def test_columns_of_a_detector() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc")).assign(id=range(40))
    y = [0] * 5 + [1] + [-1] * 34
    with pytest.warns(UserWarning, match="left out 'id'"):
        by_default = FewShotDetector().fit(frame, y)
    chosen = FewShotDetector(columns=["a", "b", "c"]).fit(frame, y)
    np.testing.assert_array_equal(by_default.score_samples(frame), chosen.score_samples(frame))
    assert FewShotDetector(columns={"id": "number"}).fit(frame, y).encoding_.kinds["id"] == "number"
    again = FewShotDetector(columns=by_default.encoding_).fit(frame, y)
    np.testing.assert_array_equal(again.score_samples(frame), chosen.score_samples(frame))
    with pytest.raises(InputError, match="support: no column 'z'"):
        FewShotDetector(columns=["z"]).fit(frame, y)


def test_a_task_of_a_frame() -> None:
    frame = pd.DataFrame({"a": [1.0, 2, 3], "state": pd.Series(["ok", None, "bad"], dtype="string")})
    task = Task.from_frame("m1", frame, "state", anomaly_value="bad")
    assert task.y.tolist() == [0, -1, 1]
    assert task.X.column_names == ["a"]
    with pytest.raises(InputError, match="task 'm1': no column 'label'; its columns are a, state"):
        Task.from_frame("m1", frame, "label")
    with pytest.raises(InputError, match=r"task 'm1': no row has 'state' = 'BAD'.*did you mean 'bad'"):
        Task.from_frame("m1", frame, "state", anomaly_value="BAD")
    assert Task("m1", [[1], [2], [3]], pd.Series([0, None, 1], dtype="Int64")).y.tolist() == [0, -1, 1]
