import gzip
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from oddshot.data.tables import as_table, read_table, stream_table
from oddshot.errors import FileError, InputError

Write = Callable[..., Path]
CONTENT = "n,t\n1,x\n2,y\n"


def compress(content: bytes, codec: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(content)
    return bytes(sink.getvalue())


@pytest.mark.parametrize(("suffix", "codec"), [("gz", "gzip"), ("zst", "zstd"), ("bz2", "bz2")])
def test_compressed_files(write: Write, suffix: str, codec: str) -> None:
    path = write(f"a.csv.{suffix}", compress(CONTENT.encode(), codec))
    assert read_table(path).to_pydict() == {"n": [1, 2], "t": ["x", "y"]}
    (chunk,) = stream_table(path, kinds={"n": "number"})
    assert chunk.to_pydict() == {"n": [1, 2], "t": ["x", "y"]}
    wrong = write(f"b.csv.{suffix}", compress(b"n,t\n1\n", codec))
    for read in (read_table, lambda path: list(stream_table(path))):
        with pytest.raises(InputError) as caught:
            read(wrong)
        assert str(caught.value) == f"{wrong}: row 1 has 1 field, the header has 2"
        with pytest.raises(InputError, match=rf"c\.csv\.{suffix}: cannot be unpacked"):
            read(write(f"c.csv.{suffix}", b"not compressed at all"))
        with pytest.raises(FileError, match=rf"none\.csv\.{suffix}: cannot be read"):
            read(Path(f"none.csv.{suffix}"))


def test_a_compressed_parquet_file_and_a_row_index(tmp_path: Path, write: Write) -> None:
    pyarrow.parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "a.parquet")
    path = write("a.parquet.gz", gzip.compress((tmp_path / "a.parquet").read_bytes()))
    assert read_table(path).to_pydict() == {"a": [1, 2]}
    path = write("b.csv.gz", gzip.compress(b",n\n0,1\n1,2\n"))
    with pytest.warns(UserWarning, match=r"b\.csv\.gz: ignored column '' \(a row index\?\)"):
        assert read_table(path).to_pydict() == {"n": [1, 2]}


def test_json_lines(write: Write) -> None:
    path = write("a.jsonl", '{"n": 1, "t": "x", "s": {"u": 2.5}}\n{"n": 2, "t": null, "s": {"u": 3.5}}\n')
    expected = {"n": [1, 2], "t": ["x", None], "s.u": [2.5, 3.5]}
    assert read_table(path).to_pydict() == expected
    assert pa.concat_tables(stream_table(path, 1)).to_pydict() == expected
    for content, problem in (("", "the file is empty"), ("[1, 2]\n", "not a file with one JSON object a line")):
        with pytest.raises(InputError, match=rf"b\.ndjson: {problem}"):
            read_table(write("b.ndjson", content))


def test_excel_files_need_openpyxl(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(
        InputError, match=r"a\.xlsx: an Excel file needs openpyxl: pip install openpyxl \(or save it as CSV\)"
    ):
        read_table(write("a.xlsx", b"PK"))


def test_the_first_sheet_of_an_excel_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(), (None, None, None), ("n", " t "), (1, "x", None), (2.5,), (None, None, None)]
    sheet = types.SimpleNamespace(
        iter_rows=lambda max_row, values_only: iter(rows), reset_dimensions=lambda: rows.append(())
    )
    book = types.SimpleNamespace(worksheets=[sheet], close=lambda: None)
    module = types.ModuleType("openpyxl")
    module.load_workbook = lambda path, read_only, data_only: book  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "openpyxl", module)
    path = write("a.xlsx", b"PK")
    assert read_table(path).to_pydict() == {"n": [1, 2.5], "t": ["x", None]}
    assert [len(chunk) for chunk in stream_table(path, 1)] == [1, 1]
    rows[2] = ("n", "n", None)
    with pytest.raises(InputError, match=r"a\.xlsx: two columns are called 'n'"):
        read_table(path)
    rows.clear()
    with pytest.raises(InputError, match=r"a\.xlsx: its first sheet is empty"):
        read_table(path)


def test_the_index_of_pandas_in_an_arrow_table() -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=[5, 7])
    assert as_table(pa.Table.from_pandas(frame)).to_pydict() == {"a": [1, 2]}
