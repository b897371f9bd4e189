"""Scores over time: which columns are time, bins by loops, and the beginning of a fault."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from oddshot.app.ranking import Ranking
from oddshot.app.sheet import make_sheet
from oddshot.app.timeline import (
    MAX_CHANCE_RUNS,
    TimeAxis,
    describe_beginning,
    describe_timeline,
    find_axis,
    find_runs,
    find_time_axes,
)
from oddshot.errors import InputError
from oddshot.universal.shipped import load_universal


def sheet_of(**columns):
    n = len(next(iter(columns.values())))
    value = np.random.default_rng(0).normal(size=n)
    frame = pd.DataFrame({"value": value, **columns})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that are left out
        return make_sheet(pa.Table.from_pandas(frame, preserve_index=False), "t", "0" * 64, load_universal())


DAYS = pd.date_range("2024-01-01", periods=60, freq="D")
SECONDS = np.array([day.timestamp() for day in DAYS]).astype(np.int64)


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"when": DAYS}, ["when"]),
        ({"when": pd.date_range("2024-01-01", periods=60, freq="min")}, ["when"]),  # a clock, not used
        ({"when": [str(day) for day in DAYS]}, ["when"]),
        ({"when": [f"{day:%d.%m.%Y}" for day in DAYS]}, ["when"]),
        ({"timestamp": SECONDS}, ["timestamp"]),
        ({"timestamp": np.arange(60) + SECONDS[0]}, ["timestamp"]),
        ({"cycle": np.arange(60), "when": DAYS}, ["when", "cycle"]),
        ({"same": ["2024-01-01"] * 60}, []),
        ({"colour": ["red", "blue"] * 30}, []),
        ({"clock": [f"{k % 24:02d}:30:00" for k in range(60)]}, []),
    ],
)
def test_time_columns_are_found(columns, names):
    sheet = sheet_of(**columns)
    assert [axis.name for axis in find_time_axes(sheet)] == names


def test_dates_are_seconds_since_1970():
    axis = find_axis(find_time_axes(sheet_of(when=[f"{day:%d.%m.%Y}" for day in DAYS])), "when")
    np.testing.assert_array_equal(axis.values, SECONDS)
    (clock,) = find_time_axes(sheet_of(timestamp=np.arange(60) + SECONDS[0]))
    assert clock.kind == "date"
    assert clock.values[0] == SECONDS[0]


def test_an_unknown_column_is_refused():
    axes = find_time_axes(sheet_of(when=DAYS))
    assert find_axis(axes, None).name == "when"
    with pytest.raises(InputError, match="no time column 'x'"):
        find_axis(axes, "x")
    with pytest.raises(InputError, match="no time column"):
        find_axis([], None)


def naive_bins(times, scores, threshold, n_bins, first, last):
    bins = {}
    for row, (time, score) in enumerate(zip(times, scores, strict=True)):
        if np.isnan(time) or np.isnan(score) or not first <= time <= last:
            continue
        k = min(int((time - first) / (last - first) * n_bins), n_bins - 1)
        bins.setdefault(k, []).append((score, row))
    return {
        k: (max(score for score, _ in rows), len([1 for score, _ in rows if score > threshold]))
        for k, rows in sorted(bins.items())
    }


@pytest.mark.parametrize("n_bins", [1, 7, 500])
@pytest.mark.parametrize("span", [None, (20.0, 61.0)])
def test_bins_agree_with_loops(n_bins, span):
    rng = np.random.default_rng(0)
    times, scores = rng.permutation(200).astype(float), rng.gamma(1.0, size=200)
    times[::17], scores[::13] = np.nan, np.nan
    axis, ranking = TimeAxis("t", "number", times), Ranking(None, scores)
    found = describe_timeline(axis, ranking, 1.5, n_bins, span)
    first, last = span or (np.nanmin(times), np.nanmax(times))
    expected = naive_bins(times, scores, 1.5, n_bins, first, last)
    assert found["x"] == pytest.approx([(k + 0.5) / n_bins for k in expected], abs=1e-5)
    np.testing.assert_array_equal(scores[found["row"]], [score for score, _ in expected.values()])
    assert found["flagged"] == [n for _, n in expected.values()]
    assert found["rows_in_span"] == sum(
        first <= t <= last and not np.isnan(s) for t, s in zip(times, scores, strict=True)
    )
    assert found["time"] == times[found["row"]].tolist()


def test_a_span_without_rows_is_empty():
    axis, ranking = TimeAxis("t", "number", np.arange(10.0)), Ranking(None, np.arange(10.0))
    found = describe_timeline(axis, ranking, 5.0, 10, (3.2, 3.4))
    assert found["x"] == found["row"] == found["flagged"] == []


def run_of(flags, times=None):
    times = np.arange(len(flags), dtype=float) if times is None else times
    ranking = Ranking(None, np.array(flags, float))
    return describe_beginning(TimeAxis("t", "number", times), ranking, 0.5)


def naive_runs(flags):
    """Row by row: the sum of each run, its highest value and where that is."""
    n, share = len(flags), np.mean(flags)
    runs, total, begin, peak = [], 0.0, 0, (0.0, 0)
    for row, flag in enumerate(flags):
        total += np.log((1 + share) / (2 * share)) if flag else np.log(0.5)
        if total <= 0:
            if peak[0] >= np.log(n / MAX_CHANCE_RUNS):
                runs.append((begin, peak[1]))
            total, begin, peak = 0.0, row + 1, (0.0, row + 1)
        elif total > peak[0]:
            peak = total, row + 1
    return [*runs, (begin, peak[1])] if peak[0] >= np.log(n / MAX_CHANCE_RUNS) else runs


@pytest.mark.parametrize("seed", range(20))
def test_runs_agree_with_loops(seed):
    rng = np.random.default_rng(seed)
    rate = np.where(np.arange(500) % 100 < 15, 0.7, 0.03)
    flags = rng.random(500) < rate
    found = find_runs(flags)
    assert list(zip(*(part.tolist() for part in found), strict=True)) == naive_runs(flags)
    assert len(found[0]) > 0


def test_the_first_run_that_is_no_chance():
    flags = np.zeros(400)
    flags[[10, 50]] = 1  # false alarms
    flags[120:150] = 1
    flags[[125, 130, 131]] = 0  # some are missed
    flags[300:310] = 1
    found = run_of(flags)
    assert found["flagged"] == 39
    assert found["run"] == {"row": 120, "begin": 120.0, "end": 149.0, "rows": 30, "flagged": 27, "after": 1}


def test_time_decides_and_not_the_order_of_the_table():
    flags = np.zeros(200)
    flags[150:180] = 1
    order = np.random.default_rng(0).permutation(200)
    found = run_of(flags[order], times=order.astype(float))
    assert found["run"]["begin"] == 150
    assert order[found["run"]["row"]] == 150


def test_single_flagged_rows_are_no_beginning():
    flags = np.zeros(200)
    flags[::20] = 1
    assert run_of(flags) == {"flagged": 10, "run": None}
    assert run_of(np.zeros(200)) == {"flagged": 0, "run": None}
    assert run_of(np.ones(200)) == {"flagged": 200, "run": None}
    assert run_of(np.array([])) == {"flagged": 0, "run": None}
    assert run_of(np.eye(1, 50)[0]) == {"flagged": 1, "run": None}


@pytest.mark.parametrize(("n", "share"), [(100, 0.05), (1000, 0.05), (5000, 0.3), (500, 0.004), (300, 0.7)])
def test_such_a_run_is_rare_by_chance(n, share):
    rng = np.random.default_rng(0)
    n_with_runs = sum(len(find_runs(rng.random(n) < share)[0]) > 0 for _ in range(400))
    assert n_with_runs / 400 < 0.08
