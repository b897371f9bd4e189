"""The store of the field trial: whatever is damaged in it is one line."""

import sqlite3

import pytest

from oddshot.bench.field.store import CellRecord, open_field_store
from oddshot.errors import FileError, InputError

RECORDS = [CellRecord("apart", f"table{i}", "knn", "0", "auc", 0.5, 3, 1.0, "", "1") for i in range(5)]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "field.db"
    with open_field_store(path) as store:
        store.add(RECORDS)
    return path


def test_what_goes_in_comes_out(path):
    with open_field_store(path) as store:
        assert store.records() == RECORDS


def test_damaged_names_in_the_schema_are_one_line(path):
    whole = path.read_bytes()
    start = whole.index(b"CREATE TABLE cells")
    refusals = []
    for place in range(start, start + 60):
        path.write_bytes(whole[:place] + b"\x9a" + whole[place + 1 :])
        try:
            with open_field_store(path) as store:
                store.records()
        except (InputError, FileError) as error:
            refusals.append(str(error))
    assert any("a name in it is not text" in line for line in refusals)
    assert all(len(line.splitlines()) == 1 for line in refusals)


@pytest.mark.parametrize(("column", "value"), [("draws", "'three'"), ("method", "x'00'"), ("value", "'high'")])
def test_values_of_the_wrong_type(path, column, value):
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE cells SET {column} = {value} WHERE \"table\" = 'table2'")
    connection.close()
    with open_field_store(path) as store, pytest.raises(InputError, match=r"damaged \(a value is of the wrong type\)"):
        store.records()
