"""The command on made-up tables, and its entry for machines without the packages of the command line."""

import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from oddshot.bench.decisions import fleets
from oddshot.bench.decisions.command import GridRequest, run_grid
from oddshot.bench.decisions.fleets import train_fleets
from oddshot.bench.decisions.grid import DecisionCell
from oddshot.bench.decisions.runner import GridTables, measure_tables
from oddshot.cli import app
from oddshot.errors import InputError
from oddshot.universal.shipped import load_universal
from tests.bench.decisions.samples import gaussian_table


@pytest.fixture
def tables(tmp_path):
    """A file as results/universal/keel_tables.py writes them."""
    made = [gaussian_table(name, 80, 25) for name in ("first/0", "second/0", "second/1")]
    path = tmp_path / "tables.npz"
    np.savez(path, **{f"{t.name}/{kind}": values for t in made for kind, values in (("X", t.X), ("y", t.y))})
    return path


def invoke(tables, out, *more):
    options = ["bench", "decisions", "--tables", tables, "--split", "all", "--draws", "1", "--workers", "1", "--quiet"]
    options += ["--cache-dir", out / "none", "--every", "100", "--out", out, *more]
    return CliRunner().invoke(app, [str(option) for option in options])


def test_the_command(tables, tmp_path):
    raw, out = tmp_path / "raw.csv.gz", tmp_path / "out"
    result = invoke(tables, out, "--raw", raw)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("- at 5 %, 5 and more normal rows")
    assert {path.name for path in out.iterdir()} == {"grid.csv", "table.md", "grid.png"}
    assert "2 tables of 2 sources" in (out / "table.md").read_text()
    first = (out / "grid.csv").read_text()
    result = invoke(tables, tmp_path / "again", "--from", raw, "--compare", out / "grid.csv")
    assert result.exit_code == 0, result.output
    assert re.search(r"of the AUC over all \d+ cells [+-]0\.000", result.output)  # grid.csv has three decimals
    assert (tmp_path / "again" / "grid.csv").read_text() == first


def test_wrong_options(tables, tmp_path):
    for more in (["--copies", "thrice"], ["--split", "none"], ["--fleet", "none"], ["--raw", tables]):
        result = invoke(tables, tmp_path / "out", *more)
        assert isinstance(result.exception, InputError), more
    with pytest.raises(InputError, match="no table has the rows"):
        run_grid(GridRequest(out=tmp_path, cache_dir=str(tmp_path / "none"), quiet=True, every=500))
    with pytest.raises(InputError, match="give --fleet or --model"):
        run_grid(GridRequest(out=tmp_path, fleet="digits", model=tables, quiet=True))


def test_a_fleet_is_measured_on_tasks_that_took_no_part_in_training(tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr(fleets, "train_model", lambda tasks: trained.extend(tasks) or load_universal())
    (group,) = train_fleets("digits", None, None, tmp_path, quiet=True)
    assert len(trained) == 10
    assert not {task.name for task in trained} & {table.name.split(": ")[1] for table in group.tables}
    assert {table.source for table in group.tables} == {"digits"}
    cells = [DecisionCell(5, 1, 0, 0, "as-is"), DecisionCell(300, 1, 0, 0, "as-is")]
    frame = measure_tables([GridTables(group.tables[:2], group.model_file)], cells, 1, 1, quiet=True)
    assert frame["normal"].tolist() == [5, 5]


def test_the_module_needs_no_package_of_the_command_line(tables, tmp_path):
    """It runs without them; progress is printed in plain lines, and there is no picture."""
    code = f"""
import sys
for name in ("typer", "click", "rich", "matplotlib"):
    sys.modules[name] = None
sys.argv = ["decisions", "--tables", {str(tables)!r}, "--split", "all", "--draws", "1", "--every", "200", "--workers",
            "1", "--cache-dir", {str(tmp_path / "none")!r}, "--out", {str(tmp_path / "plain")!r}]
from oddshot.bench.decisions.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "written: grid.csv, table.md\n" in done.stdout
    assert "2 of 2 draws of tables, about 0 s left" in done.stderr
