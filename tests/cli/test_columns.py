"""What people say of columns on the command line, and what the commands say of them."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from oddshot import load_model
from oddshot.data.tables import packed_files
from tests.cli.test_train_score_info import SMALL, folder, oddshot, refusal  # noqa: F401  (fixtures)

N_ROWS = 200


@pytest.fixture
def log(folder):  # noqa: F811
    """A log with a running number and a date, its first rows labelled, and the truth of the others."""
    rng = np.random.default_rng(0)
    truth = (rng.random(N_ROWS) < 0.1).astype(int)
    truth[:6] = [0, 0, 0, 0, 0, 1]
    frame = pd.DataFrame(rng.normal(size=(N_ROWS, 4)) + 3 * truth[:, None], columns=list("abcd")).round(3)
    frame["id"] = np.arange(N_ROWS) + 1000
    frame["seen"] = pd.date_range("2024-01-01", periods=N_ROWS, freq="10min").strftime("%d.%m.%Y %H:%M")
    frame["price"] = [f"${price:,.2f}" for price in 2000 * frame["a"]]
    frame.head(6).assign(state=np.where(truth[:6] == 1, "bad", "good")).to_csv("first.csv", index=False)
    frame.tail(N_ROWS - 6).to_csv("log.csv", index=False)
    return truth[6:]


SCORE = ("score", "--support", "first.csv", "--label", "state", "--anomaly-value", "bad")


def test_a_running_number_and_a_clock_do_not_ruin_the_ranking(log, oddshot):  # noqa: F811
    code, out, errors = oddshot(*SCORE, "log.csv", "--out", "scores.csv")
    assert code == 0
    assert "5 numbers: a, b, c, d, price (in $)" in out
    assert "dropped id: a number that runs with the rows" in out
    assert "dropped seen: dates in which nothing recurs" in out
    assert any("left out 'id': a number that runs with the rows; 'seen': dates" in line for line in errors)
    scores = pd.read_csv("scores.csv")
    assert roc_auc_score(log, scores["score"]) > 0.95
    assert scores["anomaly"].mean() < 0.4


def test_quiet_prints_no_columns(log, oddshot):  # noqa: F811
    _, out, _ = oddshot(*SCORE, "log.csv", "--out", "scores.csv", "--quiet")
    assert out.splitlines()[0].startswith("194 rows scored")


def test_a_column_that_has_moved_is_named(log, oddshot):  # noqa: F811
    _, out, errors = oddshot(*SCORE, "log.csv", "--out", "scores.csv", "--kind", "id=number")
    assert "6 numbers" in out
    assert any("log.csv: column 'id': 19" in line and "of 194 rows to score lie beyond" in line for line in errors)


def test_a_second_column_of_labels_is_named(log, oddshot):  # noqa: F811
    pd.read_csv("first.csv").assign(fault=lambda frame: frame["state"] == "bad").to_csv("first.csv", index=False)
    pd.read_csv("log.csv").assign(fault=False).to_csv("log.csv", index=False)
    _, _, errors = oddshot(*SCORE, "log.csv", "--out", "scores.csv")
    assert any("support: column 'fault' repeats the labels of all 6 labelled rows" in line for line in errors)
    _, _, errors = oddshot(*SCORE, "log.csv", "--out", "scores.csv", "--ignore", "fault")
    assert not any("repeats" in line for line in errors)


def test_columns_are_kept_beside_the_scores(log, oddshot):  # noqa: F811
    _, out, errors = oddshot(*SCORE, "log.csv", "--out", "-", "--keep", "id,seen", "--keep", "id", "--quiet")
    found, given = pd.read_csv(io.StringIO(out)), pd.read_csv("log.csv")
    assert found.columns.tolist() == ["file", "row", "id", "seen", "score", "probability", "anomaly"]
    pd.testing.assert_frame_equal(found[["id", "seen"]], given[["id", "seen"]])
    code, _, errors = oddshot(*SCORE, "log.csv", "--out", "scores.csv", "--keep", "key")
    assert code == 2
    assert errors[-1].startswith("oddshot: log.csv: no column 'key' to keep; its columns are 'a', 'b', 'c', 'd', 'id'")
    code, _, errors = oddshot(*SCORE, "log.csv", "--out", "scores.csv", "--keep", "score")
    assert (code, errors[-1].split(";")[0]) == (2, "oddshot: --keep score: the output has a column of that name")
    assert not Path("scores.csv").exists()


def test_columns_are_ignored_chosen_and_given_kinds(log, oddshot):  # noqa: F811
    _, out, _ = oddshot(
        *SCORE, "log.csv", "--out", "s.csv", "--ignore", "id,seen", "--ignore", "d", "--kind", "c=category"
    )
    assert "3 numbers: a, b, price (in $)" in out
    assert "1 category: c (6)" in out
    assert "dropped d: ignored as asked" in out
    _, out, errors = oddshot(*SCORE, "log.csv", "--out", "s.csv", "--columns", "a,b")
    assert "2 numbers: a, b\n" in out
    assert errors == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ignore", "x"], "support: no column 'x'; its columns are 'a', 'b'"),
        (["--columns", "a,x"], "support: no column 'x'"),
        (["--kind", "a"], "--kind a: expected NAME=KIND, such as zip=category"),
        (
            ["--kind", "a=numbers"],
            "column 'a': kind 'numbers'; kinds are number, boolean, category, date, interval, text, ignore",
        ),
        (["--kind", "a=number", "--ignore", "a"], "column 'a' is both ignored and a number"),
        (
            ["--columns", "b", "--kind", "a=number"],
            "column 'a' has the kind number, but is not among the columns to use",
        ),
        (["--columns", "a,b", "--ignore", "a"], "column 'a' is both among the columns to use and ignored"),
        (["--columns", ""], "--columns: expected the names of columns, such as load,speed"),
        (["--ignore", "state"], "column 'state' is that of --label; it is neither chosen nor ignored"),
        (["--columns", "a,state"], "column 'state' is that of --label; it is neither chosen nor ignored"),
        (["--kind", "a=date"], "support: column 'a': numbers from"),
        (["--model", "Universal"], "Universal: no such file; did you mean 'universal', the model that ships?"),
        (["--json", "none/figures.json"], "cannot write none/figures.json: No such file or directory"),
        ([""], "the name of a file is empty"),
        (
            ["--ignore", "a", "--model", "model.safetensors"],
            "the model has its own columns, chosen when it was trained",
        ),
        (["--json", "first.csv"], "first.csv: is read by this command; write to another file"),
        (["--json", "log.csv"], "log.csv: is read by this command; write to another file"),
        (["--json", "new.csv"], "new.csv: --out and --json name the same file"),
        (
            ["--normal-value", "good"],
            "--anomaly-value and --normal-value exclude each other: where the values of one side",
        ),
    ],
)
def test_mistakes(log, refusal, options, message):  # noqa: F811
    assert message in refusal(*SCORE, "log.csv", "--out", "new.csv", *options)


@pytest.mark.parametrize("option", ["--out", "--json"])
def test_an_output_that_cannot_be_written_is_refused_before_the_work(log, refusal, monkeypatch, option):  # noqa: F811
    monkeypatch.setattr("oddshot.data.tables.readers.FORMATS", None)  # no file is read
    outputs = {"--out": "s.csv", "--json": "s.json", option: "none/s.csv"}
    found = refusal(*SCORE, "log.csv", *(part for pair in outputs.items() for part in pair))
    assert found == "cannot write none/s.csv: No such file or directory"


def test_a_file_that_is_named_twice_is_read_once_with_a_note(log, oddshot):  # noqa: F811
    code, out, errors = oddshot(*SCORE, "log.csv", "l*.csv", "--out", "s.csv", "--quiet")
    assert code == 0
    assert "194 rows scored" in out
    assert "oddshot: note: log.csv: named twice, and read once" in errors


def test_the_model_that_ships_has_a_name(log, oddshot):  # noqa: F811
    oddshot(*SCORE, "log.csv", "--out", "unnamed.csv")
    code, _, _ = oddshot(*SCORE, "log.csv", "--out", "named.csv", "--model", "universal")
    assert code == 0
    assert Path("named.csv").read_bytes() == Path("unnamed.csv").read_bytes()


def test_info_and_score_agree_on_words_for_true_and_false(log, oddshot):  # noqa: F811
    for name in ("first.csv", "log.csv"):
        frame = pd.read_csv(name)
        frame.assign(on=np.where(np.arange(len(frame)) % 2, "yes", "no")).to_csv(name, index=False)
    _, out, _ = oddshot("info", "log.csv")
    assert "on     boolean: true in 50%" in out
    _, out, _ = oddshot(*SCORE, "log.csv", "--out", "s.csv")
    assert "1 boolean: on" in out


def test_pipes_are_read_as_standard_input_is(log, oddshot):  # noqa: F811
    oddshot(*SCORE, "log.csv", "--out", "plain.csv")
    os.mkfifo("pipe")
    os.mkfifo("packed.csv.gz")
    Path("log.csv.gz").write_bytes(gzip.compress(Path("log.csv").read_bytes()))
    for file, pipe in (("log.csv", "pipe"), ("log.csv.gz", "packed.csv.gz")):
        with subprocess.Popen(["timeout", "30", "cp", file, pipe]):  # opens the existing pipe
            code, _, _ = oddshot(*SCORE, pipe, "--out", "piped.csv")
        assert code == 0
        assert (pd.read_csv("piped.csv")["score"] == pd.read_csv("plain.csv")["score"]).all()
    command = f"timeout 60 {sys.executable} -m oddshot {{}} <(cat first.csv) --label state"
    for arguments in ("info", "score log.csv --anomaly-value bad --out s.csv --support"):
        subprocess.run(["bash", "-c", command.format(arguments)], check=True, timeout=70)


def test_a_hard_link_to_an_input_is_refused(log, refusal):  # noqa: F811
    Path("same.json").hardlink_to("log.csv")
    assert "same.json: is read by this command" in refusal(*SCORE, "log.csv", "--out", "s.csv", "--json", "same.json")


def test_the_choice_travels_in_the_model(folder, oddshot):  # noqa: F811
    code, out, _ = oddshot(
        *(
            "train",
            "fleet/*.csv",
            "--label",
            "fault",
            "--out",
            "m.safetensors",
            "--ignore",
            "door",
            "--method",
            "eigen",
        ),
        *SMALL,
    )
    assert code == 0, out
    assert "dropped door: ignored as asked" in out
    encoding = load_model("m.safetensors").encoding
    assert encoding is not None
    assert encoding.dropped["door"] == "ignored as asked"


def test_info_of_a_table(log, oddshot):  # noqa: F811
    code, out, errors = oddshot("info", "log.csv", "--json", "info.json")
    assert code == 0
    assert errors == []
    lines = {line.split()[0]: line for line in out.splitlines()[1:]}
    assert "number: " in lines["price"]
    assert "not used: a number that runs with the rows" in lines["id"]
    assert "date: 2024-01-01 01:00:00 to 2024-01-02 09:10:00" in lines["seen"]
    facts = json.loads(Path("info.json").read_text())
    assert facts["columns"]["id"]["kind"] == "not used"
    _, out, _ = oddshot("info", "first.csv", "--label", "state", "--kind", "a=category")
    assert "a      category: 6 different values" in out
    code, _, errors = oddshot("info", "log.csv", "--json", "log.csv")
    assert (code, len(errors)) == (2, 1)


def test_standard_input_and_compressed_files(log, oddshot, monkeypatch):  # noqa: F811
    data = Path("log.csv").read_bytes()
    Path("log.csv.gz").write_bytes(gzip.compress(data))
    oddshot(*SCORE, "log.csv", "--out", "plain.csv")
    oddshot(*SCORE, "log.csv.gz", "--out", "packed.csv")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    packed_files._spooled.cache_clear()
    code, _, _ = oddshot(*SCORE, "-", "--out", "piped.csv")
    packed_files._spooled.cache_clear()
    assert code == 0
    plain, packed, piped = (pd.read_csv(name) for name in ("plain.csv", "packed.csv", "piped.csv"))
    assert (plain["score"] == packed["score"]).all()
    assert (plain["score"] == piped["score"]).all()
    assert set(piped["file"]) == {"-"}
