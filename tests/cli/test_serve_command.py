"""`oddshot serve`: what a person can get wrong is one line."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from oddshot.cli import app
from oddshot.errors import FileError, InputError


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--host", "0.0.0.0"], "0.0.0.0 can be reached by other machines; give a --token"),
        (["--host", "::"], "can be reached by other machines"),
        (["--token", "short"], "the token must be at least 16 printable ASCII characters"),
        (["--host", "no.such.host.invalid"], "host 'no.such.host.invalid' is not known"),
        (["--most-detectors", "0"], "--most-detectors must be at least 1"),
        (["--workers", "0"], "--workers and --most-detectors must be at least 1"),
        (["--hours-kept", "nan"], "--hours-kept above 0"),
        (["nowhere.safetensors"], "nowhere.safetensors: cannot be read"),
        (["--store", "no/folder/s.sqlite"], "no folder no/folder"),
        ([__file__], "not an oddshot model file"),
    ],
)
def test_mistakes(arguments, expected):
    found = CliRunner().invoke(app, ["serve", *arguments]).exception
    assert isinstance(found, FileError if "--store" in arguments else InputError)
    assert re.search(re.escape(expected), str(found))
    assert "\n" not in str(found)


def test_the_token_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("ODDSHOT_TOKEN", "short")
    found = CliRunner().invoke(app, ["serve"]).exception
    assert "at least 16" in str(found)


def test_a_wrong_port_is_one_line_and_code_2():
    command = [sys.executable, "-m", "oddshot", "serve", "--port", "99999"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "oddshot: port 99999; there are ports from 0 (any free one) to 65535\n"
