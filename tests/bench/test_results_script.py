import csv
import os
import shutil
import subprocess
from pathlib import Path

from typer.testing import CliRunner

from oddshot.bench.export import read_runs
from oddshot.bench.paper import METHOD_TITLES, TABLE1_METHODS, TABLE2_METHODS
from oddshot.bench.store import open_store
from oddshot.cli.bench import bench_app
from tests.bench.samples import record

SCRIPT = Path(__file__).parents[2] / "results" / "make.sh"
STAND_IN = '#!/bin/sh\necho "$@" >> "$COMMANDS"\n'  # for `oddshot`: ten starts of a process would take a minute


def commands_of(folder, *arguments):
    """What the script, lying in this folder, tells `oddshot` to do."""
    (folder / "bin").mkdir()
    (folder / "bin" / "oddshot").write_text(STAND_IN)
    (folder / "bin" / "oddshot").chmod(0o755)
    environment = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "COMMANDS": str(folder / "commands")}
    script = shutil.copy(SCRIPT, folder)
    subprocess.run(["sh", script, *arguments], env=environment, check=True, cwd=folder)
    return [line.split() for line in (folder / "commands").read_text().splitlines()]


def test_one_command_writes_all_files_of_a_folder(tmp_path, monkeypatch):

    with open_store(tmp_path / "results.db") as opened:
        opened.add(
            [
                record(dataset, method, split, 0.7 + 0.01 * split + 0.1 * (method == "eigen"), n_training=n)
                for dataset in ("glass", "wdbc")
                for method in ("eigen", "svdd", "lr", "ridge+nearest", *TABLE2_METHODS[1:])
                for split in range(2)
                for n in (None, 50)
            ]
        )
    output = ""
    for program, *arguments in commands_of(tmp_path, tmp_path / "results.db", "published"):
        assert program == "bench"
        result = CliRunner().invoke(bench_app, arguments)
        assert result.exit_code == 0, result.exception
        output += result.output
    out = tmp_path / "published"
    names = ["compare", "ranks", "runs", "table1", "table2", "table3"]
    pictures = ["ranks.png", "tasks.png"]
    assert {file.name for file in out.iterdir()} == {*pictures, *(f"{name}.csv" for name in names)}
    heads = {name: next(csv.reader((out / f"{name}.csv").open())) for name in names}
    assert heads["table1"] == ["dataset", *(METHOD_TITLES[name] for name in TABLE1_METHODS)]
    assert heads["table2"] == ["dataset", "Ours", "WoNN", "WoProj", "WoAnomaly"]
    assert heads["ranks"] == ["dataset", "Ours", "SVDD", "LR"]
    assert "Ours paper" in heads["compare"]
    assert {run.key for run in read_runs(out / "runs.csv")} == {run.key for run in read_runs(tmp_path / "results.db")}
    assert "spaces: not drawn: it needs a trained model; add --run" in output


def test_the_script_hands_options_to_the_figures(tmp_path):
    *others, last = commands_of(tmp_path, "results.db", "resampled", "--run", "--data-dir", "data")
    assert last[-3:] == ["--run", "--data-dir", "data"]
    assert not any("--run" in command or "--compare" in command for command in others)


def test_the_script_without_arguments_says_how_it_is_used():
    done = subprocess.run(["sh", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")
