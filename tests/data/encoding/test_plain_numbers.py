"""Columns of plain numbers are fitted and encoded many at once, to the last bit as each column alone is."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from oddshot.data.encoding import ColumnChoice, Encoding, plain_numbers
from oddshot.data.encoding import encoding as encoding_module
from oddshot.data.encoding.plain_numbers import fit_plain_numbers, plain_matrix
from oddshot.data.tables.skipped_cells import SkippedCells
from oddshot.errors import InputError


def mixed_table(rng, n):
    """Columns that are plain numbers, that nearly are, and that are not."""
    X = rng.normal(size=(n, 12)) * 10.0 ** rng.integers(-200, 17, size=12)
    columns = {f"x{j}": column for j, column in enumerate(X.T)}
    columns |= {
        "single": rng.normal(size=n).astype(np.float32),
        "whole": rng.integers(0, 1000, size=n).astype(float),
        "id": np.arange(n) + 0.0,
        "time": np.sort(rng.normal(size=n)),
        "sorted": np.sort(rng.normal(size=n)),
        "even steps": 0.1 * np.arange(n),
        "falling": -0.1 * np.arange(n),
        "constant": np.full(n, 0.1),
        "days": 20240101.0 + rng.integers(0, 28, size=n),
        "seconds at": 1.7e9 + rng.normal(size=n),
        "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        "infinite": np.where(np.arange(n) == 1, np.inf, rng.normal(size=n)),
        "distant": np.where(np.arange(n) == 2, 1e9, rng.normal(size=n)),
        "integer": rng.integers(0, 5, size=n),
        "text": [f"{value:.3f}" for value in rng.normal(size=n)],
        "words": rng.choice(["a", "b"], size=n).tolist(),
    }
    return pa.table({name: pa.array(cells) for name, cells in columns.items()})


def fitted(tables):
    """The encoding, its warnings, and the encoded rows of the first table's columns of floating-point numbers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        encoding = Encoding.fit(tables)
        floats = [one.select([*(f"x{j}" for j in range(12)), "single", "constant", "gaps"]) for one in tables]
        rows = Encoding.fit(floats).transform(floats[0])
        return encoding, rows, sorted(str(one.message) for one in caught)


@pytest.mark.parametrize("sizes", [(3,), (6,), (19,), (20,), (7, 12), (8, 40), (30, 0, 9), (137, 300), (5000,)])
def test_many_columns_at_once_are_encoded_as_each_alone(sizes, monkeypatch):
    rng = np.random.default_rng(sum(sizes))
    tables = [mixed_table(rng, n) for n in sizes]
    encoding, rows, warned = fitted(tables)
    monkeypatch.setattr(encoding_module, "fit_plain_numbers", lambda tables, names: {})
    monkeypatch.setattr(encoding_module, "plain_matrix", lambda table: None)
    expected, expected_rows, expected_warnings = fitted(tables)
    assert encoding == expected
    assert np.array_equal(rows, expected_rows)
    assert warned == expected_warnings


def test_the_columns_that_are_fitted_at_once():
    rng = np.random.default_rng(0)
    found = fit_plain_numbers([mixed_table(rng, 200)], mixed_table(rng, 200).column_names)
    assert set(found) == {*(f"x{j}" for j in range(12)), "single", "constant"}


def test_columns_at_once_are_limited(monkeypatch):
    rng = np.random.default_rng(0)
    table = mixed_table(rng, 40)
    whole, sizes, fit_group = fit_plain_numbers([table], table.column_names), [], plain_numbers._fit_group
    monkeypatch.setattr(plain_numbers, "_fit_group", lambda names, X: sizes.append(len(names)) or fit_group(names, X))
    monkeypatch.setattr(plain_numbers, "_NUMBERS_AT_ONCE", 3 * 40 + 1)
    assert fit_plain_numbers([table], table.column_names) == whole
    assert max(sizes) == 3
    monkeypatch.setattr(plain_numbers, "_NUMBERS_AT_ONCE", 39)
    assert fit_plain_numbers([table], table.column_names) == {}
    assert plain_matrix(table.select(["x0"])) is None


def test_plain_numbers_with_gaps_are_encoded_and_noted_as_each_column_alone(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 4)), columns=list("abcd"))
    frame.loc[3, "a"] = np.nan
    encoding = Encoding.fit([frame])
    query = frame[::-1].reset_index(drop=True)
    query.loc[[1, 5], "b"] = np.nan
    notes, notes_alone = SkippedCells(), SkippedCells()
    at_once = encoding.transform(query, skipped=notes)
    monkeypatch.setattr(encoding_module, "plain_matrix", lambda table: None)
    assert np.array_equal(at_once, encoding.transform(query, skipped=notes_alone))
    assert vars(notes) == vars(notes_alone)


def test_what_a_person_asks_for_is_not_fitted_at_once():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 3)).round(1), columns=list("abc"))
    encoding = Encoding.fit([frame], choice=ColumnChoice(None, {"a": "category", "b": "ignore"}))
    assert encoding.kinds == {"a": "category", "c": "number"}
    assert set(encoding.dropped) == {"b"}


def test_numbers_that_are_too_large_are_refused_where_they_are():
    frame = pd.DataFrame({"a": [0.5, 1.5, 2.5], "b": [0.5, 1e19, 2.5]})
    with pytest.raises(InputError, match="row 2, column 'b': 1e\\+19 is too large"):
        Encoding.fit([frame])
    encoding = Encoding.fit([frame.replace(1e19, 7.5)])
    with pytest.raises(InputError, match="row 2, column 'b': 1e\\+19 is too large"):
        encoding.transform(frame)
