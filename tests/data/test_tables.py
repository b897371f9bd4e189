import datetime
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from oddshot.data.tables import as_table, parse_labels, read_support, read_table, read_tasks, stream_table
from oddshot.errors import FileError, InputError

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, content: str | bytes, encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


@pytest.fixture(autouse=True)
def _no_warnings() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# Reading


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_csv_delimiter_and_encoding(write: Write, delimiter: str, encoding: str, newline: str) -> None:
    lines = ["größe;n", "straße;1", "été;2", ";3"]
    path = write("a.csv", newline.join(lines).replace(";", delimiter) + newline, encoding)
    expected = {"größe": ["straße", "été", None], "n": [1, 2, 3]}
    assert read_table(path).to_pydict() == expected
    (chunk,) = stream_table(path, kinds={"n": "number"})
    assert chunk.to_pydict() == expected


def test_latin_1_far_into_the_file(write: Write) -> None:
    path = write("a.csv", b"n,t\n" + b"1,x\n" * 2_000_000 + b"2,\xe9\n")
    assert read_table(path)["t"][-1].as_py() == "é"


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
    ("start", "end", "kind"), [("1", "1.5", pa.float64()), ("", "7", pa.int64()), ("1", "x", None)]
)
def test_csv_whose_end_is_not_like_its_start(write: Write, start: str, end: str, kind: pa.DataType | None) -> None:
    path = write("a.csv", "a,b\n" + f"{start},some text to fill the file\n" * 150_000 + f"{end},\n")
    column = read_table(path)["a"]
    assert len(column) == 150_001
    assert column.type == (kind or column.type)
    assert str(column[-1].as_py()) == end
    assert column[0].as_py() in (1, "1", None)


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
    with pytest.raises(InputError, match=r"b\.csv: row 200001, column 'n': 'x' is not a number"):
        list(stream_table(path, kinds={"n": "number"}))
    path = write("c.csv", "n,t\n" + "".join(rows) + "1\n")
    for read in (read_table, lambda path: list(stream_table(path))):
        with pytest.raises(InputError, match=r"c\.csv: row 200001 has 1 field, the header has 2"):
            read(path)


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
    "twice.csv": ("a,b,a\n1,2,3\n", "two columns are called 'a'"),
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
def test_text_in_a_number_column_of_a_stream(write: Write, row: int, cell: str) -> None:
    cells = ["1.5", "", " -2 ", "NA"] * 2000
    cells[row - 1] = cell
    path = write("m1.csv", "x;temp\n" + "".join(f"7.5;{cell}\n" for cell in cells))
    with pytest.raises(InputError) as caught:
        list(stream_table(path, 100, {"temp": "number"}))
    assert str(caught.value) == f"{path}: row {row}, column 'temp': {cell!r} is not a number"


# Frames


def test_as_table_from_every_kind_of_frame() -> None:
    columns = {"n": [1.5, None], "t": ["a", None], "d": [datetime.datetime(2024, 1, 31), None]}
    for X in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns), columns):
        assert as_table(X).to_pydict() == columns
    assert as_table(pa.table(columns).to_batches()[0]).to_pydict() == columns


def test_as_table_from_arrays() -> None:
    assert as_table(np.arange(4).reshape(2, 2)).to_pydict() == {"x0": [0, 2], "x1": [1, 3]}
    assert as_table([[1, 2.5]]).to_pydict() == {"x0": [1], "x1": [2.5]}
    mixed = np.array([[1, "a"], [None, 2]], object)
    assert as_table(mixed).to_pydict() == {"x0": [1, None], "x1": ["a", "2"]}
    swapped = np.array([[1.5]]).astype(">f8")
    assert as_table(swapped).to_pydict() == {"x0": [1.5]}


def test_as_table_from_awkward_frames() -> None:
    frame = pd.DataFrame([[1, "b", pd.NA], ["a", 2.5, None]], columns=[0, "t", ("u", 1)])
    assert as_table(frame).to_pydict() == {"0": ["1", "a"], "t": ["b", "2.5"], "('u', 1)": [None, None]}
    categorical = pl.DataFrame({"c": ["x", "y"]}, schema={"c": pl.Categorical})
    assert as_table(categorical)["c"].to_pylist() == ["x", "y"]


@pytest.mark.parametrize(
    ("X", "problem"),
    [
        (np.zeros(3), "1-D array; expected a 2-D array"),
        ([[1, 2], [3]], "rows of different lengths"),
        (np.zeros((2, 2), complex), "complex numbers"),
        ("a.csv", "a str is not a table"),
        ({"a": [1], "b": [1, 2]}, "columns of different lengths"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns are called 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), "two columns are called 'a'"),
    ],
)
def test_what_is_no_table(X: object, problem: str) -> None:
    with pytest.raises(InputError, match=f"X: {problem}"):
        as_table(X, where="X")


