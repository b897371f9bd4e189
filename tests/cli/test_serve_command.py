"""`oddshot serve`: what a person can get wrong is one line."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from oddshot.cli import app
from oddshot.errors import FileError, InputError, ModelFileError


@pytest.mark.parametrize(
    ("arguments", "error", "expected"),
    [
        (["--host", "0.0.0.0"], InputError, "0.0.0.0 can be reached by other machines; give a --token"),
        (["--host", "::"], InputError, "can be reached by other machines"),
        (["--token", "short"], InputError, "the token must be at least 16 printable ASCII characters"),
        (["--host", "no.such.host.invalid"], InputError, "host 'no.such.host.invalid' is not known"),
        (["--most-detectors", "0"], InputError, "--workers, --most-detectors and --cache-mb must be at least 1"),
        (["--workers", "0"], InputError, "--workers, --most-detectors and --cache-mb must be at least 1"),
        (["--cache-mb", "0"], InputError, "--workers, --most-detectors and --cache-mb must be at least 1"),
        (["--hours-kept", "nan"], InputError, "--request-seconds and --hours-kept must be above 0"),
        (["--request-seconds", "0"], InputError, "--request-seconds and --hours-kept must be above 0"),
        (["nowhere.safetensors"], FileError, "nowhere.safetensors: cannot be read"),
        (["--store", "no/folder/s.sqlite"], FileError, "no folder no/folder"),
        ([__file__], ModelFileError, "not an oddshot model file"),
    ],
)
def test_mistakes(arguments, error, expected):
    found = CliRunner().invoke(app, ["serve", *arguments]).exception
    assert type(found) is error
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
