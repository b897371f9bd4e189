"""`-` as an output, and the options that say less or more."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import oddshot as package
from oddshot.data.tables import find_files
from tests.cli.test_train_score_info import COMMAND, folder, oddshot, refusal, score, train  # noqa: F401  (fixtures)


def test_scores_are_printed_and_messages_go_to_stderr(folder, oddshot):  # noqa: F811
    assert oddshot(*score())[0] == 0
    code, out, errors = oddshot(*score(out="-"))
    assert code == 0
    assert out == Path("scores.csv").read_text()
    assert any("rows scored" in line for line in errors)
    assert not any(line.startswith("written") for line in errors)
    assert not Path("-").exists()


def test_a_pipe_from_standard_input_to_standard_output(folder):  # noqa: F811
    command = [*COMMAND, *score("-", out="-"), "--quiet"]
    done = subprocess.run(command, input=Path("new.csv").read_text(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert len(pd.read_csv(io.StringIO(done.stdout))) == 30
    assert done.stderr.splitlines()[0].startswith("30 rows scored")


def test_a_file_called_dash_is_named_with_its_folder(folder, oddshot):  # noqa: F811
    rows, support = Path("new.csv").read_text(), Path("support.csv").read_text()
    Path("-").write_text(rows)
    assert oddshot(*score("./-"), "--quiet")[0] == 0
    assert len(pd.read_csv("scores.csv")) == 30
    Path("-").write_text(support)
    assert oddshot("score", "new.csv", "--support=././-", "--label=fault", "--out=scores.csv")[0] == 0
    Path("-").unlink()
    code, out, _ = oddshot(*score(), "--json", "./-")
    assert (code, "{" in out) == (0, False)
    assert json.loads(Path("-").read_text())["rows"] == 30


def test_a_pattern_that_a_file_called_dash_matches_names_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("a,fault\n1,0\n2,1\n")
    assert find_files(["-", "?"]) == [Path("-"), tmp_path / "-"]


def test_a_reader_may_stop_reading(folder):  # noqa: F811
    table = pd.read_csv("new.csv")
    pd.concat([table] * 200).to_csv("long.csv", index=False)
    command = [*COMMAND, *score("long.csv", out="-"), "--quiet", "--json", "n.json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith('"file"')
    process.stdout.close()
    (line,) = process.stderr.read().splitlines()
    assert line.startswith("6,000 rows scored")
    assert process.wait(timeout=60) == 0
    assert json.loads(Path("n.json").read_text())["rows"] == 6000


def test_nothing_is_printed_where_a_row_cannot_be_scored(refusal, oddshot):  # noqa: F811
    Path("bad.csv").write_text(Path("new.csv").read_text() + "x,y\n")
    assert "bad.csv" in refusal(*score("new.csv", "bad.csv", out="-"))
    assert oddshot(*score("new.csv", "bad.csv", out="-"))[1] == ""


def test_figures_are_printed(folder, oddshot):  # noqa: F811
    commands = (score(), train(), ("info", "model.safetensors"), ("info", "new.csv"), ("data", "list"))
    for command in commands:
        code, out, errors = oddshot(*command, "--json", "-")
        assert code == 0
        assert json.loads(out)
        assert len(errors) > 1


def test_two_outputs_are_not_mixed_and_a_model_is_not_printed(refusal):  # noqa: F811
    assert refusal(*score(out="-"), "--json", "-") == "-: --out and --json name the same file"
    assert refusal(*train(out="-")) == "--out -: a model is not printed; name a file"


def test_train_says_less_or_more(folder, oddshot, refusal):  # noqa: F811
    code, out, errors = oddshot(*train(), "--quiet")
    assert (code, errors) == (0, [])
    (line,) = out.splitlines()
    assert line.startswith("written: out.safetensors (")
    code, _, errors = oddshot(*train(), "--verbose")
    assert code == 0
    assert [line.split(",")[0] for line in errors] == [f"training: epoch {k} of at most 2" for k in (1, 2)]
    assert refusal(*train(), "--quiet", "--verbose") == "--quiet and --verbose exclude each other"


def test_the_version(oddshot):  # noqa: F811
    assert oddshot("--version") == (0, f"oddshot {package.__version__}\n", [])


@pytest.mark.parametrize(("typed", "expected"), [("oddshot sc", "score"), ("oddshot bench fi", "figures")])
def test_the_shell_completes_commands_without_loading_torch(typed, expected):
    words = typed.split()
    environment = {"_ODDSHOT_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    code = "import sys\nfrom oddshot.cli import app\ntry:\n    app(prog_name='oddshot')\n"
    code += "finally:\n    assert 'torch' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, "PYTHONPATH": str(Path(package.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert expected in done.stdout.split(), done
