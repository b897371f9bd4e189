import datetime
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from oddshot.data.encoding import Encoding
from oddshot.data.tables import csv_reading, csv_streaming, read_table, stream_table, text_encoding
from oddshot.data.tables.readers import FORMATS, FileFormat
from oddshot.errors import FileError, InputError

Write = Callable[..., Path]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252"]
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_csv_delimiter_and_encoding(write: Write, delimiter: str, encoding: str, newline: str) -> None:
    lines = ["größe;n", "straße;1", "été;2", ";3"]
    path = write("a.csv", newline.join(lines).replace(";", delimiter) + newline, encoding)
    expected = {"größe": ["straße", "été", None], "n": [1, 2, 3]}
    assert read_table(path).to_pydict() == expected
    (chunk,) = stream_table(path, kinds={"n": "number"})
    assert chunk.to_pydict() == expected


def test_the_euro_sign_of_windows(write: Write) -> None:
    path = write("m1.csv", "a;b\n1;2,5 €\n2;“3”\n".encode("cp1252"))
    assert read_table(path).to_pydict() == {"a": [1, 2], "b": ["2,5 €", "“3”"]}
    path = write("m2.csv", b"a;b\n1;\x80\n2;\x81\n")  # the last byte has no meaning there
    assert read_table(path).to_pydict() == {"a": [1, 2], "b": ["\x80", "\x81"]}


