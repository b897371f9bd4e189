"""Which rows to label next, against a loop, and with rows made by hand."""

import numpy as np
import pytest

from oddshot.adapted import suggestion as module
from oddshot.adapted.suggestion import suggest_rows


def naive_suggestions(rows, p, labelled, n):
    known, chosen = [row.astype(np.float64) for row in labelled], []
    for _ in range(min(n, len(rows))):
        worth = {
            i: p[i] * (1 - p[i]) * min(np.sqrt(np.mean((rows[i] - other) ** 2)) for other in known) ** 0.5
            for i in range(len(rows))
            if i not in chosen
        }
        chosen.append(max(worth, key=worth.get))
        known.append(rows[chosen[-1]])
    return chosen


@pytest.mark.parametrize("n", [1, 6, 20, 30])
@pytest.mark.parametrize("seed", range(5))
def test_suggestions_are_those_of_a_loop(seed, n):
    rng = np.random.default_rng(seed)
    rows, labelled = rng.normal(size=(20, 3)).astype(np.float32), rng.normal(size=(4, 3)).astype(np.float32)
    p = rng.random(20)
    assert suggest_rows(rows, p, labelled, n).tolist() == naive_suggestions(rows, p, labelled, n)


def on_a_line(*values):
    return np.array(values, dtype=np.float32)[:, None]


def test_among_equally_far_rows_the_most_uncertain_comes_first():
    rows, p = on_a_line(-1, 1, -1, 1), np.array([0.1, 0.45, 0.95, 0.7])
    assert suggest_rows(rows, p, on_a_line(0), 1).tolist() == [1]


def test_among_equally_uncertain_rows_the_farthest_comes_first_and_then_the_farthest_from_it_too():
    rows, p = on_a_line(1, 9, 10, 5), np.full(4, 0.5)
    assert suggest_rows(rows, p, on_a_line(0), 4).tolist() == [2, 3, 0, 1]


def test_the_root_of_the_distance_counts():
    """0.25 √4 = 0.5 against 0.1 · √16 = 0.4; the distances themselves would say otherwise."""
    p = (1 - np.sqrt(1 - 4 * np.array([0.25, 0.1]))) / 2
    assert suggest_rows(on_a_line(4, 16), p, on_a_line(0), 2).tolist() == [0, 1]


def test_copies_of_labelled_or_chosen_rows_come_last_even_where_others_are_certain():
    rows, p = on_a_line(0, 7, 7, 3), np.array([0.5, 0.5, 0.5, 1e-6])
    assert suggest_rows(rows, p, on_a_line(0), 4).tolist()[:2] == [1, 3]
    certain = np.array([0.0, 0.0, 1.0, 1.0])
    assert sorted(suggest_rows(rows, certain, on_a_line(0), 4).tolist()) == [0, 1, 2, 3]


def test_only_the_most_uncertain_rows_are_candidates(monkeypatch):
    monkeypatch.setattr(module, "MAX_CANDIDATES", 2)
    rows, p = on_a_line(1, 100, 2, 50), np.array([0.5, 0.4, 0.45, 0.3])
    assert suggest_rows(rows, p, on_a_line(0), 2).tolist() == [2, 0]
    assert sorted(suggest_rows(rows, p, on_a_line(0), 3).tolist()) == [0, 1, 2]  # never fewer than asked for


def test_five_thousand_candidates():
    rows, p = on_a_line(*range(6000)), np.where(np.arange(6000) == 5999, 0.4, 0.5)
    assert suggest_rows(rows, p, on_a_line(0), 1).tolist() == [4999]
