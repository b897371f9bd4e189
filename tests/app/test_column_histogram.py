"""Histograms of columns, compared with counts in plain Python."""

from collections import Counter
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from oddshot.app.column_histogram import MAX_CATEGORIES, MAX_DATE_BARS, N_BINS, OTHER_VALUES, make_histogram
from oddshot.app.column_values import read_column
from oddshot.data.encoding import Encoding

NONE = np.empty(0, np.int64)


def histogram(cells, rows=NONE, labels=(), row=None):
    table = pa.table({"x": cells, "y": np.random.default_rng(0).normal(size=len(cells))})
    return make_histogram(
        read_column(table, "x", Encoding.fit([table])), np.asarray(rows), np.array(labels, np.int8), row
    )


def test_numbers_in_bins_of_equal_width():
    values = np.random.default_rng(1).normal(size=500)
    cells = [*values.tolist(), None, float("nan")]
    found = histogram(cells, [3, 4, 500], [0, 1, 1], row=7)
    counts, edges = np.histogram(values, N_BINS)
    assert found["counts"] == counts.tolist()
    np.testing.assert_allclose(found["edges"], edges)
    assert found["missing"] == 2
    bins = np.clip(np.digitize(values, edges) - 1, 0, N_BINS - 1)
    assert found["row_bar"] == bins[7]
    assert np.flatnonzero(found["normal"]).tolist() == [bins[3]]
    assert np.flatnonzero(found["anomaly"]).tolist() == [bins[4]]  # row 500 has no value, so no bar
    assert found["bars"][0] == f"{edges[0]:.4g} to {edges[1]:.4g}"


def test_a_few_integers_have_a_bar_each():
    cells = np.random.default_rng(2).integers(-2, 5, 200)
    found = histogram(cells)
    counts = Counter(cells.tolist())
    assert dict(zip(map(int, found["bars"]), found["counts"], strict=True)) == {k: counts[k] for k in range(-2, 5)}
    assert found["edges"][:2] == (-2.5, -1.5)


def test_one_value_only():
    assert histogram([4.0] * 30)["counts"] == [30]
    assert sum(histogram([4.5] * 30)["counts"]) == 30


def test_numbers_written_by_people():
    found = histogram([f"{1000 + 37 * j:,}" for j in np.random.default_rng(3).permutation(50)])
    assert found["kind"] == "number"
    assert (found["edges"][0], found["edges"][-1]) == (1000.0, 1000.0 + 37 * 49)


def test_the_most_frequent_categories_have_a_bar_each():
    cells = ["often"] * 30 + ["Seldom"] * 10 + [f"c{j:02}" for j in range(40)] * 2 + [None]
    found = histogram(cells, [0, 30, 41], [0, 1, 1], row=119)
    assert found["bars"][:2] == ("often", "Seldom")
    assert found["counts"][:3] == [30, 10, 2]
    assert found["bars"][-1] == OTHER_VALUES
    assert len(found["bars"]) == MAX_CATEGORIES + 1
    assert sum(found["counts"]) == len(cells) - 1 == 120
    assert found["row_bar"] == MAX_CATEGORIES
    assert found["normal"][0] == 1
    assert found["anomaly"][1] == 1
    assert found["missing"] == 1


def test_booleans():
    found = histogram([True, False, True, None] * 5)
    assert dict(zip(found["bars"], found["counts"], strict=True)) == {"true": 10, "false": 5}


@pytest.mark.parametrize(
    ("step", "first_bar", "name"),
    [
        (timedelta(seconds=20), "2024-02-27 15:30", "%Y-%m-%d %H:%M"),
        (timedelta(hours=5), "2024-02-27", "%Y-%m-%d"),
        (timedelta(days=9), "2024-02", "%Y-%m"),
        (timedelta(days=400), "2024", "%Y"),
    ],
)
def test_dates_in_units_of_the_calendar(step, first_bar, name):
    start = datetime(2024, 2, 27, 15, 30)
    cells = [start + int(k) * step for k in np.random.default_rng(0).permutation(24 if step.days > 300 else 150)]
    found = histogram(cells)
    assert found["kind"] == "date"
    assert found["bars"][0] == first_bar
    counts = Counter(moment.strftime(name) for moment in cells)
    named = dict(zip(found["bars"], found["counts"], strict=True))
    assert {bar: n for bar, n in named.items() if n} == counts
    assert len(found["bars"]) <= MAX_DATE_BARS


def test_weeks_begin_on_monday():
    cells = [datetime(2024, 1, 3) + timedelta(days=int(k)) for k in np.random.default_rng(0).permutation(100)]
    assert histogram(cells)["bars"][:2] == ("2024-01-01", "2024-01-08")
    assert not histogram(cells)["has_times"]
    assert histogram([*cells, datetime(2024, 1, 3, 12)])["has_times"]


def test_times_of_day_have_no_date():
    cells = [f"{k % 24:02}:{k % 60:02}" for k in range(0, 700, 7)]
    assert histogram(cells)["bars"][:2] == ("00:00", "01:00")


def test_a_column_without_values():
    found = histogram(pa.nulls(5, pa.float64()), row=1)
    assert found["bars"] == ()
    assert (found["missing"], found["row_bar"]) == (5, None)
