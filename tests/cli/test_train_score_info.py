import dataclasses
import json
import math
import os
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from oddshot import FewShotDetector, load_model, load_universal, meta_train, read_tasks
from oddshot.cli import main
from oddshot.methods.relative import RelativeConfig
from oddshot.storage.model_file import to_bytes
from oddshot.training import candidates, progress
from tests.fleets import SHORT, SIZES, labels, mixed, small_model
from tests.processes import started

EPISODES = ["--support-normal=3", "--query-normal=5", "--query-anomaly=2", "--device=cpu"]
SMALL = ["--method=relative", "--epochs=2", "--units=16", *EPISODES]
COMMAND = [sys.executable, "-m", "oddshot"]


def labelled(seed, n=40):
    y = pd.Series(labels(n)).astype(object).where(labels(n) >= 0, None)  # an unlabelled row is empty
    return mixed(seed, n).assign(fault=y)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with six machines, a few labelled rows of a new one and its other rows; tests run in it."""
    monkeypatch.chdir(tmp_path)
    os.mkdir("fleet")
    for t in range(6):
        labelled(t).to_csv(f"fleet/machine{t}.csv", index=False)
    labelled(9, 10).to_csv("support.csv", index=False)
    mixed(8, 50).to_parquet("new.parquet")
    mixed(7, 30).to_csv("new.csv", index=False)
    small_model("eigen", mixed).save("model.safetensors")
    return tmp_path


@pytest.fixture
def oddshot(monkeypatch, capsys):
    """Runs the command line in this process. Returns exit code, stdout and the lines of stderr.

    On a busy machine progress would add lines to these: it has tests of its own.
    """
    monkeypatch.setattr(progress, "MIN_LOG_SECONDS", math.inf)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["oddshot", *map(str, arguments)])
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            with pytest.raises(SystemExit) as ended:
                main()
        output = capsys.readouterr()
        return ended.value.code, output.out, output.err.splitlines()

    return run


@pytest.fixture
def refusal(folder, oddshot):
    """Runs a command that must fail with one line, and leave no file behind; returns that line."""

    def run(*arguments, exit_code=2):
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        code, _, errors = oddshot(*arguments)
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
        errors = [line for line in errors if not line.startswith("oddshot: note: ")]
        assert code == exit_code
        assert len(errors) == 1, errors
        assert errors[0].startswith("oddshot: ")
        return errors[0].removeprefix("oddshot: ")

    return run


def train(*files, out="out.safetensors"):
    return ("train", *(files or ["fleet/*.csv"]), "--label", "fault", "--out", out, *SMALL)


def score(*files, support="support.csv", model="model.safetensors", out="scores.csv"):
    with_model = () if model is None else ("--model", model)
    return ("score", *with_model, "--support", support, "--label", "fault", *(files or ["new.csv"]), "--out", out)


def test_the_way_of_the_readme_in_processes_of_its_own(folder):
    def shell(*arguments):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")  # no progress bar where there is no terminal
        assert "\x1b" not in done.stdout
        return done.stdout

    output = shell(*train(*(f"fleet/machine{t}.csv" for t in range(6))), "--json", "train.json")
    assert "6 tasks, 240 rows: 48 anomalies, 6 unlabelled" in output
    assert "written: out.safetensors" in output
    facts = json.loads(Path("train.json").read_text())
    assert (facts["tasks"], facts["validation_tasks"], facts["epochs"]) == (5, 1, 2)
    output = shell(*score("new.parquet", "new.csv", model="out.safetensors", out="scores.parquet"), "--json", "n.json")
    assert "80 rows scored" in output
    found = pd.read_parquet("scores.parquet")
    assert found["file"].tolist() == ["new.parquet"] * 50 + ["new.csv"] * 30
    counts = json.loads(Path("n.json").read_text())
    assert counts["rows"] == 80
    assert counts["anomalies"] == found["anomaly"].sum() == (found["score"] > counts["threshold"]).sum()


def test_the_model_is_the_one_that_python_trains(folder, oddshot):
    code, _, errors = oddshot(*train())
    assert (code, errors) == (0, [])
    tasks = read_tasks("fleet/*.csv", label="fault")
    config = SHORT.__class__(epochs=SHORT.epochs)
    assert Path("out.safetensors").read_bytes() == to_bytes(
        meta_train(tasks, method="relative", sizes=SIZES, training=config, units=16, device="cpu")
    )


def test_scores_are_those_of_the_detector(folder, oddshot):
    code, output, errors = oddshot(*score())
    assert (code, errors) == (0, [])
    fitted = FewShotDetector(load_model("model.safetensors")).fit(mixed(9, 10), labels(10))
    found = pd.read_csv("scores.csv")
    np.testing.assert_allclose(found["score"], fitted.score_samples(mixed(7, 30)), rtol=1e-4)
    assert found["anomaly"].tolist() == fitted.predict(mixed(7, 30)).tolist()
    assert f"30 rows scored, {found['anomaly'].sum()} anomalies" in output


def test_a_false_positive_rate_and_a_support_with_unlabelled_rows(folder, oddshot):
    support = mixed(9, 30).assign(fault=np.where(np.arange(30) < 10, labels(30), -1)).astype({"fault": object})
    support.loc[support["fault"] == -1, "fault"] = ""
    support.to_csv("some.csv", index=False)
    model = small_model("relative", mixed)
    model.save("relative.safetensors")
    command = score(model="relative.safetensors", support="some.csv")
    code, _, errors = oddshot(*command, "--false-positive-rate", "0.1", "--json", "n.json")
    assert (code, errors) == (0, [])
    fitted = FewShotDetector(model, 0.1).fit(mixed(9, 30), np.where(np.arange(30) < 10, labels(30), -1))
    found = pd.read_csv("scores.csv")
    np.testing.assert_allclose(found["score"], fitted.score_samples(mixed(7, 30)), rtol=1e-4)
    np.testing.assert_allclose(found["probability"], fitted.predict_proba(mixed(7, 30))[:, 1], rtol=1e-3)
    assert found["anomaly"].tolist() == fitted.predict(mixed(7, 30)).tolist()
    assert json.loads(Path("n.json").read_text())["threshold"] == fitted.threshold_
    code, _, errors = oddshot(*command, "--false-positive-rate", "0.9")
    assert code == 2
    assert "--false-positive-rate is 0.9; it must be a number from 0.001 to 0.5" in errors[0]


def test_score_works_without_a_model(folder, oddshot):
    assert oddshot(*score(model=None))[0] == 0
    fitted = FewShotDetector().fit(mixed(9, 10), labels(10))
    np.testing.assert_allclose(pd.read_csv("scores.csv")["score"], fitted.score_samples(mixed(7, 30)), rtol=1e-4)


def test_training_goes_on_from_the_model_that_ships_or_from_a_file(folder, oddshot, refusal):
    small = [option for option in SMALL if option != "--units=16"]
    command = ("train", "fleet/*.csv", "--label", "fault", *small)
    for start, out in (("universal", "first.safetensors"), ("first.safetensors", "second.safetensors")):
        assert oddshot(*command, "--from", start, "--out", out)[0] == 0
        shipped = load_universal().method.config
        assert load_model(out).method.config == dataclasses.replace(shipped, marks=RelativeConfig().marks)
    assert "missing.safetensors: cannot be read" in refusal(*command, "--from", "missing.safetensors", "--out", "x")
    wrong = refusal(*command, "--from", "universal", "--method", "eigen", "--out", "x")
    assert "the model to start from is of method 'relative', not 'eigen'" in wrong


def test_several_members_are_trained_and_score(folder, oddshot):
    code, output, _ = oddshot(
        "train", "fleet/*.csv", "--label", "fault", *SMALL, "--members", "2", "--out", "two.safetensors"
    )
    assert code == 0
    weights = load_model("two.safetensors").n_weights
    assert f"({weights:,} weights)" in output
    assert "members 2" in oddshot("info", "two.safetensors")[1]
    support = ("--support", "support.csv", "--label", "fault")
    assert oddshot("score", "--model", "two.safetensors", *support, "new.csv", "--out", "two.csv")[0] == 0
    fitted = FewShotDetector(load_model("two.safetensors")).fit(mixed(9, 10), labels(10))
    np.testing.assert_allclose(pd.read_csv("two.csv")["score"], fitted.score_samples(mixed(7, 30)), rtol=1e-4)


def test_info_tells_what_the_file_holds(folder, oddshot):
    code, output, errors = oddshot("info", "model.safetensors", "--json", "info.json")
    model = load_model("model.safetensors")
    assert (code, errors) == (0, [])
    facts = json.loads(Path("info.json").read_text())
    assert facts["method"] == "eigen"
    assert facts["settings"]["units"] == 16
    assert facts["columns"] == model.encoding.kinds
    assert facts["attributes"] == model.encoding.n_attributes == 13
    learned = {name: value for name, value in model.method.weights.items() if name != "center"}
    assert facts["weights"] == sum(value.size for value in learned.values())
    assert facts["threshold"] == model.threshold
    assert facts["training"] == model.training
    for text in (
        "2 numbers: temperature, speed",
        "mode",
        "1 date: seen",
        "units 16",
        "validation_auc",
        "calibrated: thresholds are false-positive rates",
    ):
        assert text in output


def test_one_table_with_a_task_column(folder, oddshot):
    parts = [labelled(t).assign(machine=f"m{t}") for t in range(6)]
    pd.concat(parts).sample(frac=1, random_state=0).to_parquet("fleet.parquet", index=False)
    code, output, errors = oddshot(*train("fleet.parquet"), "--task", "machine", "--json", "train.json")
    assert (code, errors) == (0, [])
    assert "6 tasks, 240 rows" in output
    assert "machine" not in load_model("out.safetensors").encoding.columns


def test_text_labels(folder, oddshot, refusal):
    for t in range(6):
        table = labelled(t)
        table["fault"] = table["fault"].map({0: "ok", 1: "broken"})
        table.to_csv(f"fleet/machine{t}.csv", index=False)
    message = refusal(*train())
    assert message.startswith("fleet/machine0.csv: row 1, column 'fault': 'broken' is not a label; expected 1, 0, -1")
    assert "values seen: 'broken', 'ok'" in refusal(*train(), "--anomaly-value", "brokn")
    code, output, errors = oddshot(*train(), "--anomaly-value", "broken")
    assert (code, errors) == (0, [])
    assert "48 anomalies, 6 unlabelled" in output
    table = labelled(9, 10)
    table["fault"] = table["fault"].map({0: "ok", 1: "broken"})
    table.to_csv("support.csv", index=False)
    assert oddshot(*score(model="out.safetensors"), "--anomaly-value", "broken")[0] == 0


def test_several_values_of_anomalies_or_of_normal_rows(folder, oddshot, refusal):
    """The option repeats and takes commas, and the other one says the opposite; a support may lack some of them."""
    kinds = {0: ["ok", "idle"], 1: ["bearing", "leak, small"]}
    for t in range(6):
        table = labelled(t)
        table["fault"] = [None if pd.isna(y) else kinds[int(y)][k % 2] for k, y in enumerate(table["fault"])]
        table.to_csv(f"fleet/machine{t}.csv", index=False)
    labelled(9, 10).assign(fault=["bearing" if y else "ok" for y in labels(10)]).to_csv("support.csv", index=False)
    ways = (
        ("--anomaly-value", "bearing", "--anomaly-value", '"leak, small"'),
        ("--anomaly-value", 'bearing,"leak, small"'),
        ("--normal-value", "ok,idle"),
        ("--normal-value", "ok", "--normal-value", "idle"),
    )
    written = []
    for way in ways:
        code, output, errors = oddshot(*train(), *way)
        assert (code, errors) == (0, [])
        assert "48 anomalies, 6 unlabelled" in output
        assert oddshot(*score(model="out.safetensors"), *way)[::2] == (0, [])
        written.append(Path("scores.csv").read_bytes())
    assert len(set(written)) == 1
    assert "--anomaly-value and --normal-value exclude each other" in refusal(*train(), *ways[0], *ways[2])
    assert refusal(*score(), "--normal-value", ",").startswith("--normal-value is empty; expected one value of normal")
    advice = "name the values of anomalies with --anomaly-value, or those of normal rows with --normal-value"
    assert refusal(*train()).endswith(advice)
    assert refusal(*score()).endswith(advice)
    assert "expected names separated by commas, on one line" in refusal(*score(), "--anomaly-value", "a\nb")


def test_missing_values_and_constant_columns_work(folder, oddshot):
    for t in range(6):
        labelled(t).assign(site="north", level=4).to_csv(f"fleet/machine{t}.csv", index=False)
    assert oddshot(*train())[0] == 0
    labelled(9, 10).assign(site="south", level=7).to_csv("support.csv", index=False)
    new = mixed(7, 30).assign(site=None, level=np.nan, speed=np.nan)
    new.to_csv("new.csv", index=False)
    assert oddshot(*score(model="out.safetensors"))[0] == 0
    fitted = FewShotDetector(load_model("out.safetensors"))
    fitted.fit(mixed(9, 10).assign(site="south", level=7), labels(10))
    np.testing.assert_allclose(pd.read_csv("scores.csv")["score"], fitted.score_samples(new), rtol=1e-4)


def test_an_unknown_column_is_a_note_and_no_error(folder, oddshot):
    labelled(7, 30).to_csv("new.csv", index=False)
    code, _, errors = oddshot(*score())
    assert code == 0
    assert errors == ["oddshot: note: new.csv: ignored unknown columns: 'fault'"]


def test_a_poor_task_is_skipped_with_a_note(folder, oddshot):
    labelled(0, 11).to_csv("fleet/machine3.csv", index=False)
    code, output, errors = oddshot(*train())
    assert code == 0
    assert len(errors) == 1
    assert errors[0].startswith(
        "oddshot: note: task 'machine3' skipped: 8 normal and 2 anomalous rows; an episode needs"
    )
    assert "5 tasks" in output


def change(file, where, column, value):
    table = pd.read_csv(file).astype(object)
    table.loc[where, column] = value
    table.to_csv(file, index=False)


BAD_CELLS = [("speed", "-1e19", "is too large; expected a number within ±1e18")]


@pytest.mark.parametrize(("column", "value", "message"), BAD_CELLS)
def test_bad_cells_in_training(refusal, column, value, message):
    change("fleet/machine2.csv", 6, column, value)
    found = refusal(*train())
    assert found.startswith("task 'machine2': row 7, column 'speed': ")
    assert message in found


BAD_TEXT = ("speed", "fast", "'fast' is not a number")


@pytest.mark.parametrize(("column", "value", "message"), [*BAD_CELLS, BAD_TEXT])
def test_bad_cells_in_scoring_are_refused_when_asked(refusal, column, value, message):
    change("new.csv", 6, column, value)
    found = refusal(*score(), "--strict")
    assert found.startswith("new.csv: row 7, column 'speed': ")
    assert message in found
    change("support.csv", 3, column, value)
    assert "row 4, column 'speed'" in refusal(*score("new.parquet"))


@pytest.mark.parametrize("model", [None, "model.safetensors"])
def test_bad_cells_in_scoring_are_missing_counted_and_named(oddshot, folder, model):
    change("new.csv", [6, 8], "speed", ["fast", "-1e19"])
    labelled(5, 60).to_csv("more.csv", index=False)
    pd.concat([pd.read_csv("new.csv"), *[mixed(k, 30) for k in range(9)]]).to_csv("new.csv", index=False)
    code, out, errors = oddshot(*score("new.csv", "more.csv", model=model), "--json", "figures.json")
    assert code == 0
    assert "2 bad cells taken as missing; the first are named above" in out
    (notice,) = [line for line in errors if "column 'speed': '" in line]
    place = "oddshot: note: new.csv: row 7, column 'speed'"
    assert notice == f"{place}: 'fast' is not a number and taken as missing (also row 9: -1e+19)"
    figures = json.loads(Path("figures.json").read_text())
    assert figures["bad_cells"] == 2
    assert figures["first_bad_cells"] == [
        {"file": "new.csv", "row": 7, "column": "speed", "text": "fast"},
        {"file": "new.csv", "row": 9, "column": "speed", "text": "-1e+19"},
    ]


def test_a_threshold_that_finds_nothing_is_a_note(folder, oddshot):
    rng = np.random.default_rng(2)
    pd.DataFrame(rng.normal(size=(3, 10))).add_prefix("x").assign(fault=0).to_csv("three.csv", index=False)
    pd.DataFrame(rng.normal(size=(400, 10))).add_prefix("x").to_csv("others.csv", index=False)
    code, out, errors = oddshot("score", "--support", "three.csv", "--label", "fault", "others.csv", "--out", "s.csv")
    assert (code, "400 rows scored, 0 anomalies" in out) == (0, True)
    assert any(line.startswith("oddshot: note: none of 400 rows is called an anomaly") for line in errors)


def test_infinite_cells_are_notes(folder, oddshot):
    change("fleet/machine2.csv", 6, "speed", "inf")
    change("new.csv", [6, 8], "speed", "-inf")
    change("support.csv", 9, "speed", "inf")  # a row without a label
    code, _, errors = oddshot(*train())
    assert code == 0
    assert errors == [
        "oddshot: note: task 'machine2': row 7, column 'speed': inf is infinite and taken as missing",
    ]
    code, _, errors = oddshot("score", "new.csv", "--support", "support.csv", "--label", "fault", "--out", "s.csv")
    assert code == 0
    notices = [line for line in errors if "missing" in line]
    assert notices == [
        "oddshot: note: support: row 10, column 'speed': inf is infinite and taken as missing",
        "oddshot: note: new.csv: row 7, column 'speed': -inf is infinite and taken as missing (also row 9: -inf)",
    ]
    code, out, errors = oddshot("info", "new.csv")
    assert code == 0
    assert errors == [notices[1]]
    assert "number, 4 missing" in next(line for line in out.splitlines() if line.startswith("  speed"))  # and two gaps


def test_text_among_numbers_in_training_is_a_note(folder, oddshot):
    change("fleet/machine2.csv", 6, "temperature", "hot")
    code, _, errors = oddshot(*train())
    assert code == 0
    assert len(errors) == 2
    assert errors[0].startswith("oddshot: note: task 'machine2': row 7, column 'temperature': 'hot' is not a number")
    assert errors[1].endswith(
        "left out 'temperature': numbers beside other text, such as 'hot' (leave such cells empty)"
    )


CONTENTS = {
    "empty": ("", "empty"),
    "blank": ("\n\n", "empty"),
    "header": ("temperature,speed,mode,door,seen,fault\n", "no rows, only a header"),
    "ragged": ("a,b,fault\n1,2,0\n1,2\n", "row 2 has 2 fields, the header has 3"),
    "binary": ("\0\1\2\3" * 50, "not a text file"),
    "twice": ("a,a,fault\n1,2,0\n", "two columns are called 'a'"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_files_that_are_no_tables(refusal, name):
    content, message = CONTENTS[name]
    for file, command in (
        ("fleet/machine4.csv", train()),
        ("new.csv", score()),
        ("support.csv", score("new.parquet")),
        ("support.csv", score("new.parquet", model=None)),
    ):
        kept = Path(file).read_text()
        Path(file).write_text(content)
        found = refusal(*command)
        assert found.startswith(f"{file}: ")
        assert message in found
        Path(file).write_text(kept)


def test_columns_that_are_missing_or_renamed(refusal):
    labelled(4).rename(columns={"speed": "pace"}).to_csv("fleet/machine4.csv", index=False)
    assert refusal(*train()) == "fleet/machine4.csv: column 'speed' is missing (renamed to 'pace'?)"
    mixed(7, 30).drop(columns="mode").to_csv("new.csv", index=False)
    assert refusal(*score()) == "new.csv: column 'mode' is missing"
    labelled(9, 10).drop(columns="mode").to_csv("support.csv", index=False)
    assert "column 'mode' is missing" in refusal(*score("new.parquet"))


def test_no_label_column(refusal):
    mixed(9, 10).to_csv("support.csv", index=False)
    assert "support.csv: no column 'fault'; its columns are 'temperature', 'speed'" in refusal(*score())
    mixed(4).to_csv("fleet/machine0.csv", index=False)
    assert "fleet/machine0.csv: no column 'fault'" in refusal(*train())


def support_of(y):
    mixed(9, len(y)).assign(fault=y).to_csv("support.csv", index=False)


def test_supports_that_cannot_work(refusal):
    support_of([1, 1, -1])
    assert "at least one row labelled normal is needed" in refusal(*score())
    support_of([-1])
    assert "at least one row labelled normal is needed" in refusal(*score(model=None))
    support_of([0])
    assert "needs at least one labelled anomaly" in refusal(*score())
    support_of([0, 2, 1])
    assert "row 2, column 'fault': '2' is not a label" in refusal(*score())


@pytest.mark.parametrize("model", [None, "model.safetensors"])
def test_supports_that_are_odd_but_work(folder, oddshot, model):
    rows = labelled(9, 10)
    equal = rows.iloc[[1, 1]].assign(fault=[0, 1])
    for support in (pd.concat([rows, rows]), equal, pd.concat([rows, equal]), rows.iloc[[0, 1]]):
        support.to_csv("support.csv", index=False)
        assert oddshot(*score(model=model))[0] == 0
        fitted = FewShotDetector(model and load_model(model))
        fitted.fit(support.drop(columns="fault"), support["fault"].fillna(-1).astype(int))
        expected = fitted.score_samples(mixed(7, 30))
        np.testing.assert_allclose(pd.read_csv("scores.csv")["score"], expected, rtol=1e-4, atol=1e-6 * expected.max())
    if model is None:
        rows.iloc[[1]].to_csv("support.csv", index=False)
        assert oddshot(*score(model=None))[0] == 0


def test_no_task_with_rows_enough(refusal):
    for t in range(6):
        labelled(t, 9).to_csv(f"fleet/machine{t}.csv", index=False)
    found = refusal(*train())
    assert found.startswith(
        "none of the 6 tasks has rows enough: an episode needs 8 normal rows (3 to adapt to and 5 to"
    )
    assert found.endswith("and 3 anomalous ones (1 and 2) (smaller episodes: --query-normal, --query-anomaly)")


def test_a_fleet_without_anomalies_is_told_so_and_what_they_are_needed_for(refusal):
    for t in range(6):
        labelled(t).assign(fault=0).to_csv(f"fleet/machine{t}.csv", index=False)
    found = refusal(*train(), "--support-anomaly", "0")
    assert found.startswith("none of the 6 tasks has a row that is labelled anomalous, and an episode needs 8 normal")
    assert "and 2 anomalous ones (0 and 2); without anomalies, take the model that ships" in found


def test_paths_and_models_that_are_wrong(refusal):
    assert refusal(*train("nowhere/*.csv")) == "no file matches 'nowhere/*.csv'"
    assert "nowhere.csv: cannot be read (No such file or directory)" in refusal(*train("nowhere.csv"))
    assert "fleet: a folder; expected files" in refusal(*train("fleet"))
    assert "cannot write nowhere/out.safetensors: No such file" in refusal(*train(out="nowhere/out.safetensors"))
    assert "cannot write fleet: it is not a regular file" in refusal(*train(out="fleet"))
    assert "scores.txt: scores are written as .csv or .parquet" in refusal(*score(out="scores.txt"))
    assert "nowhere.safetensors: cannot be read" in refusal(*score(model="nowhere.safetensors"))
    assert "new.parquet: not an oddshot model file" in refusal(*score(model="new.parquet"))
    assert "nowhere.csv: cannot be read" in refusal("info", "nowhere.csv")
    data = bytearray(Path("model.safetensors").read_bytes())
    data[-1] ^= 1
    Path("model.safetensors").write_bytes(data)
    assert "model.safetensors: the model file is damaged" in refusal("info", "model.safetensors")


def test_settings_that_are_wrong(refusal):
    assert "no method 'magic'" in refusal(*train(), "--method", "magic")
    assert "device 'qpu' cannot be used" in refusal(*train(), "--device", "qpu")
    assert refusal(*train(), "--epochs", "0") == "--epochs is 0; it must be at least 1"
    assert refusal(*train(), "--units", "0") == "--units is 0; it must be at least 1"
    assert "units is 0" in refusal(*train(), "--units", "0")
    assert "not enough memory" in refusal(*train(), "--units", "100000000", exit_code=1)
    assert "no setting 'units'" in refusal(*train(), "--method", "wonn")
    assert "cannot hold both the labels and the tasks" in refusal(*train(), "--task", "fault")


@pytest.mark.parametrize("wrong", ["--support-normal=0", "--query-anomaly=0", "--seed=-1", "--epochs=many", "--colour"])
def test_options_out_of_range_are_usage_errors(folder, oddshot, wrong):
    code, _, errors = oddshot(*train(), wrong)
    assert code == 2
    assert errors[-1].startswith("Error: ")
    assert wrong.split("=")[0] in errors[-1]
    assert not Path("out.safetensors").exists()


def test_an_input_is_never_overwritten(refusal):
    os.symlink("new.csv", "link.csv")
    assert refusal(*score(out="new.csv")) == "new.csv: is read by this command; write to another file"
    assert refusal(*score(out="link.csv")) == "link.csv: is read by this command; write to another file"
    assert "support.csv: is read" in refusal(*score(out="../" + Path.cwd().name + "/support.csv"))
    assert "machine1.csv: is read" in refusal(*train(out="fleet/machine1.csv"))


def test_a_full_disk_leaves_the_old_files(refusal):
    Path("out.safetensors").write_text("old")
    Path("scores.csv").write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        found = refusal(*train(), exit_code=1), refusal(*score(), exit_code=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert found[0] == "cannot write out.safetensors: File too large"
    assert found[1].startswith("cannot write scores.csv: ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_training_leaves_the_old_file_and_nothing_else(folder, tmp_path, number):
    """The command waits for rows on standard input."""
    Path("out.safetensors").write_text("old")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    before = sorted(os.listdir())
    options = {"stdin": subprocess.PIPE, "env": {**os.environ, "TMPDIR": str(temporary)}}
    with started([*COMMAND, *train("fleet/machine0.csv", "-")], **options) as process:
        while sorted(os.listdir()) == before and process.poll() is None:  # until it has made its temporary file
            time.sleep(0.05)
        time.sleep(1)  # it reads the first table, then waits
        process.send_signal(number)
        process.wait(timeout=60)  # with standard input open: at its end the command would go on
        _, errors = process.communicate()
    assert (process.returncode, errors) == (130, "")
    assert Path("out.safetensors").read_text() == "old"
    assert sorted(os.listdir()) == before
    assert os.listdir(temporary) == []


@pytest.mark.parametrize("command", ["demo", "train", "score", "info", "data", "bench"])
def test_every_command_explains_itself_without_loading_torch(command):
    code = "import sys\nfrom oddshot.cli import app\napp([*sys.argv[1:], '--help'], standalone_mode=False)\n"
    code += "assert 'torch' not in sys.modules and 'pandas' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code, command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: " in done.stdout
    assert re.search(r"Examples?:\s+oddshot ", done.stdout) or command in ("demo", "data", "bench")


def test_a_model_is_used_on_no_device(folder, oddshot):
    code, _, errors = oddshot(*score(), "--device", "cpu")
    assert code == 2
    assert "No such option: --device" in errors[-1]


def test_scoring_starts_without_what_only_training_and_python_need(folder):
    """Each of them would make a cold start longer by tenths of a second."""
    code = "import sys\nfrom oddshot.cli import main\ntry: main()\nfinally: "
    unneeded = {"sklearn", "matplotlib", "torch", "rich", "oddshot.training", "oddshot.bench"}
    code += f"print(sorted({unneeded} & set(sys.modules)))"
    command = ["score", "--support=support.csv", "--label=fault", "new.csv", "--out=scores.csv", "--quiet"]
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_help_names_the_commands(oddshot):
    code, output, errors = oddshot("--help")
    assert (code, errors) == (0, [])
    for command in ("demo", "train", "score", "info", "data", "bench"):
        assert f"\n  {command} " in output
    assert oddshot()[0] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "cluster"], "engine 'cluster'; there are local and ray"),
        (["--address", "here:1"], "--address is for --engine ray"),
    ],
)
def test_wrong_engines(refusal, options, message):
    if "ray" in options:
        pytest.importorskip("ray")
    line = refusal("score", "--support=support.csv", "--label=fault", "new.csv", "--out=scores.csv", *options)
    assert line == message


@pytest.fixture
def few_trees(monkeypatch):
    """The forest is by far the slowest candidate."""
    monkeypatch.setattr(candidates, "FOREST", candidates.ClassicalConfig("paper"))


def test_by_default_candidates_are_compared_and_the_command_says_which_one_won(folder, oddshot, few_trees):
    command = ("train", "fleet/*.csv", "--label", "fault", "--epochs=2", *EPISODES)
    code, output, errors = oddshot(*command, "--out", "auto.safetensors", "--json", "auto.json")
    assert (code, errors) == (0, [])
    facts = json.loads(Path("auto.json").read_text())
    model = load_model("auto.safetensors")
    assert model.training == {name: facts[name] for name in model.training}
    assert "AUC of the candidates on 6 held-out tasks, and lead over what ships:" in output
    for title, figure in facts["candidates"].items():
        assert f"{title} " in output
        assert f"  {figure['auc']:.3f}" in output
    assert f"chosen: {facts['chosen']} (" in output
    info = oddshot("info", "auto.safetensors")[1]
    assert f"chosen {facts['chosen']}" in info
    assert f"candidate {facts['chosen']}: AUC {facts['validation_auc']:.3f}" in info


def test_one_task_is_said_to_be_too_few(folder, oddshot, few_trees):
    command = ("train", "fleet/machine0.csv", "--label", "fault", "--epochs=2", *EPISODES, "--out", "one.safetensors")
    code, output, errors = oddshot(*command)
    assert code == 0
    assert "on 1 held-out task, and" in output
    assert errors == [
        "oddshot: note: only one task: nothing can be learned from it that could be checked on another one"
    ]


@pytest.mark.parametrize("option", ["--members=2", "--units=8"])
def test_settings_of_a_method_need_its_name(refusal, option):
    name = option.split("=")[0]
    found = refusal("train", "fleet/*.csv", "--label", "fault", *EPISODES, option, "--out", "x")
    assert found == f"{name}: method 'auto' has no such setting; name a method, such as --method relative"
