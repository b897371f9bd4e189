"""Rows that are equal, or equal but for rounding, count once; where equal rows are natural, all of them do."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot import FewShotDetector
from oddshot.adapted.copies import are_expected, differ_by_rounding, find_groups, find_originals, without_copies
from oddshot.data.task import ANOMALY, NORMAL, UNLABELLED

Y = np.array([NORMAL] * 5 + [ANOMALY] * 2, np.int8)


def rows_of(seed, n, width=3):
    return np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)


def sizes(distinct):
    return [len(part) for part in distinct[:3]]


def naive_groups(rows):
    """Rows are in one group if no column differs by more than a thousandth."""
    found = []
    for i, row in enumerate(rows):
        equal = [found[j] for j in range(i) if np.abs(rows[j] - row).max() <= 1e-3]
        found.append(equal[0] if equal else i)
    return found


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 6))
def test_groups_are_those_of_all_pairs(seed, n, width):
    rng = np.random.default_rng(seed)
    different = rng.permutation(1000)[: n * width].reshape(n, width) / 100  # none of them nearly equal
    rows = different[rng.integers(0, n, n)]
    rows = (rows + 1e-6 * rng.normal(size=rows.shape)).astype(np.float32)
    assert same_partition(find_groups(rows).tolist(), naive_groups(rows))


@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-4])
@pytest.mark.parametrize("times", [2, 3])
def test_every_row_given_several_times_counts_once(noise, times):
    X = rows_of(0, 7)
    copies = [X + noise * rows_of(k, 7) for k in range(1, times)]
    found = without_copies(np.concatenate([X, *copies]), np.tile(Y, times), None)
    assert sizes(found) == [5, 2, 0]
    np.testing.assert_array_equal(found.normal, X[:5])
    np.testing.assert_array_equal(found.anomaly, X[5:])
    np.testing.assert_allclose(found.copies.rows, found.copies.originals, atol=1e-3)


def test_an_unlabelled_copy_of_a_labelled_row_does_not_count():
    X = rows_of(0, 7)
    found = without_copies(X, Y, np.concatenate([X, rows_of(1, 4), rows_of(1, 4)]))
    assert sizes(found) == [5, 2, 4]


def test_rows_labelled_both_ways_count_once_for_each_label():
    X = rows_of(0, 3, 8)
    found = without_copies(np.concatenate([X, X, X]), np.array([0, 0, 1, 1, 1, 0, 1, 1, 0], np.int8), X[:1])
    assert sizes(found) == [3, 3, 0]


def test_equal_rows_of_a_few_categories_all_count():
    rows = np.random.default_rng(0).integers(0, 2, (60, 3)).astype(np.float32)
    y = (np.arange(60) < 10).astype(np.int8)
    assert sizes(without_copies(rows, y, None)) == [50, 10, 0]
    assert sizes(without_copies(rows[:20], y[:20], rows[20:])) == [10, 10, 40]


@pytest.mark.parametrize("times", [2, 3])
def test_of_categories_that_all_come_several_times_one_in_so_many_counts(times):
    rows = np.random.default_rng(0).integers(0, 2, (60, 3)).astype(np.float32)
    y = (np.arange(60) < 10).astype(np.int8)
    found = without_copies(np.tile(rows, (times, 1)), np.tile(y, times), None)
    assert sizes(found) == [50, 10, 0]
    assert Counter(map(bytes, found.normal)) == Counter(map(bytes, rows[10:]))


def test_a_row_is_its_own_original_or_equals_it():
    rng = np.random.default_rng(0)
    rows = rows_of(0, 30)[rng.integers(0, 30, 80)]
    labels = rng.choice(np.array([NORMAL, ANOMALY, UNLABELLED], np.int8), 80)
    original = find_originals(rows, labels)
    np.testing.assert_array_equal(rows[original], rows)
    np.testing.assert_array_equal(original[original], original)
    for k in np.unique(original):
        group = [j for j in range(80) if (rows[j] == rows[k]).all()]
        of_group = {labels[j] for j in group}
        kept = sorted(labels[j] for j in group if original[j] == j)
        assert kept == (sorted(of_group - {UNLABELLED}) or [UNLABELLED])


def test_equal_rows_are_expected_as_often_as_shares_of_their_values_say():
    among = np.repeat(np.eye(2, dtype=np.float32), [30, 10], axis=0)
    assert are_expected(among[[0, -1]], among).all()
    assert not are_expected(rows_of(0, 5), rows_of(0, 5)).any()
    # Of 40 rows, 10 columns with shares of 1/4: 40 / 4 ** 10 is less than one in twenty.
    rows = np.random.default_rng(0).integers(0, 4, (40, 10)).astype(np.float32)
    assert not are_expected(rows, rows).any()


def test_columns_that_only_rounding_makes_differ_are_found():
    X = rows_of(0, 10, 4)
    X[:, 1] = 0.25
    X[:, 2] = np.arange(10) == 4  # a rare value, not rounding
    near = X + 1e-6 * rows_of(1, 10, 4)
    usual, found = differ_by_rounding(np.concatenate([X, near]))
    assert found.tolist() == [False, True, False, False]
    assert usual[1] == 0.25
    assert not differ_by_rounding(X)[1].any()
    assert not differ_by_rounding(np.concatenate([X, X]))[1].any()


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_near_copies_change_no_decision_where_a_column_is_constant(value):
    """New rows differ in that column; noise in the copies must not become its unit."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(30, 5)), rng.normal(size=(200, 5))
    X[:, 3], new[:, 3] = value, value + (rng.random(200) < 0.1)
    near = X + 1e-6 * rng.normal(size=X.shape)
    once, twice = (FewShotDetector().fit(rows, np.zeros(len(rows), int)) for rows in (X, np.concatenate([X, near])))
    np.testing.assert_allclose(twice.score_samples(new), once.score_samples(new), rtol=1e-4, atol=1e-4)


def test_near_copies_do_not_hide_that_a_column_has_rare_large_values():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 5)), rng.normal(size=(200, 5))
    for rows in (X, new):
        rows[:, 2] = rng.integers(1, 5, len(rows)) * (rng.random(len(rows)) < 0.1)
    near = X + 1e-6 * rng.normal(size=X.shape)
    once, twice = (FewShotDetector().fit(rows, np.zeros(len(rows), int)) for rows in (X, np.concatenate([X, near])))
    np.testing.assert_allclose(twice.score_samples(new), once.score_samples(new), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_five_rows_and_their_copies_are_five_rows(noise):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(5, 4)), rng.normal(size=(300, 4))
    given_twice = np.concatenate([X, X + noise * rng.normal(size=X.shape)])
    once, twice = (FewShotDetector().fit(rows, np.zeros(len(rows), int)) for rows in (X, given_twice))
    np.testing.assert_allclose(twice.score_samples(new), once.score_samples(new), rtol=1e-4, atol=1e-4)
    assert twice.predict(new).mean() == pytest.approx(once.predict(new).mean(), abs=0.01)
