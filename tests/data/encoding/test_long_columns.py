"""Columns of more rows than are probed: what only shows further down counts as well."""

import numpy as np
import pyarrow as pa
import pytest

from oddshot.data.encoding import Encoding

N_ROWS = 12_000


def test_text_after_many_numbers_makes_categories() -> None:
    cells = [f"{k % 200}" for k in range(N_ROWS)] + [f"word {k % 3}" for k in range(N_ROWS)]
    assert Encoding.fit([{"a": cells}]).kinds == {"a": "category"}


def test_dates_that_repeat_are_read_as_if_they_did_not() -> None:
    cells = [f"{1 + k % 28:02}.{1 + k % 12:02}.{2000 + k % 20}" for k in range(N_ROWS)]
    encoding = Encoding.fit([{"day": cells}])
    assert encoding.kinds == {"day": "date"}
    whole = encoding.transform({"day": [*cells, None]})
    assert (whole[-101:] == encoding.transform({"day": [*cells[-100:], None]})).all()


def test_each_day_is_encoded_as_if_it_were_alone() -> None:
    moments = [f"20{k * k // 7 % 24:02}-{1 + k % 12:02}-{1 + k % 28:02} {k % 24:02}:{k % 60:02}" for k in range(1000)]
    encoding = Encoding.fit([{"when": [*moments, None]}])
    assert encoding.describe() == ["1 date: when (time, hour, weekday, month)"]
    few_days = ["2021-02-28 23:59", None, "2021-03-01 00:00", "2020-12-31 12:00", "1969-12-31 23:00"] * 20_000
    one_by_one = [encoding.transform({"when": pa.array([cell], pa.string())})[0] for cell in few_days[:5]]
    np.testing.assert_array_equal(encoding.transform({"when": few_days}), np.tile(one_by_one, (20_000, 1)))


def test_a_wrong_date_among_repeated_ones_is_named() -> None:
    cells = [f"2024-01-{1 + k % 28:02}" for k in range(N_ROWS)]
    encoding = Encoding.fit([{"day": cells}])
    with pytest.raises(ValueError, match=r"row 12001, column 'day': 'soon' is not a date"):
        encoding.transform({"day": [*cells, "soon", "later"]})


def test_categories_are_counted_over_all_tables() -> None:
    tables = [{"a": ["x", "y", "1.0", None] * 10}, {"a": ["y", "1", "z", "z"] * 10}]
    (column,) = Encoding.fit(tables).to_dict()["encoders"]
    assert column["categories"] == ("1", "y", "z", "x")
    assert column["shares"] == pytest.approx([2 / 7, 2 / 7, 2 / 7, 1 / 7])