# Labels


@pytest.mark.parametrize(
    "column",
    [
        [1, 0, -1, None],
        [1.0, 0.0, -1.0, float("nan")],
        ["1", "0", "-1", ""],
        [" 1.0", "0 ", "-1.0", None],
        pa.chunked_array([["1", "0"], ["-1", None]]).dictionary_encode(),
        pd.Series([1, 0, -1, None]),
        np.array([1, 0, -1, np.nan]),
    ],
)
def test_labels(column: object) -> None:
    labels = parse_labels(column)
    assert labels.dtype == np.int8
    assert labels.tolist() == [1, 0, -1, -1]


def test_truths_are_labels() -> None:
    assert parse_labels([True, False, None]).tolist() == [1, 0, -1]
    assert parse_labels(["True", "FALSE", "false"]).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (["bad", "good", None, " bad ", "-1"], "bad", [1, 0, -1, 1, 0]),
        ([1, 2, 2, None], "2", [0, 1, 1, -1]),
        (["1", "1.0", "01", "x"], 1, [1, 1, 1, 0]),
        ([True, False], "True", [1, 0]),
        (["1", "0"], "0", [0, 1]),
    ],
)
def test_anomaly_value(column: list[object], value: object, expected: list[int]) -> None:
    assert parse_labels(column, value).tolist() == expected


