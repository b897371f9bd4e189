import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from oddshot.data.tables import read_support, read_tasks
from oddshot.data.tables.label_meaning import LabelMeaning
from oddshot.errors import FileError, InputError

Write = Callable[..., Path]


@pytest.fixture
def fleet(write: Write) -> Path:
    write("m2.csv", "fault;colour;temp\n1;blue;5,5\n-1;;6\n")
    pyarrow.parquet.write_table(pa.table({"colour": ["red"], "temp": [7], "fault": [True]}), write("m3.parquet", b""))
    return write("m1.csv", "temp,colour,fault\n1,red,0\n2,blue,1\n3,red,\n").parent


def test_one_task_a_file(fleet: Path) -> None:
    tasks = read_tasks(fleet / "m*", label="fault")
    assert [task.name for task in tasks] == ["m1", "m2", "m3"]
    assert [task.y.tolist() for task in tasks] == [[0, 1, -1], [1, -1], [1]]
    assert [task.X.column_names for task in tasks] == [["temp", "colour"]] * 3
    assert tasks[1].X.to_pydict() == {"temp": [5.5, 6.0], "colour": ["blue", None]}


def test_more_anomalies_than_normal_rows_are_warned_of(write: Write) -> None:
    path = write("m.csv", "a,fault\n" + "1,1\n" * 30 + "2,0\n" * 9)
    with pytest.warns(UserWarning, match=r"^column 'fault': 30 rows are labelled anomalous and only 9 normal: are the"):
        read_tasks(path, "fault")


def test_paths_patterns_and_lists(fleet: Path) -> None:
    paths = [fleet / "m2.csv", str(fleet / "m*.csv")]
    with pytest.warns(UserWarning, match=r"m2\.csv: named twice, and read once"):
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
    seen = "values seen: 'ok', 'broken' (did you mean 'broken'?)"
    assert str(caught.value) == f"{paths[0]} and 1 more: no row has 'y' = 'Broken'; {seen}"


def test_several_values_of_anomalies_or_of_normal_rows(write: Write) -> None:
    paths = [
        write("a.csv", "x,y\n1,ok\n2,bearing\n"),
        write("b.csv", "x,y\n1,leak\n2,\n"),
        write("c.csv", "x,y\n1,ok\n"),
    ]
    expected = [[0, 1], [1, -1], [0]]
    for options in ({"anomaly_value": ["bearing", "leak"]}, {"normal_value": "ok"}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert [task.y.tolist() for task in read_tasks(paths, "y", **options)] == expected
    with pytest.warns(UserWarning, match=r"no row has 'y' = 'laek'; values seen: .*; taken as normal: 'ok', 'leak'$"):
        assert [task.y.tolist() for task in read_tasks(paths, "y", anomaly_value=["bearing", "laek"])][1] == [0, -1]
    with pytest.raises(
        InputError, match=r"and 2 more: no row has 'y' = 'a' or 'b'; values seen: 'ok', 'bearing', 'leak'$"
    ):
        read_tasks(paths, "y", normal_value=["a", "b"])
    with pytest.raises(InputError, match=r"^anomaly_value and normal_value exclude each other"):
        read_tasks(paths, "y", anomaly_value="leak", normal_value="ok")
    with pytest.raises(InputError, match=r"e\.csv: no row has 'y' = 'ok'; values seen: none$"):
        read_tasks(write("e.csv", "x,y\n1,\n2,\n"), "y", normal_value="ok")


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
    assert " --" not in str(caught.value)  # options are words of the command line


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
    _, y = read_support(fleet / "m1.csv", "colour", LabelMeaning.of("blue", None))
    assert y.tolist() == [0, 1, 0]


def test_a_support_without_the_anomaly_value(fleet: Path) -> None:
    message = r"m1\.csv: no row has 'colour' = '%s'; values seen: 'red', 'blue'"
    with pytest.raises(InputError, match=message % "green"):
        read_support(fleet / "m1.csv", "colour", LabelMeaning.of("green", None))
    with pytest.raises(InputError, match=message % "Red" + r" \(did you mean 'red'\?\)"):
        read_support(fleet / "m1.csv", "colour", LabelMeaning.of("Red", None))
    (fleet / "alike.csv").write_text("n,state\n1,good\n2,bad\n3, Bad\n")
    with pytest.warns(UserWarning, match=r"alike\.csv: labels 'Bad' are taken as normal, and only 'bad' as anomalous"):
        assert read_support(fleet / "alike.csv", "state", LabelMeaning.of("bad", None))[1].tolist() == [0, 1, 0]
    (fleet / "good.csv").write_text("n,state\n1,good\n2,good\n")
    with pytest.warns(UserWarning, match=r"good\.csv: no row has 'state' = 'bad'; values seen: 'good'"):
        _, y = read_support(
            fleet / "good.csv", "state", LabelMeaning.of("bad", None)
        )  # normal rows alone are a support
    assert y.tolist() == [0, 0]


def test_a_support_may_lack_one_of_several_values(fleet: Path) -> None:
    path = fleet / "states.csv"
    path.write_text("n,state\n1,ok\n2,leak\n3,\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for meaning in (LabelMeaning.of(["bearing", "leak"], None), LabelMeaning.of(None, ["ok", "idle"])):
            assert read_support(path, "state", meaning)[1].tolist() == [0, 1, -1]
    with pytest.raises(InputError, match=r"states\.csv: no row has 'state' = 'fine'; values seen: 'ok', 'leak'$"):
        read_support(path, "state", LabelMeaning.of(None, "fine"))
    path.write_text("n,state\n1,ok\n2,leak\n3,Ok\n")
    with pytest.warns(UserWarning, match=r"labels 'Ok' are taken as anomalous, and only 'ok' as normal"):
        assert read_support(path, "state", LabelMeaning.of(None, "ok"))[1].tolist() == [0, 1, 1]
