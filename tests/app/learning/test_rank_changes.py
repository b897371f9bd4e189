"""What a label has changed, by a plain comparison of two lists."""

import numpy as np
import pytest

from oddshot.app.learning.rank_changes import N_MOVED_ROWS, describe_change
from oddshot.app.ranking import Ranking

NONE = np.array([], np.int64)


def ranking(scores):
    return Ranking(None, np.array(scores, np.float64))


def test_the_rows_that_moved_most_and_what_is_flagged():
    before, after = ranking([9, 8, 7, 6, 5, 4]), ranking([9, 3, 7, 6, 5, 10])
    change = describe_change((before, 7.5), (after, 6.5), NONE)
    assert change["rose"][0] == {"row": 5, "before": 6, "after": 1}
    assert change["fell"][0] == {"row": 1, "before": 2, "after": 6}
    assert change["flagged"] == {"now": 3, "added": 2, "removed": 1}
    assert change["compared"] == 6


def test_a_move_at_the_top_counts_more_than_one_at_the_end():
    n = 1000
    before, after = np.arange(n, 0.0, -1), np.arange(n, 0.0, -1)
    after[20] = n + 0.5  # from rank 21 to 1
    after[900] = before[600] + 0.5  # from rank 901 to 602
    change = describe_change((ranking(before), None), (ranking(after), None), NONE)
    assert [row["row"] for row in change["rose"]] == [20, 900]
    assert change["flagged"] is None


def test_labelled_rows_and_rows_without_both_scores_are_not_named():
    before, after = ranking([1, 2, 3, 4, np.nan]), ranking([4, 3, 2, np.nan, 9])
    change = describe_change((before, None), (after, 2.5), np.array([0]))
    assert change["compared"] == 3
    assert 0 not in [row["row"] for row in (*change["rose"], *change["fell"])]
    assert change["flagged"] == {"now": 2, "added": None, "removed": None}


def test_nothing_is_named_where_nothing_moved():
    change = describe_change((ranking([3, 2, 1]), 1.5), (ranking([30, 20, 10]), 15), NONE)
    assert change == {"compared": 3, "rose": [], "fell": [], "flagged": {"now": 2, "added": 0, "removed": 0}}


@pytest.mark.parametrize("seed", range(5))
def test_ranks_agree_with_sorting_by_hand(seed):
    rng = np.random.default_rng(seed)
    scores = [rng.integers(0, 20, 40).astype(float) for _ in range(2)]  # with ties
    orders = [sorted(range(40), key=lambda row, s=s: (-s[row], row)) for s in scores]
    change = describe_change((ranking(scores[0]), None), (ranking(scores[1]), None), NONE)
    assert 0 < len(change["rose"]) <= N_MOVED_ROWS
    for row in (*change["rose"], *change["fell"]):
        assert [order.index(row["row"]) + 1 for order in orders] == [row["before"], row["after"]]
    ratio = [np.log((orders[0].index(row) + 1) / (orders[1].index(row) + 1)) for row in range(40)]
    assert change["rose"][0]["row"] == int(np.argmax(ratio))
    assert change["fell"][0]["row"] in np.flatnonzero(np.isclose(ratio, min(ratio)))