@pytest.mark.parametrize("above", ["sep=;\n", '"sep=;"\r\n\r\n', "\nSEP=;\n"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_line_above_the_header_that_names_the_delimiter(write: Write, above: str, encoding: str) -> None:
    path = write("m1.csv", f"{above}a;b\n1;x,y\n2;u,v\n".encode(encoding))
    expected = {"a": [1, 2], "b": ["x,y", "u,v"]}
    assert read_table(path).to_pydict() == expected
    (chunk,) = stream_table(path, kinds={"a": "number"})
    assert chunk.to_pydict() == expected
    with pytest.raises(InputError, match=r"row 2 has 1 field, the header has 2$"):
        read_table(write("m2.csv", f"{above}a;b\n1;2\n3\n".encode(encoding)))


def test_a_header_that_is_longer_than_what_is_mostly_read_of_a_file(write: Write) -> None:
    n_columns = 20_000
    path = write("wide.csv", ";".join(f"c{j}" for j in range(n_columns)) + "\n" + ";".join(["1,5"] * n_columns) + "\n")
    table = read_table(path)
    assert table.num_columns == n_columns
    assert table["c19999"].to_pylist() == [1.5]


def test_a_first_line_that_ends_unlike_the_others(write: Write) -> None:
    path = write("m1.csv", "a,b\r1,2\n3,4\n")
    assert read_table(path).to_pydict() == {"a": [1, 3], "b": [2, 4]}
    (chunk,) = stream_table(path, kinds={"a": "number", "b": "number"})
    assert chunk.to_pydict() == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize("above", ["\r", "\r\n\r", "\n\r\r\n", "sep=;\r"])
def test_blank_lines_above_the_header_that_end_unlike_the_others(write: Write, above: str) -> None:
    path = write("a.csv", above + "a;b\n1;2\n3;4\n")
    for table in (read_table(path), pa.concat_tables(stream_table(path, kinds={"a": "number", "b": "number"}))):
        assert table.to_pydict() == {"a": [1, 3], "b": [2, 4]}


def test_a_cell_longer_than_the_csv_module_reads(write: Write) -> None:
    long = "x" * 200_000
    path = write("m1.csv", f"a,b\n1,{long}\n2,y\n")
    assert read_table(path).to_pydict() == {"a": [1, 2], "b": [long, "y"]}


@pytest.mark.parametrize(("names", "is_said"), [("0.5,-1,7", True), ("0,1,2", False), ("2021,2020", False)])
def test_a_header_that_may_be_a_row(write: Write, names: str, is_said: bool) -> None:
    path = write("m1.csv", f"{names}\n{names.replace('0', '3')}\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_table(path)
    assert [str(one.message) for one in caught] == [
        f"{path}: the first line is taken for the names of the columns, which are numbers: '0.5', '-1', '7'; "
        "if it is a row, write a line of names above it"
    ] * is_said


def test_latin_1_far_into_the_file(write: Write) -> None:
    path = write("a.csv", b"n,t\n" + b"1,x\n" * 2_000_000 + b"2,\xe9\n")
    assert read_table(path)["t"][-1].as_py() == "é"


@pytest.mark.parametrize(("n_blocks_between", "cells"), [(0, ["x", "yé"]), (1, ["x", "yÃ", "x©"])])
def test_a_character_at_the_end_of_a_block_of_bytes(write: Write, n_blocks_between: int, cells: list[str]) -> None:
    n_bytes = text_encoding._BLOCK_BYTES
    first_block = b"t\n" + b"x\n" * (n_bytes // 2 - 2) + b"y\xc3"
    path = write("a.csv", first_block + b"\nx" * (n_bytes // 2 * n_blocks_between) + b"\xa9\n")
    assert len(first_block) == n_bytes
    assert read_table(path)["t"].unique().to_pylist() == cells


def test_csv_types_and_missing_values(write: Write) -> None:
    path = write("a.csv", "n,b,t,d,e\n1.5,true,x,2024-01-31,\nNA,False,?,,\n-1e3,,z,2024-02-01,\n")
    table = read_table(path)
    assert table["n"].to_pylist() == [1.5, None, -1000.0]
    assert table["b"].to_pylist() == [True, False, None]
    assert table["t"].to_pylist() == ["x", None, "z"]
    assert table["d"].to_pylist() == [datetime.date(2024, 1, 31), None, datetime.date(2024, 2, 1)]
    assert table["e"].to_pylist() == [None] * 3


def test_csv_quotes_line_breaks_and_blank_lines(write: Write) -> None:
    path = write("a.csv", '\n\n" a ","b\nc"\n1,"x, ""y""\nz"\n\n2,5" pipe\n')
    expected = {"a": [1, 2], "b\nc": ['x, "y"\nz', '5" pipe']}
    assert read_table(path).to_pydict() == expected
    (chunk,) = stream_table(path, kinds={"a": "number"})
    assert chunk.to_pydict() == expected


def test_csv_with_decimal_commas(write: Write) -> None:
    path = write("a.csv", "a;b\n1,5;x\n2;y\n")
    assert read_table(path)["a"].to_pylist() == [1.5, 2.0]
    (chunk,) = stream_table(path, kinds={"a": "number"})
    assert chunk["a"].to_pylist() == [1.5, 2.0]


def test_csv_with_one_column(write: Write) -> None:
    assert read_table(write("a.csv", "a\n1\n2\n")).to_pydict() == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("start", "end", "first", "last"), [("1", "1.5", 1.0, 1.5), ("", "7", None, 7), ("1", "x", "1", "x")]
)
def test_csv_whose_end_is_not_like_its_start(write: Write, start: str, end: str, first: object, last: object) -> None:
    path = write("a.csv", "a,b\n" + f"{start},some text to fill the file\n" * 150_000 + f"{end},\n")
    cells = read_table(path)["a"].to_pylist()
    assert cells == [first] * 150_000 + [last]
    assert type(cells[-1]) is type(last)


def test_row_index_of_pandas_is_ignored_with_a_notice(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2]}, index=[3, 5])
    frame.to_csv(tmp_path / "a.csv")
    frame.to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        with pytest.warns(UserWarning, match=rf"{name}: ignored column '.*' \(a row index\?\)"):
            assert read_table(tmp_path / name).to_pydict() == {"a": [1, 2]}


def test_arff(write: Write) -> None:
    header = "@RELATION r\n@attribute n NUMERIC\n@attribute 'c d' {x,y}\n@attribute s string\n@Data\n% comment\n"
    table = read_table(write("a.ARFF", header + "1.5,x,?\n?,y,'{a b}'\n"))
    assert table.to_pydict() == {"n": [1.5, None], "c d": ["x", "y"], "s": [None, "{a b}"]}
    assert len(list(stream_table(write("b.arff", header + "1,x,a\n" * 5), chunk_rows=2))) == 3


@pytest.mark.parametrize("chunk_rows", [1, 3, 64, 100_000])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_stream_is_the_whole_in_chunks(tmp_path: Path, chunk_rows: int, suffix: str) -> None:
    rng = np.random.default_rng(0)
    n_rows = 200 if chunk_rows < 64 else 50_000
    table = pa.table({"n": rng.normal(size=n_rows), "t": rng.choice(["a", "b"], n_rows)})
    path = tmp_path / f"a.{suffix}"
    if suffix == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path)
    chunks = list(stream_table(path, chunk_rows, {"n": "number"}))
    assert {len(chunk) for chunk in chunks[:-1]} <= {chunk_rows}
    assert 0 < len(chunks[-1]) <= chunk_rows
    assert pa.concat_tables(chunks).to_pydict() == table.to_pydict()


@pytest.mark.parametrize("name", ["plain.csv", "quoted.csv", "a.parquet"])
def test_stream_needs_constant_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    table = pa.table({f"n{j}": np.arange(1_000_000) + 10**15 * (j + 1) for j in range(10)})
    if name == "a.parquet":
        pyarrow.parquet.write_table(table, path, compression="none", use_dictionary=False)  # 80 MB
    else:  # 170 MB; only without quotation marks can it be cut at line breaks and parsed in threads
        with open(path, "wb") as file:
            file.write((",".join(table.column_names) + "\n").encode() if name == "plain.csv" else b"")
            pyarrow.csv.write_csv(table, file, pyarrow.csv.WriteOptions(include_header=name == "quoted.csv"))
    code = """if True:
        import sys, pyarrow as pa
        from oddshot.data.tables import stream_table
        n = sum(len(chunk) for chunk in stream_table(sys.argv[1]))
        print(n, pa.default_memory_pool().max_memory())
    """
    output = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True).stdout
    n_rows, peak = map(int, output.split())
    assert n_rows == 1_000_000
    assert peak < (40e6 if name == "a.parquet" else 150e6), peak


@pytest.mark.parametrize("quote", ["", '"'])
def test_stream_counts_rows_over_many_blocks(write: Write, quote: str) -> None:
    rows = [f"{i},{quote}some text to fill the file{quote}\n" for i in range(200_000)]
    path = write("a.csv", "n,t\n" + "".join(rows))
    chunks = list(stream_table(path, kinds={"n": "number", "t": "category"}))
    assert [len(chunk) for chunk in chunks] == [65_536] * 3 + [200_000 - 3 * 65_536]
    np.testing.assert_array_equal(pa.concat_tables(chunks)["n"].to_numpy(), np.arange(200_000))
    path = write("b.csv", "n,t\n" + "".join(rows) + "x,y\n")
    *_, last = stream_table(path, kinds={"n": "number"})
    assert last["n"].to_pylist()[-2:] == ["199999", "x"]
    path = write("c.csv", "n,t\n" + "".join(rows) + "1\n")
    for read in (read_table, lambda path: list(stream_table(path))):
        with pytest.raises(InputError, match=r"c\.csv: row 200001 has 1 field, the header has 2"):
            read(path)


@pytest.mark.parametrize("quote", ["", '"'])
def test_numbers_that_only_people_write_in_some_blocks(
    write: Write, monkeypatch: pytest.MonkeyPatch, quote: str
) -> None:
    monkeypatch.setattr(csv_reading, "_BLOCK_BYTES", 1000)
    written, read = ["1.5", " 2 ", "NA", "-7e2"], [1.5, 2.0, None, -700.0]
    people_write, they_mean = ["-", "1,234.5", "−5", "+3"], [None, 1234.5, -5.0, 3.0]
    cells = [*written * 100, *people_write, *written * 100, *people_write]
    rows = [f"{k}\t{cell}\t{'Yes' if k % 2 else 'no'}\t{quote}x{quote}\n" for k, cell in enumerate(cells)]
    path = write("a.csv", "k\tn\tb\tt\n" + "".join(rows))
    kinds = {"k": "number", "n": "number", "b": "boolean", "t": "category"}
    table = pa.concat_tables(stream_table(path, 100, kinds))
    assert table["k"].to_pylist() == list(range(len(cells)))
    assert table["n"].to_pylist() == [*read * 100, *they_mean, *read * 100, *they_mean]
    assert table["b"].to_pylist() == [k % 2 == 1 for k in range(len(cells))]
    path = write("b.csv", "k\tn\tb\tt\n" + "".join(rows) + "1\tabc\tno\tx\n")
    assert list(stream_table(path, 100, kinds))[-1]["n"].to_pylist()[-2:] == ["+3", "abc"]


def test_only_a_column_that_needs_it_is_read_as_text(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    types_of_calls = []

    def parse_block(block: object, dialect: object, types: dict[str, pa.DataType]) -> pa.Table:
        types_of_calls.append(types)
        return csv_reading.parse_block(block, dialect, types)

    monkeypatch.setattr(csv_streaming, "parse_block", parse_block)
    monkeypatch.setattr(csv_reading, "_BLOCK_BYTES", 1000)
    monkeypatch.setattr(csv_reading, "_N_THREADS", 1)
    path = write("a.csv", "a,b\n" + "1,-\n" * 1000)
    assert pa.concat_tables(stream_table(path, 100, {"a": "number", "b": "number"})).num_rows == 1000
    number, text = pa.float64(), pa.string()
    assert [tuple(types.values()) for types in types_of_calls] == [
        (number, number),  # the first block, refused
        (text, text),  # the same
        *[(number, text)] * (len(types_of_calls) - 2),
    ]
    assert len(types_of_calls) > 4


def test_types_are_stable_across_chunks(write: Write) -> None:
    content = "n,b,t,d\n" + "1,0,5,2024-01-31\n" * 3 + ",,,\n" * 3 + "2.5,true,x,12:30\n" * 3 + " 7 ,1.0,y,\n" * 3
    kinds = {"n": "number", "b": "boolean", "t": "category", "d": "date"}
    chunks = list(stream_table(write("a.csv", content), 3, kinds))
    expected = (pa.float64(), pa.bool_(), pa.dictionary(pa.int32(), pa.string()), pa.string())
    assert {tuple(chunk.schema.types) for chunk in chunks} == {expected}
    assert [chunk["b"][0].as_py() for chunk in chunks] == [False, None, True, True]


# Bad files: the whole message, for reading at once and in chunks


ARFF = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n"
BAD_FILES = {
    "ragged.csv": ("a,b\n1,2\n\n3\n", "row 2 has 1 field, the header has 2"),
    "long.csv": ("a,b\n1,2\n3,4,5\n", "row 2 has 3 fields, the header has 2"),
    "all-short.csv": ("a,b,c\n1,2\n3,4\n", "row 1 has 2 fields, the header has 3"),
    "empty.csv": ("", "the file is empty"),
    "blank.csv": ("\n \n", "the file is empty"),
    "header.csv": ("a,b\n", "no rows, only a header"),
    "header without an end.csv": ("a,b", "no rows, only a header"),
    "title.csv": (
        "Report of May\n\na,b\n1,2\n",
        "row 1 has 2 fields, the header has 1; the first line must be the header, and here it is 'Report of May'",
    ),
    "delimiter at the end.csv": (
        "a,b\n1,2,\n3,4,\n",
        "row 1 has 3 fields, the header has 2; delete what separates columns at its end, or name that column too",
    ),
    "spaces.txt": (
        "a b c\n1  2.5 x\n-3 1e5 y\n",
        "the columns are separated by spaces; expected commas, semicolons, tabs or |",
    ),
    "long row.csv": ("a,b\n1," + "x" * (3 << 20) + "\n", "a row is longer than 1,048,576 bytes"),
    "long line.csv": ("a" * (1 << 25), "the first line has more than 16,777,216 characters"),
    "old.xls": ("a,b\n1,2\n", ".xls files are not read; save the table as CSV, Parquet, JSON lines or .xlsx"),
    "array.json": ('[{"a": 1}]', "not a file with one JSON object a line"),
    "ole.csv": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "not a text file"),
    "twice.csv": ("a,b,a\n1,2,3\n", "two columns are called 'a'"),
    "quoted header.csv": ('"a,b\n1,2\n3,4\n', "the header: a quotation mark is opened and never closed"),
    "quote.csv": ('a,b\n1,2\n3,"4\n5,6\n7,8\n', "row 2: a quotation mark is opened and never closed"),
    "binary.csv": (bytes(range(256)), "not a text file; expected CSV, or a name that ends in .parquet or .arff"),
    "text.parquet": ("a,b\n1,2\n", "cannot be read (Parquet magic bytes not found in footer"),
    "empty.parquet": ("", "cannot be read (Parquet file size is 0 bytes"),
    "sparse.arff": (ARFF + "1,x\n{0 2, 1 y}\n", "row 2 is sparse ({0 2, 1 y}); expected dense rows"),
    "number.arff": (ARFF + "1,x\nfoo,y\n", "not a readable ARFF file (Invalid numerical value, at line 6)"),
    "nominal.arff": (ARFF + "1,z\n", "not a readable ARFF file (Data value z not found"),
    "ragged.arff": (ARFF + "1\n", "not a readable ARFF file (Bad @DATA instance format in line 5"),
    "twice.arff": (ARFF.replace(" b ", " a "), "not a readable ARFF file (Bad @ATTRIBUTE name a at line 3"),
    "header.arff": (ARFF, "no rows, only a header"),
    "text.arff": ("hello", "not a readable ARFF file (Invalid layout of the ARFF file, at line 1)"),
}


@pytest.mark.parametrize("name", BAD_FILES)
@pytest.mark.parametrize("read", [read_table, lambda path: list(stream_table(path))], ids=["whole", "stream"])
def test_bad_file_is_one_line_that_names_it(write: Write, name: str, read: Callable[[Path], object]) -> None:
    content, problem = BAD_FILES[name]
    path = write(name, content)
    with pytest.raises(InputError) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {problem}")
    assert "\n" not in message


def test_a_delimiter_at_the_end_of_the_header(write: Write) -> None:
    problem = "row 1 has 2 fields, the header has 3; delete what separates columns at the end of the header$"
    with pytest.warns(UserWarning, match="ignored column ''"), pytest.raises(InputError, match=problem):
        read_table(write("a.csv", "a,b,\n1,2\n3,4\n"))


def test_absent_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.csv: cannot be read \(No such file or directory\)"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(FileError, match=r"none\.parquet: cannot be read"):
        list(stream_table(tmp_path / "none.parquet"))
    with pytest.raises(FileError, match="cannot be read"):
        read_table(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_corrupt_parquet(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"a": np.arange(1000.0), "t": ["x"] * 1000}), path)
    content = bytearray(path.read_bytes())
    content = content[: len(content) // 2] if damage == "cut" else content[:4] + b"\xff" * 400 + content[404:]
    path.write_bytes(content)
    for read in (read_table, lambda path: list(stream_table(path))):
        with pytest.raises(InputError, match=r"a\.parquet: cannot be read \(") as caught:
            read(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("row", "cell"), [(1, "abc"), (3, "1,5"), (150, "1 2"), (4001, "0x10")])
def test_numbers_are_text_only_in_chunks_near_a_bad_cell(
    write: Write, monkeypatch: pytest.MonkeyPatch, row: int, cell: str
) -> None:
    monkeypatch.setattr(csv_reading, "_BLOCK_BYTES", 1000)
    cells = ["1.5", "", " -2 ", "NA"] * 2000
    cells[row - 1] = cell
    path = write("m1.csv", "x;temp\n" + "".join(f"7.5;{cell}\n" for cell in cells))
    chunks = list(stream_table(path, 100, {"temp": "number"}))
    assert max(map(len, chunks)) == 100
    assert [value for chunk in chunks for value in chunk["temp"].to_pylist()][row - 1] == cell
    assert sum(chunk["temp"].type == pa.string() for chunk in chunks) < 5


def test_a_bad_cell_among_decimal_commas_leaves_the_other_numbers_as_they_are(write: Write) -> None:
    path = write("m1.csv", "x;temp\n" + "7,5;1.234,5\n" * 50 + "7,5;error\n" + "7,5;2,5\n" * 50)
    (chunk,) = stream_table(path, kinds={"x": "number", "temp": "number"})
    assert chunk["x"].type == pa.float64()
    assert chunk["temp"].to_pylist() == ["1234.5"] * 50 + ["error"] + ["2.5"] * 50


def test_formats_are_chosen_by_suffix_in_any_case(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2]})
    pyarrow.parquet.write_table(table, tmp_path / "a.PQ")
    pyarrow.csv.write_csv(table, tmp_path / "a.data")
    for name in ("a.PQ", "a.data"):
        assert read_table(tmp_path / name).to_pydict() == {"a": [1, 2]}


