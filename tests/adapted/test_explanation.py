import dataclasses
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshot import FewShotDetector, InputError
from oddshot.adapted import explanation as module
from oddshot.adapted.explanation import column_contributions, column_orders, nearest_rows
from tests.fleets import MIXED, labels, mixed, numbers, small_model

METHODS = ["eigen", "relative", "woanomaly", "lr"]


def naive_contributions(score, row, base, groups, orders):
    """Loop over the orders: replace one group at a time, note what the score rises."""
    out = np.zeros(len(groups))
    for order in orders:
        now = base.copy()
        for g in order:
            before = score(now[None])[0]
            now[groups[g]] = row[groups[g]]
            out[g] += (score(now[None])[0] - before) / len(orders)
    return out


def crooked(rows):
    return rows[:, 0] * rows[:, 1] ** 2 + np.sin(rows[:, 2]) * rows[:, 3] + rows[:, 4].astype(np.float64)


def test_contributions_are_those_of_a_loop(monkeypatch):
    rng = np.random.default_rng(0)
    rows, base = rng.normal(size=(2, 17, 5)).astype(np.float32)
    groups = [slice(0, 1), slice(1, 3), slice(3, 5)]
    expected = [naive_contributions(crooked, *pair, groups, column_orders(3)) for pair in zip(rows, base, strict=True)]
    for numbers_at_once in (1, 100, 1 << 22):
        monkeypatch.setattr(module, "MAX_BLOCK_NUMBERS", numbers_at_once)
        added, end, start = column_contributions(crooked, rows, base, groups, column_orders(3))
        np.testing.assert_allclose(added, expected, atol=1e-6)
        np.testing.assert_allclose(end, crooked(rows))
        np.testing.assert_allclose(start, crooked(base))


def test_with_all_orders_they_are_shapley_values():
    rows, base = np.array([[1.0, 2.0, 3.0]], np.float32), np.zeros((1, 3), np.float32)
    orders = [np.array(order) for order in permutations(range(3))]
    added, _, _ = column_contributions(
        lambda x: x[:, 0] * x[:, 1] + x[:, 2], rows, base, [slice(k, k + 1) for k in range(3)], orders
    )
    np.testing.assert_allclose(added, [[1.0, 1.0, 3.0]])


@given(st.integers(1, 40))
def test_orders_are_permutations_with_their_reverses(n):
    orders = [order.tolist() for order in column_orders(n)]
    assert all(sorted(order) == list(range(n)) for order in orders)
    assert all(order[::-1] in orders for order in orders)
    assert len(orders) == (8 if n > 2 else n)
    assert orders == [order.tolist() for order in column_orders(n)]


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(METHODS), st.integers(0, 10**6), st.integers(1, 30))
def test_contributions_add_up_to_the_score(method, seed, n):
    make = numbers if method == "lr" else mixed
    detector = FewShotDetector(small_model(method, make)).fit(make(9, 10), labels(10))
    X = make(seed, 30)[:n]
    found = detector.explain(X)
    scores = detector.score_samples(X)
    np.testing.assert_allclose(found.score, scores, rtol=1e-3, atol=1e-6 * abs(scores).max())
    size = np.maximum(abs(found.score), abs(found.baseline_score)) + abs(found.contributions).max(1)
    assert (abs(found.contributions.sum(1) - (found.score - found.baseline_score)) <= 1e-6 * size).all()


def test_it_speaks_of_the_columns_of_the_table_and_the_rows_of_fit():
    y = labels(10)
    y[3] = -1
    detector = FewShotDetector(small_model("eigen", mixed)).fit(mixed(9, 10), y)
    found = detector.explain(mixed(8))
    assert found.attributes == MIXED
    assert found.contributions.shape == (40, len(MIXED))
    assert found.neighbours.shape == found.distances.shape == (40, 5)
    assert set(found.baseline) <= set(np.flatnonzero(y == 0))
    assert set(found.neighbours.ravel()) <= set(np.flatnonzero(y >= 0))
    assert (np.diff(found.distances, axis=1) >= 0).all()
    itself = detector.explain(mixed(9, 10))
    np.testing.assert_array_equal(itself.neighbours[[0, 1, 2], 0], [0, 1, 2])
    # 0 but for rounding: a row's place among others changes the last digits of its float32 products.
    np.testing.assert_allclose(itself.contributions[y == 0], 0, atol=1e-6 * itself.score.max())
    start = detector.decision_scores_[found.baseline]
    np.testing.assert_allclose(found.baseline_score, start, rtol=1e-3, atol=1e-6 * abs(start).max())


def test_the_column_that_is_off_adds_most():
    X = numbers(9)
    detector = FewShotDetector().fit(X, labels())
    odd = X[labels() == 0][:5].copy()
    odd[:, 0] += 6
    assert (detector.explain(odd).contributions.argmax(1) == 0).all()


