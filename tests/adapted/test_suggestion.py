"""Which rows to label next, against a loop, and with rows made by hand."""

import numpy as np
import pytest

from oddshot.adapted import suggestion as module
from oddshot.adapted.suggestion import suggest_rows


def naive_suggestions(rows, scores, p, n):
    chosen = [max(range(len(rows)), key=lambda i: scores[i])]
    while len(chosen) < min(n, len(rows)):
        worth = {
            i: p[i] * min(np.sqrt(np.mean((rows[i].astype(float) - rows[j]) ** 2)) for j in chosen) ** 0.5
            for i in range(len(rows))
            if i not in chosen
        }
        chosen.append(max(worth, key=worth.get))
    return chosen


@pytest.mark.parametrize("n", [1, 6, 20, 30])
@pytest.mark.parametrize("seed", range(5))
def test_suggestions_are_those_of_a_loop(seed, n):
    rng = np.random.default_rng(seed)
    rows, scores = rng.normal(size=(20, 3)).astype(np.float32), rng.normal(size=20)
    p = 1 / (1 + np.exp(-scores))
    assert suggest_rows(rows, scores, p, n).tolist() == naive_suggestions(rows, scores, p, n)


def on_a_line(*values):
    return np.array(values, dtype=np.float32)[:, None]


def test_the_highest_ranked_row_comes_first_even_where_probabilities_are_equal():
    assert suggest_rows(on_a_line(0, 1, 2), np.array([5.0, 7.0, 6.0]), np.ones(3), 1).tolist() == [1]


def test_among_equally_probable_rows_the_farthest_from_those_chosen_comes_next():
    rows, scores = on_a_line(0, 1, 10, 5), np.array([4.0, 3.0, 2.0, 1.0])
    assert suggest_rows(rows, scores, np.full(4, 0.5), 4).tolist() == [0, 2, 3, 1]


def test_the_root_of_the_distance_counts():
    """0.6 √1 against 0.2 √16; the distances themselves would say otherwise with 0.1."""
    rows, scores = on_a_line(0, 1, 16), np.array([9.0, 2.0, 1.0])
    assert suggest_rows(rows, scores, np.array([0.9, 0.6, 0.2]), 2).tolist() == [0, 2]
    assert suggest_rows(rows, scores, np.array([0.9, 0.6, 0.1]), 2).tolist() == [0, 1]


def test_copies_of_chosen_rows_come_last():
    rows, scores = on_a_line(7, 7, 7, 3), np.array([4.0, 3.0, 2.0, 1.0])
    assert suggest_rows(rows, scores, np.array([0.9, 0.9, 0.9, 1e-6]), 4).tolist() == [0, 3, 1, 2]


def test_only_the_highest_ranked_rows_are_candidates(monkeypatch):
    monkeypatch.setattr(module, "MAX_CANDIDATES", 2)
    rows, scores = on_a_line(1, 100, 2, 50), np.array([4.0, 1.0, 3.0, 2.0])
    p = np.full(4, 0.5)
    assert suggest_rows(rows, scores, p, 2).tolist() == [0, 2]
    assert sorted(suggest_rows(rows, scores, p, 3).tolist()) == [0, 2, 3]  # never fewer than asked for


def test_five_thousand_candidates():
    scores = np.arange(6000.0)
    chosen = suggest_rows(on_a_line(*range(6000)), scores, np.full(6000, 0.5), 2)
    assert chosen.tolist() == [5999, 1000]
