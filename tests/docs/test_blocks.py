"""Every block of code in the documentation runs; running.py lists the commands that do not, with the reason."""

import re
import shutil
import subprocess
import tomllib
from contextlib import contextmanager

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import typer.main

from oddshot import cli
from oddshot.methods import registry
from tests.docs.options import options_of
from tests.docs.pages import PAGES, ROOT, commands_in, commands_of
from tests.docs.running import NOT_RUN, make_files, run_page
from tests.service.samples import service
from tests.web.servers import running

ALL_COMMANDS = [(page, command) for page in (*PAGES, "README.md") for command in commands_of(page)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("files")
        patch.chdir(folder)
        make_files()
    return folder


@pytest.fixture(scope="module")
def address():
    with running(service()) as url:
        yield url


def given_names(files):
    """What pages take for granted."""
    labelled, new = pd.read_csv(files / "labelled.csv"), pd.read_csv(files / "new.csv")
    return {"X_support": labelled.drop(columns="fault"), "y_support": labelled["fault"], "X": new, "new_rows": new}


@pytest.mark.parametrize("page", [page for page in (*PAGES, "README.md") if "```" in (ROOT / page).read_text()])
def test_blocks_run(page, files, address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ODDSHOT_MODELS", "models")
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    with restored(registry._REGISTERED):
        run_page(page, tmp_path, given_names(files), address)
    plt.close("all")


@contextmanager
def restored(registry):
    """Take out afterwards what a page has registered."""
    before = dict(registry)
    yield
    registry.clear()
    registry.update(before)


def test_every_reason_is_needed():
    unused = [start for start in NOT_RUN if not any(command.startswith(start) for _, command in ALL_COMMANDS)]
    assert unused == []


def test_targets_of_make_exist():
    targets = {command.split()[1] for _, command in ALL_COMMANDS if command.startswith("make ")}
    assert {"demo", "test"} <= targets
    for target in targets:
        subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, timeout=60, check=True)


def test_what_is_installed_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = [command for _, command in ALL_COMMANDS if command.startswith("pip ")]
    assert lines
    for line in lines:
        found = re.match(r"pip install (-c constraints.txt )?-e ('\.\[([\w,]+)\]'|\.)(\s|$)", line)
        assert found is not None, line
        assert set((found[3] or "app").split(",")) <= set(extras)


def test_options_of_commands_that_are_not_run_exist():
    known = options_of("oddshot", typer.main.get_command(cli.app))
    for page, command in ALL_COMMANDS:
        words = re.sub(r"^\S+=\S+ |\s#.*", "", command).split()
        if words[0] == "oddshot" and command.startswith(tuple(NOT_RUN)):
            name = max((name for name in known if " ".join(words).startswith(name)), key=len)
            assert set(re.findall(r"(?<=\s)--[a-z-]+", command)) <= known[name], (page, command)


def test_commands_are_found():
    text = "oddshot info a.csv  # what it is\n\n# a comment\nmake \\\n  test\ncurl -d '{\n}' here\n"
    assert commands_in(text) == ["oddshot info a.csv  # what it is", "make   test", "curl -d '{\n}' here"]
