"""Rows by group: which columns are groups, and figures by loops."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from oddshot.app.groups import (
    N_BINS,
    GroupColumn,
    describe_groups,
    find_group_column,
    find_group_columns,
    propose_group_column,
)
from oddshot.app.ranking import Ranking
from oddshot.app.sheet import make_sheet
from oddshot.errors import InputError
from oddshot.universal.shipped import load_universal


def columns_of(**columns):
    n = len(next(iter(columns.values())))
    frame = pd.DataFrame({"value": np.random.default_rng(0).normal(size=n), **columns})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return find_group_columns(make_sheet(table, "t", "0" * 64, load_universal()))


COLOURS = ["red", "blue", "green"] * 20


@pytest.mark.parametrize(
    ("columns", "names", "proposed"),
    [
        ({"colour": COLOURS}, ["colour"], "colour"),
        ({"colour": COLOURS, "shape": ["round", "flat"] * 30}, ["colour", "shape"], None),
        ({"colour": COLOURS, "machine": ["m1", "m2"] * 30}, ["colour", "machine"], "machine"),
        ({"machine_id": [1, 2, 3] * 20}, ["machine_id"], "machine_id"),
        ({"count": [1, 2, 3] * 20}, [], None),
        ({"comment": [f"text {k}" for k in range(60)]}, [], None),
        ({"rare": ["common"] * 58 + ["seldom"] * 2}, ["rare"], None),
    ],
)
def test_group_columns(columns, names, proposed):
    found = columns_of(**columns)
    assert [column.name for column in found] == names
    assert propose_group_column(found) == proposed


def test_an_unknown_column_is_refused():
    with pytest.raises(InputError, match="'x' does not hold 2 to 50 groups"):
        find_group_column(columns_of(colour=COLOURS), "x")


@pytest.mark.parametrize("threshold", [None, 1.5])
def test_figures_agree_with_loops(threshold):
    rng = np.random.default_rng(0)
    codes, scores = rng.integers(-1, 4, 300).astype(np.int32), rng.gamma(1.0, size=300)
    scores[::11] = np.nan
    ranking = Ranking(None, scores)
    groups = describe_groups(GroupColumn("g", ("a", "b", "c", "d"), codes), ranking, threshold)
    assert {group["name"] for group in groups} == set("abcd")
    for group in groups:
        own = [s for s, c in zip(scores, codes, strict=True) if c == "abcd".index(group["name"]) and not np.isnan(s)]
        assert group["rows"] == len(own) == sum(group["histogram"])
        assert group["median"] == pytest.approx(np.median(own))
        assert group["highest"] == max(own) == scores[group["highest_row"]]
        assert group["flagged"] == (None if threshold is None else sum(s > threshold for s in own))
        assert len(group["histogram"]) == N_BINS
        above = [s for s in own if threshold is not None and s > threshold]
        bins = {min(int(position * N_BINS), N_BINS - 1) for position in ranking.positions(np.array(above))}
        assert group["flagged_bins"] == sorted(bins)
        assert threshold is None or 0 < len(bins) < np.count_nonzero(group["histogram"])
    shares = [(group["flagged"] or 0) / group["rows"] for group in groups]
    assert shares == sorted(shares, reverse=True)
    assert sum(np.array([group["histogram"] for group in groups])[:, -1]) >= 1  # the highest score of all


def test_a_group_without_scored_rows_is_left_out():
    scores = np.array([1.0, 2.0, np.nan])
    column = GroupColumn("g", ("a", "b"), np.array([0, 0, 1], np.int32))
    assert [group["name"] for group in describe_groups(column, Ranking(None, scores), None)] == ["a"]
