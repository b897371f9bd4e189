"""Columns of more rows than are probed: what only shows further down counts as well."""

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