@pytest.mark.parametrize(("column", "shown"), [([0, 1, 2], "2"), (["1", "0", "yes"], "'yes'"), ([1, 0, 0.5], "0.5")])
def test_other_labels_are_refused(column: list[object], shown: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_labels(column, where="m1.csv", name="fault")
    message = str(caught.value)
    assert message.startswith(f"m1.csv: row 3, column 'fault': {shown} is not a label; expected 1, 0, -1 or empty")
    assert "--anomaly-value" in message


# Tasks


@pytest.fixture
def fleet(write: Write) -> Path:
    write("m1.csv", "temp,colour,fault\n1,red,0\n2,blue,1\n3,red,\n")
    write("m2.csv", "fault;colour;temp\n1;blue;5,5\n-1;;6\n")
    pyarrow.parquet.write_table(pa.table({"colour": ["red"], "temp": [7], "fault": [True]}), write("m3.parquet", b""))
    return write("m1.csv", "temp,colour,fault\n1,red,0\n2,blue,1\n3,red,\n").parent


def test_one_task_a_file(fleet: Path) -> None:
    tasks = read_tasks(fleet / "m*", label="fault")
    assert [task.name for task in tasks] == ["m1", "m2", "m3"]
    assert [task.y.tolist() for task in tasks] == [[0, 1, -1], [1, -1], [1]]
    assert [task.X.column_names for task in tasks] == [["temp", "colour"]] * 3
    assert tasks[1].X.to_pydict() == {"temp": [5.5, 6.0], "colour": ["blue", None]}


def test_paths_patterns_and_lists(fleet: Path) -> None:
    paths = [fleet / "m2.csv", str(fleet / "m*.csv")]
    assert [task.name for task in read_tasks(paths, "fault")] == ["m2", "m1"]
    assert [task.name for task in read_tasks(str(fleet / "m1.csv"), "fault")] == ["m1"]


def test_files_of_the_same_name_are_told_apart(write: Write, tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write(f"{folder}/m.csv", "x,y\n1,0\n")
    names = [task.name for task in read_tasks(str(tmp_path / "*" / "m.csv"), "y")]
    assert names == [str(tmp_path / "a" / "m.csv"), str(tmp_path / "b" / "m.csv")]


def test_tasks_by_a_column(write: Write) -> None:
    content = "temp,machine,fault\n1,007,0\n2,b,1\n3,007,\nx,b,0\n"
    one = write("one.csv", content)
    tasks = read_tasks(one, "fault", task="machine")
    assert [(task.name, task.X.to_pydict(), task.y.tolist()) for task in tasks] == [
        ("007", {"temp": ["1", "3"]}, [0, -1]),
        ("b", {"temp": ["2", "x"]}, [1, 0]),
    ]


def test_a_task_in_several_files(write: Write) -> None:
    first = write("1.csv", "temp,colour,on,machine,fault\n1,red,true,a,0\n2.5,red,true,b,1\n")
    second = write("2.csv", "temp,colour,on,machine,fault\n3,5,no,b,0\n4,6,no,a,1\n")
    tasks = read_tasks([first, second], "fault", task="machine")
    assert [(task.name, task.X.to_pydict(), task.y.tolist()) for task in tasks] == [
        ("a", {"temp": [1, 4], "colour": ["red", "6"], "on": ["true", "no"]}, [0, 1]),
        ("b", {"temp": [2.5, 3], "colour": ["red", "5"], "on": ["true", "no"]}, [1, 0]),
    ]


def test_numbered_tasks_of_parquet(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2, 3], "task": [2, 10, 2], "y": [0, 1, 0]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    tasks = read_tasks(tmp_path / "a.parquet", "y", task="task")
    assert [(task.name, task.X["x"].to_pylist()) for task in tasks] == [("2", [1, 3]), ("10", [2])]


def test_only_anomalies_are_legal_here(write: Write) -> None:
    (task,) = read_tasks(write("a.csv", "x,y\n1,1\n2,1\n"), "y")
    assert task.y.tolist() == [1, 1]


def test_text_labels_over_all_files(write: Write) -> None:
    paths = [write("a.csv", "x,y\n1,ok\n2,ok\n"), write("b.csv", "x,y\n1,broken\n2,\n")]
    assert [task.y.tolist() for task in read_tasks(paths, "y", anomaly_value="broken")] == [[0, 0], [1, -1]]
    with pytest.raises(InputError) as caught:
        read_tasks(paths, "y", anomaly_value="Broken")
    assert str(caught.value) == (f"{paths[0]} and 1 more: no row has 'y' = 'Broken'; values seen: 'ok', 'broken'")


def test_extra_columns_are_ignored_with_a_notice(write: Write) -> None:
    paths = [write("a.csv", "x,y\n1,0\n"), write("b.csv", "z,y,w,x\n9,1,9,2\n")]
    with pytest.warns(UserWarning, match=r"b\.csv: ignored unknown columns: 'z', 'w'"):
        tasks = read_tasks(paths, "y")
    assert tasks[1].X.to_pydict() == {"x": [2]}


BAD_TASKS = [
    ("a,b\n1,0\n", {"label": "fault"}, "{path}: no column 'fault'; its columns are 'a', 'b'"),
    ("a,b\n1,0\n", {"label": "b", "task": "machine"}, "{path}: no column 'machine'; its columns are 'a', 'b'"),
    ("a,b\n1,0\n", {"label": "b", "task": "b"}, "column 'b' cannot hold both the labels and the tasks"),
    ("b,a,b\n1,2,0\n", {"label": "b"}, "{path}: two columns are called 'b'"),
    ("b\n1\n", {"label": "b"}, "{path}: no columns other than 'b'"),
    ("a,b\n1,0\n2,maybe\n", {"label": "b"}, "{path}: row 2, column 'b': 'maybe' is not a label; "),
    (
        "a,m,b\n1,x,0\n2,,0\n",
        {"label": "b", "task": "m"},
        "{path}: row 2, column 'm': '' is no task; each row needs one",
    ),
    ("a,b\n1,x\n", {"label": "b", "anomaly_value": "z"}, "{path}: no row has 'b' = 'z'; values seen: 'x'"),
]


@pytest.mark.parametrize(("content", "options", "problem"), BAD_TASKS)
def test_bad_tasks(write: Write, content: str, options: dict[str, str], problem: str) -> None:
    path = write("a.csv", content)
    with pytest.raises(InputError) as caught:
        read_tasks(path, **options)
    assert str(caught.value).startswith(problem.format(path=path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ("tempo,fault\n1,0\n", "column 'temp' is missing (renamed to 'tempo'?)"),
        ("fault\n1\n", "no columns other than 'fault'"),
        ("a,b,fault\n1,2,0\n", "column 'temp' is missing"),
    ],
)
def test_a_column_missing_in_a_later_file(write: Write, second: str, problem: str) -> None:
    paths = [write("a.csv", "temp,fault\n1,0\n"), write("b.csv", second)]
    with pytest.raises(InputError) as caught:
        read_tasks(paths, "fault")
    assert str(caught.value) == f"{paths[1]}: {problem}"


def test_no_files(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no file matches '.*/\*\.csv'"):
        read_tasks(str(tmp_path / "*.csv"), "y")
    with pytest.raises(InputError, match="no files given"):
        read_tasks([], "y")
    with pytest.raises(FileError, match=r"a folder; expected files, such as '.*/\*\.csv'"):
        read_tasks(tmp_path, "y")


def test_support(fleet: Path) -> None:
    X, y = read_support(fleet / "m1.csv", "fault")
    assert X.to_pydict() == {"temp": [1, 2, 3], "colour": ["red", "blue", "red"]}
    assert y.tolist() == [0, 1, -1]
    _, y = read_support(fleet / "m1.csv", "colour", anomaly_value="blue")
    assert y.tolist() == [0, 1, 0]


def test_a_support_without_the_anomaly_value_is_told(fleet: Path) -> None:
    with pytest.warns(UserWarning, match=r"m1\.csv: no row has 'colour' = 'green'; values seen: 'red', 'blue'"):
        _, y = read_support(fleet / "m1.csv", "colour", anomaly_value="green")
    assert y.tolist() == [0, 0, 0]
