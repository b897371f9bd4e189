import socket
import sys

import pytest

from oddshot.cli import main
from tests.app.samples import as_csv, two_kinds


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["oddshot", "app", "--no-browser", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_only_this_machine_is_served(monkeypatch, capsys, host):
    code, lines = run(monkeypatch, capsys, "--host", host)
    assert code == 2
    assert lines == [f"oddshot: {host} can be reached by other machines; the app is for one person: use 127.0.0.1"]


def test_a_taken_port_and_a_missing_model_are_one_line(monkeypatch, capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, lines = run(monkeypatch, capsys, "--port", str(taken.getsockname()[1]))
    assert (code, len(lines)) == (2, 1)
    code, lines = run(monkeypatch, capsys, str(tmp_path / "none"))
    assert (code, len(lines)) == (2, 1)
    assert "cannot be read" in lines[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--label", "fault"], "no table is given"),
        (["one.safetensors", "two.safetensors"], "one model can be given"),
        (["missing.csv"], "missing.csv: cannot be read"),
        (["t.csv", "--label", "none"], "the table has no column 'none'"),
        (["t.csv", "--label", "x0"], "60 different values"),
    ],
)
def test_wrong_tables_and_label_columns_are_one_line(monkeypatch, capsys, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "t.csv").write_bytes(as_csv(two_kinds(60)[0]))
    code, lines = run(monkeypatch, capsys, "--port", "0", *arguments)
    assert (code, len(lines)) == (2, 1)
    assert words in lines[0]