def test_numbers_and_text_in_a_column_of_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [{"a": 1.5, "b": True}, {"a": "NA", "b": "x"}, {"a": 3, "c": 2**70}, {"a": None, "b": 1}]
    path.write_text("\n\n".join(map(json.dumps, lines)) + "\n")
    expected = {"a": ["1.5", "NA", "3", None], "b": ["True", "x", None, "1"], "c": [None, None, str(2**70), None]}
    assert read_table(path).to_pydict() == expected
    assert pa.concat_tables(stream_table(path, 3)).to_pydict() == expected
    encoding = Encoding.fit([{"a": read_table(path)["a"]}])
    assert encoding.kinds == {"a": "number"}
    path.write_text('{"a": 1}\n{"a": "x"}\n{"a": \n')
    with pytest.raises(InputError, match="not a file with one JSON object a line"):
        read_table(path)


@pytest.mark.parametrize(
    ("content", "line"), [(b"null", 1), (b"\xef\xbb\xbf null\n", 1), (b'{"a": 1}\n{"a": 2}\n null {"a": 3}', 3)]
)
def test_a_line_of_json_that_is_null_is_refused(content: bytes, line: int, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"not a file with one JSON object a line \(line {line} is none\)"):
        read_table(path)


def test_a_format_is_added_by_its_suffix(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_lengths(path: Path, text_columns: object = ()) -> pa.Table:
        return pa.table({"length": [len(line) for line in path.read_text().splitlines()]})

    lines = FileFormat(read_lengths, lambda path, chunk_rows, kinds: iter(read_lengths(path).to_batches(chunk_rows)))
    monkeypatch.setitem(FORMATS, ".lines", lines)
    path = write("a.lines", "one\nthree\n")
    assert read_table(path).to_pydict() == {"length": [3, 5]}
    assert [chunk.to_pydict() for chunk in stream_table(path, 1)] == [{"length": [3]}, {"length": [5]}]
