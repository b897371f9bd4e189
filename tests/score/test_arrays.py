"""What array libraries are helped with, against loops in NumPy."""

import numpy as np
import pytest

from oddshot.score import arrays
from tests.score.tasks import draw


@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize("bias", [None, (5, 1), (1, 6), (5, 6), (2, 3, 5, 1), (2, 3, 5, 6)])
@pytest.mark.parametrize("of_weight", [(), (2,), (2, 3)])
def test_affine_is_the_product_with_each_weight(of_weight, bias, rectified):
    W, x = draw(0, *of_weight, 4, 5), draw(1, 2, 3, 4, 6)
    b = None if bias is None else draw(2, *bias)
    before = [array.copy() for array in (W, x, *([] if b is None else [b]))]
    out = arrays.affine(W, x, b, rectified=rectified)
    every = 0 if b is None else np.broadcast_to(b, (2, 3, 5, 6))
    for place in np.ndindex(2, 3):
        expected = W[place[: len(of_weight)]].T @ x[place] + (every if b is None else every[place])
        np.testing.assert_allclose(
            out[place], np.maximum(expected, 0) if rectified else expected, rtol=1e-12, atol=1e-14
        )
    for array, expected in zip((W, x, b), before, strict=False):
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize(("of_weight", "of_rows"), [((), ()), ((), (3,)), ((), (2, 3)), ((2,), (2, 3)), ((2,), (2,))])
def test_affine_of_rows_is_the_product_with_each_weight(of_weight, of_rows, has_bias, rectified):
    W, x, b = draw(0, *of_weight, 4, 5), draw(1, *of_rows, 6, 4), draw(2, *of_weight, 1, 5) if has_bias else None
    out = arrays.affine_rows(W, x, b, rectified=rectified)
    for place in np.ndindex(*of_rows):
        of = place[: len(of_weight)]
        expected = x[place] @ W[of] + (0 if b is None else b[of])
        np.testing.assert_allclose(
            out[place], np.maximum(expected, 0) if rectified else expected, rtol=1e-12, atol=1e-14
        )


def test_a_weight_of_replicas_is_that_of_all_their_tasks():
    weight = draw(0, 2, 4, 5)
    assert arrays.over_tasks(weight, draw(1, 2, 3, 4, 6), 2).shape == (2, 1, 4, 5)
    for x in (draw(1, 4, 6), draw(1, 2, 4, 6)):
        assert arrays.over_tasks(weight, x, 2) is weight
    assert arrays.over_tasks(weight[0], draw(1, 2, 3, 4, 6), 2).shape == (4, 5)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_the_lower_median_is_that_of_the_sorted_numbers(n):
    x = draw(n, 2, 3, n)
    found = arrays.lower_median(x)
    assert found.shape == (2, 3, 1)
    for place in np.ndindex(2, 3):
        assert found[place][0] == sorted(x[place])[(n - 1) // 2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 6, 29, 30, 40])
def test_the_mean_of_the_smallest_is_that_of_the_sorted_numbers(k, dtype):
    values = np.square(draw(0, 3, 4, 30)).astype(dtype)
    values[0, 0, 5], values[1, 2, :7] = 0.0, np.inf
    before = values.copy()
    found = arrays.mean_of_smallest(values, k)
    assert found.dtype == dtype
    for place in np.ndindex(3, 4):
        expected = np.mean(sorted(values[place].astype(np.float64))[:k])
        np.testing.assert_allclose(found[place], expected, rtol=1e-6 if dtype == np.float32 else 1e-12)
    np.testing.assert_array_equal(values, before)
    np.testing.assert_array_equal(
        arrays.mean_of_smallest(values[:, ::2, ::-1], k), arrays.mean_of_smallest(values[:, ::2, ::-1].copy(), k)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 200])