def test_a_spoilt_cell_adds_most_without_a_labelled_anomaly():
    """Not the column that is replaced first: a row between two lies closer to its baseline than rows lie apart."""
    rng = np.random.default_rng(0)
    X, odd = rng.normal(size=(40, 13)), rng.normal(size=(13, 13))
    odd[np.arange(13), np.arange(13)] += 40
    detector = FewShotDetector().fit(X, np.repeat([0, -1], 20))
    found = detector.explain(odd)
    np.testing.assert_array_equal(found.contributions.argmax(1), np.arange(13))
    np.testing.assert_allclose(found.baseline_score, detector.decision_scores_[found.baseline], rtol=1e-5)


def test_a_row_of_fit_is_explained_by_the_score_that_it_has_there():
    X = numbers(9)
    detector = FewShotDetector().fit(X, np.where(np.arange(40) < 6, labels(), -1))
    found = detector.explain(X[6:])
    np.testing.assert_allclose(found.score, detector.decision_scores_[6:], rtol=1e-5)
    np.testing.assert_allclose(found.contributions.sum(1), found.score - found.baseline_score, atol=1e-5)


def test_scores_on_the_way_count_as_no_lower_than_those_of_both_ends():
    rows, base = np.array([[1.0, 1.0]], np.float32), np.zeros((1, 2), np.float32)

    def valley(x):
        return 3.0 * x[:, 0] * x[:, 1] - x[:, 1]

    orders = [np.array([1, 0])]
    plain, _, _ = column_contributions(valley, rows, base, [slice(0, 1), slice(1, 2)], orders)
    level, end, start = column_contributions(
        valley, rows, base, [slice(0, 1), slice(1, 2)], orders, ends_are_lowest=True
    )
    np.testing.assert_allclose(plain, [[3.0, -1.0]])
    np.testing.assert_allclose(level, [[2.0, 0.0]])
    assert (start, end) == (0.0, 2.0)


def test_nearest_rows_are_those_of_a_loop(monkeypatch):
    rng = np.random.default_rng(0)
    rows, others = rng.normal(size=(9, 4)).astype(np.float32), rng.normal(size=(6, 4)).astype(np.float32)
    distance = np.array([[np.sqrt(np.mean((a - b) ** 2)) for b in others] for a in rows])
    for at_once in (1, 1 << 22):
        monkeypatch.setattr(module, "MAX_BLOCK_NUMBERS", at_once)
        found, far = nearest_rows(rows, others, 3)
        np.testing.assert_array_equal(found, distance.argsort(1)[:, :3])
        np.testing.assert_allclose(far, np.sort(distance, 1)[:, :3], rtol=1e-5)


@pytest.mark.parametrize(
    "model",
    [dataclasses.replace(small_model(), calibration=None), small_model()],
    ids=["without calibration", "with calibration"],
)
def test_suggestions_are_different_rows_that_are_highly_ranked(model):
    detector, X = FewShotDetector(model).fit(numbers(9)[:10], labels(10)), numbers(8)
    chosen = detector.suggest(X, 7)
    assert len(set(chosen.tolist())) == 7
    np.testing.assert_array_equal(detector.suggest(X, 3), chosen[:3])
    scores = detector.score_samples(X)
    assert chosen[0] == scores.argmax()
    assert scores[chosen].mean() > scores.mean()
    assert sorted(detector.suggest(X, 100)) == list(range(40))
    for n in (0, -1, 1.5, "2"):
        with pytest.raises(InputError, match=r"^n is .*; it must be (a whole number, )?at least 1$"):
            detector.suggest(X, n)


@pytest.mark.parametrize("method", ["eigen", "relative"])
def test_scores_are_squared_distances_from_the_centre_in_the_projected_space(method):
    detector, X = FewShotDetector(small_model(method)).fit(numbers(9)[:10], labels(10)), numbers(8)
    projected = detector.task_.project(detector.encoding_.transform(X))
    np.testing.assert_allclose((projected**2).sum(axis=1), detector.score_samples(X), rtol=1e-4, atol=1e-9)
    other = FewShotDetector(small_model("lr")).fit(numbers(9)[:10], labels(10))
    assert other.task_.project(other.encoding_.transform(X)).shape == (len(X), 0)


def test_the_same_row_is_not_suggested_twice():
    detector = FewShotDetector(small_model()).fit(numbers(9)[:10], labels(10))
    X = np.repeat(numbers(8), 2, axis=0)
    chosen = detector.suggest(X, 10)
    assert len({number // 2 for number in chosen.tolist()}) == 10


def test_rows_that_are_labelled_already_are_suggested_last():
    known = numbers(9)[:10][labels(10) >= 0]
    detector = FewShotDetector(small_model()).fit(numbers(9)[:10], labels(10))
    X = np.concatenate([known, numbers(8)])
    assert detector.score_samples(X).argmax() < len(known)  # the ranking alone would ask for one
    assert set(detector.suggest(X, len(X))[-len(known) :].tolist()) == set(range(len(known)))
