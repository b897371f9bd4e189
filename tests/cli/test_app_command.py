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
        (["t.csv", "--label", "none"], "t.csv: no column 'none'; its columns are 'x0', 'x1', 'x2', 'x3', 'x4'"),
        (["t.csv", "--label", "x0"], "60 different values"),
        (["empty.csv", "--label", "fraud"], "empty.csv: column 'fraud' is empty; expected labels"),
        (
            ["states.csv", "--label", "state"],
            "states.csv: column 'state' has 'idle', 'leak', none of which is known; name the values of anomalies with "
            "--anomaly-value, or those of normal rows with --normal-value",
        ),
        (["states.csv", "--label", "state", "--anomaly-value", "leek"], "no row has 'state' = 'leek'; values seen: "),
        (["states.csv", "--anomaly-value", "leak"], "no --label is given"),
        (["states.csv", "--label", "state", "--anomaly-value", "a", "--normal-value", "b"], "exclude each other"),
    ],
)
def test_wrong_tables_and_label_columns_are_one_line(monkeypatch, capsys, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "t.csv").write_bytes(as_csv(two_kinds(60)[0]))
    (tmp_path / "empty.csv").write_text("x,fraud\n" + "1,\n2,\n" * 20)
    (tmp_path / "states.csv").write_text("x,state\n" + "1,idle\n2,leak\n" * 20)
    code, lines = run(monkeypatch, capsys, "--port", "0", *arguments)
    assert (code, len(lines)) == (2, 1)
    assert words in lines[0]
