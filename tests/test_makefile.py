"""What `make` lists, and what its targets install."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGETS = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()


def make(*arguments):
    """What make prints; it is not a part of another make that runs the tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


def test_help_lists_all_targets_in_one_line_each():
    lines = make("help").splitlines()
    assert [line.split()[1] for line in lines] == TARGETS
    assert all(len(line.split()) > 3 for line in lines)
    assert make() == make("help")


def test_a_target_installs_only_what_it_needs():
    """With -W, as if nothing were installed."""
    installed = {name: re.findall(r"-e (\S+)", make("-n", "-W", "pyproject.toml", name)) for name in TARGETS}
    assert installed["demo"] == ["'.[train]'"]
    assert installed["app"] == ["'.[app]'"]
    assert installed["test"] == installed["lint"] == installed["bench"] == ["'.[dev]'"]
    assert installed["help"] == installed["clean"] == []


def test_an_installation_shows_what_pip_does():
    installing = [
        line for name in TARGETS for line in make("-n", "-W", "pyproject.toml", name).splitlines() if "pip" in line
    ]
    assert {"demo", "app", "test", "newest"} <= set(TARGETS)
    assert len(installing) > 3
    assert [line for line in installing if re.search(r"(^| )(-q+|--quiet|--progress-bar[ =]off)( |$)", line)] == []


def test_the_demo_and_scoring_import_no_development_tool():
    """What the commands load is what the package alone requires."""
    code = """
import sys
tools = "catboost fastapi httpx hypothesis mypy onnx onnxruntime playwright polars pytest uvicorn xgboost".split()
sys.modules |= dict.fromkeys(tools)
import oddshot.bench.demo, oddshot.bench.spaces, oddshot.detector, oddshot.scoring.streaming, oddshot.training.progress
import oddshot.data.tables, oddshot.training.meta_training, oddshot.cli
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
