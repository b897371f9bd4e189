"""Which rows a cell takes: nested, never given and tested at once, copied where they are to be."""

import itertools

import numpy as np
import pytest

from oddshot.bench.decisions.grid import DecisionCell, all_cells, every_nth
from oddshot.bench.decisions.rows import draw_table, take_rows, takes_part, unlabelled_anomalies
from oddshot.errors import InputError
from tests.bench.decisions.samples import gaussian_table, numbered_table

TABLE = numbered_table()
DRAWN = draw_table(TABLE, 0)


def cell(normal=5, anomalies=1, unlabelled=0, contamination=0, copies="as-is"):
    return DecisionCell(normal, anomalies, unlabelled, contamination, copies)


def test_the_grid_has_every_combination():
    cells = all_cells()
    assert len(cells) == len(set(cells)) == 8 * 9 * 11 * 3
    assert {c.contamination for c in cells if not c.unlabelled} == {0}
    assert {c.copies for c in all_cells("twice, near")} == {"twice", "near"}
    with pytest.raises(InputError, match="--copies thrice"):
        all_cells("thrice")


def test_every_nth_cell_is_spread_over_the_grid():
    chosen = every_nth(all_cells(), 33)
    assert len(chosen) == 72
    assert chosen == every_nth(all_cells(), 33)
    assert len({c.unlabelled for c in chosen}) == 6
    assert every_nth(all_cells(), 1) == all_cells()


def test_test_rows_are_never_given_to_fit_and_labels_are_true():
    for chosen in all_cells("as-is"):
        check_rows(chosen)


def check_rows(chosen):
    rows = take_rows(chosen, DRAWN)
    given, tested = rows.X[:, 0], np.concatenate([rows.normal, rows.anomaly])[:, 0]
    assert len(set(given)) == len(given) == chosen.normal + chosen.anomalies + chosen.unlabelled
    assert not set(given) & set(tested)
    assert len(set(tested)) == len(tested) == 400
    assert not rows.normal[:, 1].any()
    assert rows.anomaly[:, 1].all()
    labelled = rows.labels >= 0
    np.testing.assert_array_equal(rows.labels[labelled], rows.X[labelled, 1])
    assert [(rows.labels == label).sum() for label in (0, 1, -1)] == [
        *(chosen.normal, chosen.anomalies, chosen.unlabelled)
    ]
    if chosen.unlabelled > 3:
        assert rows.X[~labelled, 1].sum() == round(chosen.unlabelled * chosen.contamination / 100)


def test_cells_are_nested():
    """The same rows are labelled first, and the same are tested, in every cell."""
    for smaller, larger in itertools.pairwise(((2, 0), (3, 1), (5, 8), (20, 40), (300, 100))):
        few, many = (take_rows(cell(*counts), DRAWN) for counts in (smaller, larger))
        for label in (0, 1):
            own = few.X[few.labels == label, 0]
            np.testing.assert_array_equal(own, many.X[many.labels == label, 0][: len(own)])
        np.testing.assert_array_equal(few.normal, many.normal)
        np.testing.assert_array_equal(few.anomaly, many.anomaly)
    assert not np.array_equal(few.X, take_rows(cell(20, 40), draw_table(TABLE, 1)).X)


def test_one_to_three_unlabelled_rows_are_anomalies_one_time_in_ten():
    counts = np.array(
        [[unlabelled_anomalies(cell(5, 1, n, 10), draw_table(TABLE, k)) for n in (1, 3)] for k in range(400)]
    )
    assert counts[:, 0].mean() == pytest.approx(0.1, abs=0.04)
    assert counts[:, 1].mean() == pytest.approx(0.3, abs=0.08)
    assert (counts[:, 0] <= counts[:, 1]).all()
    assert unlabelled_anomalies(cell(5, 1, 3, 0), DRAWN) == 0
    k = int(np.argmax(counts[:, 1] > 0))
    rows = take_rows(cell(5, 1, 3, 10), draw_table(TABLE, k))
    assert rows.X[rows.labels == -1, 1].sum() == counts[k, 1]


def test_a_table_takes_part_where_enough_test_rows_are_left():
    drawn = draw_table(numbered_table(60, 10), 0)
    assert takes_part(cell(20, 4, 10, 10), drawn)
    assert not takes_part(cell(20, 4, 80, 0), drawn)
    assert not takes_part(cell(2, 8), drawn)
    assert takes_part(cell(5, 4, 1, 10), drawn)
    assert not takes_part(cell(5, 4, 3, 10), drawn)  # all three could be anomalies in another draw
    for chosen in all_cells():
        if takes_part(chosen, drawn):
            rows = take_rows(chosen, drawn)
            assert len(rows.normal) >= 30
            assert len(rows.anomaly) >= 5


def test_every_row_is_given_twice_with_the_same_label():
    once, twice = (take_rows(cell(5, 2, 10, 10, copies), DRAWN) for copies in ("as-is", "twice"))
    np.testing.assert_array_equal(twice.X, np.concatenate([once.X, once.X]))
    np.testing.assert_array_equal(twice.labels, np.concatenate([once.labels, once.labels]))
    np.testing.assert_array_equal(twice.normal, once.normal)


def test_near_copies_differ_by_a_millionth_of_a_standard_deviation():
    table = gaussian_table("scaled/0", 700, 150)
    table.X[:] = table.X * [1, 1000, 0] + 5
    drawn = draw_table(table, 0)
    rows = take_rows(cell(300, 20, 80, 10, "near"), drawn)
    n = len(rows.X) // 2
    noise = rows.X[n:] - rows.X[:n]
    np.testing.assert_allclose(noise.std(0), 1e-6 * table.X.std(0), rtol=0.15, atol=1e-15)
    np.testing.assert_array_equal(rows.labels[:n], rows.labels[n:])
    assert (noise[:, 0] != 0).all()
    few = take_rows(cell(2, 1, 0, 0, "near"), drawn)
    np.testing.assert_array_equal(few.X[3:5], rows.X[n : n + 2])  # the same copies in every cell
