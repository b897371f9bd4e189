import numpy as np
import pyarrow as pa
import pytest

from oddshot.data.encoding import Encoding


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
def test_arrays_and_tables_agree(dtype: type) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 99, (n, 4)).astype(dtype) for n in (5, 7)]
    if dtype in (np.float64, np.float32):
        arrays[0][2, 1] = np.nan
    tables = [pa.table({f"x{j}": array[:, j] for j in range(4)}) for array in arrays]
    by_array, by_table = Encoding.fit(arrays), Encoding.fit(tables)
    assert by_array.columns == by_table.columns == ("x0", "x1", "x2", "x3")
    assert by_array.attribute_names == by_table.attribute_names
    for array, table in zip(arrays, tables, strict=True):
        expected = by_table.transform(table)
        for encoding in (by_array, by_table):
            for X in (array, table, array.tolist(), np.asfortranarray(array), array.astype(object)):
                np.testing.assert_allclose(encoding.transform(X), expected, rtol=1e-6, atol=1e-6)


def test_array_for_named_columns_is_taken_in_order() -> None:
    encoding = Encoding.fit([{"b": [1.0, 2.0], "none": [None, None], "a": [3.0, 5.0]}])
    np.testing.assert_array_equal(encoding.transform(np.array([[1, 9, 5.0]])), [[-1, 1]])
    mixed = Encoding.fit([{"b": [1.0, 2.0], "c": ["x", "y"]}])
    np.testing.assert_array_equal(mixed.transform(np.array([[1, "x"]], object)), [[-1, 1, -1]])


def test_transform_leaves_its_input_alone() -> None:
    X = np.array([[1.0, np.nan], [2.0, 5.0]])
    before = X.copy()
    encoding = Encoding.fit([X])
    encoding.transform(X)
    np.testing.assert_array_equal(X, before)


def test_no_rows() -> None:
    encoding = Encoding.fit([{"n": [1.0, 2.0], "c": ["x", "y"], "d": ["2024-01-31", "2024-02-09"]}])
    assert encoding.transform(pa.table({"n": [], "c": [], "d": []})).shape == (0, encoding.n_attributes)
