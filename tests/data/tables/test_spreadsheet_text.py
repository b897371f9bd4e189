import pyarrow as pa
import pytest

from oddshot.data.tables.spreadsheet_text import escape_formula, escape_formulas

FORMULAS = ["=1+1", "+1", "-1+2", "@SUM(1)", "\tx", "\r=1", "\n=1", "＝1+1", "＋1", "－1", "＠x", "=\n1"]
PLAIN = ["", "a=1", "'=1", "-", "1-2", "ä"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_get_an_apostrophe(text):
    assert escape_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", PLAIN)
def test_other_text_stays(text):
    assert escape_formula(text) == text


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_columns_are_escaped_as_cells_are(kind):
    cells = [*FORMULAS, *PLAIN]
    column = escape_formulas(pa.chunked_array([pa.array([*cells, None], kind)]))
    assert column.to_pylist() == [*map(escape_formula, cells), None]