def test_ranks_are_counts_of_a_loop(n, dtype):
    rng = np.random.default_rng(n)
    ordered = np.sort(rng.integers(0, 20, size=(2, 3, n)).astype(dtype), axis=-1)
    values = rng.integers(-1, 22, size=(2, 3, 9)).astype(dtype)
    below, not_above = arrays.rank_bounds(ordered, values)
    excess = arrays.signed_rank_count(ordered, values)
    assert below.dtype == not_above.dtype == excess.dtype == dtype
    for r, t, k in np.ndindex(2, 3, 9):
        n_below, n_above = sum(ordered[r, t] < values[r, t, k]), sum(ordered[r, t] > values[r, t, k])
        assert (below[r, t, k], not_above[r, t, k]) == (n_below, n - n_above)
        assert excess[r, t, k] == n_below - n_above


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pooled_tables_are_sums_of_a_loop_over_columns(dtype):
    """The row on the right may be that of the next column's first, or none: its share is then 0."""
    rng, M, n_knots = np.random.default_rng(0), 3, 5
    table = rng.normal(size=(M * n_knots, 4)).astype(dtype)
    low, share = rng.integers(0, n_knots - 1, size=(20, M)), rng.uniform(size=(20, M)).astype(dtype)
    found = arrays.pool_table(table, low + n_knots * np.arange(M), share, M)
    assert (found.shape, found.dtype) == ((20, 4), dtype)
    for k in range(20):
        expected = np.zeros(4)
        for m in range(M):
            left, right = table[n_knots * m + low[k, m]], table[n_knots * m + low[k, m] + 1]
            expected += (1 - share[k, m]) * left.astype(np.float64) + share[k, m] * right.astype(np.float64)
        np.testing.assert_allclose(found[k], expected, rtol=1e-12 if dtype == np.float64 else 1e-5, atol=1e-6)


def test_numbers_are_clipped_and_rectified_in_their_own_precision():
    for dtype in (np.float32, np.float64):
        x = np.array([-2e9, -1.0, 0.0, 0.5, 3e9], dtype)
        found = arrays.clip(x, -1e9, 1e9)
        assert found.dtype == arrays.relu(x).dtype == dtype
        np.testing.assert_array_equal(found, np.array([-1e9, -1, 0, 0.5, 1e9], dtype))
        np.testing.assert_array_equal(arrays.relu(x), np.array([0, 0, 0, 0.5, 3e9], dtype))


@pytest.mark.parametrize("axis", [-1, -2, -3])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_parts_are_the_first_ones_and_the_others(n, axis):
    x = draw(0, 3, 3, 3)
    first, others = arrays.parted(x, n, axis)
    assert (first.shape[axis], others.shape[axis]) == (n, 3 - n)
    np.testing.assert_array_equal(np.concatenate([first, others], axis), x)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_between_two_numbers_lies_their_mean_weighted_by_the_share(share):
    left, right = draw(0, 2, 3), draw(1, 2, 3)
    expected = (1 - share) * left + share * right
    np.testing.assert_allclose(arrays.between(left, right, np.full((1, 3), share)), expected, rtol=1e-12)


def test_sizes_get_the_signs_of_other_numbers():
    x = np.array([-2.0, -0.0, 0.0, 5.0])
    np.testing.assert_array_equal(arrays.with_sign_of(np.array([1.0, 0.0, 0.0, 3.0]), x), [-1.0, 0.0, 0.0, 3.0])


def test_dimensions_are_swapped_and_rows_laid_out_without_a_change_of_numbers():
    x = draw(0, 2, 3, 4)
    np.testing.assert_array_equal(arrays.swap(x), np.moveaxis(x, -1, -2))
    laid_out = arrays.contiguous(arrays.swap(x))
    assert laid_out.flags.c_contiguous
    np.testing.assert_array_equal(laid_out, np.moveaxis(x, -1, -2))
    assert arrays.detach(x) is x


def test_double_precision_is_not_copied():
    x = draw(0, 3)
    assert arrays.float64(x) is x
    assert arrays.float64(x.astype(np.float32)).dtype == np.float64


def test_numpy_arrays_are_neither_a_graph_nor_lazy_nor_differentiated():
    x = draw(0, 3)
    assert not any(is_so(x) for is_so in (arrays.is_graph, arrays.is_lazy, arrays.has_gradient))


@pytest.mark.parametrize("k", [1, 3])
def test_positive_definite_systems_are_solved(k):
    root, b = draw(0, 2, 3, 5, 5), draw(1, 2, 3, 5, k)
    matrix = root @ np.swapaxes(root, -1, -2) + np.eye(5)
    found = arrays.solve_spd(matrix, b)
    for place in np.ndindex(2, 3):
        np.testing.assert_allclose(found[place], np.linalg.inv(matrix[place]) @ b[place], rtol=1e-9)
