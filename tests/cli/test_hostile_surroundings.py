"""Names, folders and streams that no program expects: one line, and never a traceback."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from oddshot.data import files
from tests.cli.test_train_score_info import COMMAND, folder, labelled, oddshot, refusal, score  # noqa: F401  (fixtures)

NOT_UTF8 = os.fsdecode(b"new\xff.csv")


def run(*arguments, **streams):
    done = subprocess.run([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True, timeout=120, **streams)
    return done.returncode, done.stderr.splitlines()


def test_two_columns_of_one_name(refusal):  # noqa: F811
    column = pa.array(np.arange(9.0))
    pyarrow.parquet.write_table(pa.table([column, column], names=["a", "a"]), "twice.parquet")
    expected = "twice.parquet: two columns are called 'a'"
    assert refusal("info", "twice.parquet") == expected
    assert refusal(*score("twice.parquet")) == expected


def test_a_folder_that_may_not_be_searched(refusal, monkeypatch):  # noqa: F811
    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(files.Path, "exists", refuse)
        assert refusal(*score(out="scores.csv")) == "cannot write scores.csv: Permission denied"


def test_long_names(refusal, oddshot):  # noqa: F811
    longest, too_long = "x" * 251 + ".csv", "x" * 300 + ".csv"
    assert refusal(*score(out=too_long)) == f"cannot write {too_long}: File name too long"
    for command in (("info", too_long), score(too_long)):
        assert refusal(*command) == f"{too_long}: cannot be read (File name too long)"
    assert oddshot(*score(out=longest))[0] == 0
    assert Path(longest).is_file()


def test_names_that_are_not_utf8(refusal, oddshot):  # noqa: F811
    Path(NOT_UTF8).write_bytes(Path("new.csv").read_bytes())
    for command in (("info", NOT_UTF8), score(NOT_UTF8)):
        assert refusal(*command) == "new\\udcff.csv: the name is not UTF-8; rename the file"
    code, out, _ = oddshot(*score(out=NOT_UTF8))
    assert code == 0
    assert "written: new\\udcff.csv\n" in out


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_scores_in_a_folder_whose_name_is_not_utf8(folder, oddshot, monkeypatch, suffix):  # noqa: F811
    inner = folder / os.fsdecode(b"\xff")
    inner.mkdir()
    for name in ("support.csv", "new.csv", "model.safetensors"):
        (inner / name).write_bytes(Path(name).read_bytes())
    monkeypatch.chdir(inner)
    assert oddshot(*score(out=f"scores{suffix}"))[0] == 0


def test_a_deleted_working_folder(folder, oddshot, monkeypatch):  # noqa: F811
    os.mkdir("gone")
    monkeypatch.chdir("gone")
    os.rmdir(folder / "gone")
    assert oddshot("data", "list") == (2, "", ["oddshot: the working folder was deleted; go to another one"])


@pytest.mark.parametrize("arguments", [("info", "new.csv"), ("--help",), ("data", "list"), score(out="-")])
def test_a_full_disk_behind_standard_output(folder, arguments):  # noqa: F811
    with open("/dev/full", "w") as full:
        code, errors = run(*arguments, stdout=full)
    assert code == 1
    assert errors[-1].startswith("oddshot: ")
    assert errors[-1].endswith("standard output: No space left on device")
    assert not any("Error" in line for line in errors)


def test_closed_streams(folder):  # noqa: F811
    line = "oddshot: standard output is closed; redirect it to a file, or to /dev/null"
    assert run("info", "new.csv", preexec_fn=lambda: os.close(1)) == (2, [line])
    code, errors = run(*score("-", out="scores.csv"), preexec_fn=lambda: os.close(0))
    assert (code, errors[-1]) == (2, "oddshot: -: standard input is closed")
    done = subprocess.run([*COMMAND, "info", "nowhere"], stdout=subprocess.PIPE, preexec_fn=lambda: os.close(2))
    assert (done.returncode, done.stdout) == (2, b"")


def test_names_of_columns_cannot_steer_the_terminal(folder, oddshot):  # noqa: F811
    name = "loud\x1b[31m"
    labelled(9, 10).assign(**{name: np.arange(10.0) % 4}).to_csv("loud.csv", index=False)
    for command in (("info", "loud.csv"), ("score", "loud.csv", "--support=loud.csv", "--label=fault", "--out=o.csv")):
        code, out, errors = oddshot(*command)
        assert code == 0
        assert "loud\\x1b[31m" in out
        assert "\x1b" not in out + "".join(errors)


def test_a_file_name_is_no_formula(folder, oddshot):  # noqa: F811
    Path("=1+1.csv").write_bytes(Path("new.csv").read_bytes())
    assert oddshot(*score("=1+1.csv"))[0] == 0
    assert Path("scores.csv").read_text().splitlines()[1].startswith('"\'=1+1.csv",1,')


def test_empty_names_of_files(refusal):  # noqa: F811
    """Such as those of variables of the shell that have no value."""
    assert refusal(*score(out="")) == "--out: the name of a file to write is empty, or . alone"
    assert refusal(*score(), "--json", "") == "--json: the name of a file to write is empty, or . alone"
    assert refusal("info", "new.csv", "--json", "") == "--json: the name of a file to write is empty, or . alone"
    assert refusal("train", "labelled.csv", "--label", "fault", "--out", "") == (
        "--out: the name of a file to write is empty, or . alone"
    )
    for command in (("info", ""), (*score(), "--support", ""), (*score(), "--model", "")):
        assert refusal(*command) == "the name of a file to read is empty, or . alone"


def test_info_names_the_columns_where_there_is_no_such_label(refusal):  # noqa: F811
    assert refusal("info", "new.csv", "--label", "none").startswith("new.csv: no column 'none'; its columns are '")
