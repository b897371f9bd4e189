"""`oddshot models`, and models by name in the other commands."""

import json

import pytest
from typer.testing import CliRunner

from oddshot.cli import app
from oddshot.errors import FileError, InputError, ModelFileError
from tests.fleets import labels, mixed, small_model


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "models" / "pumps").mkdir(parents=True)
    small_model("eigen", mixed).save(tmp_path / "models" / "pumps" / "model.safetensors")
    (tmp_path / "models" / "pumps" / "README.md").write_text("# Pumps\n\nFor pumps.\x1b[2J More.\n")
    return tmp_path / "models"


def test_list_has_a_line_for_each_model(folder):
    lines = run("models", "list", "--folder", folder).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["universal", "pumps"]
    assert lines[0].endswith("without training on related tables.")
    assert lines[1] == "pumps      For pumps.\\x1b[2J More."  # the terminal does not obey the card
    run("models", "list", "--folder", folder, "--json", folder / "list.json")
    _, pumps = json.loads((folder / "list.json").read_text())["models"]
    assert (pumps["name"], pumps["file"]) == ("pumps", str(folder / "pumps" / "model.safetensors"))


def test_show_prints_the_card_and_checks_the_file(folder):
    shown = run("models", "show", "universal", "--json", folder / "card.json").stdout
    facts = json.loads((folder / "card.json").read_text())
    assert shown.startswith("---\nlanguage: en\n")
    assert "\n# universal\n" in shown
    assert shown.endswith(
        f"universal.safetensors: <Model 'relative': 51,075 weights, tables of any width, "
        f"calibrated>, SHA-256 {facts['sha256']}\n"
    )
    (folder / "pumps" / "README.md").unlink()
    assert run("models", "show", "pumps", "--folder", folder).stdout.startswith("pumps has no card")
    (folder / "pumps" / "model.safetensors").write_bytes(b"")
    assert isinstance(run("models", "show", "pumps", "--folder", folder).exception, ModelFileError)


@pytest.mark.parametrize(
    ("name", "error", "expected"),
    [
        ("../pumps", InputError, "is not the name of a model"),
        ("valves", FileError, "no model 'valves' in"),
    ],
)
def test_mistakes(folder, name, error, expected):
    found = run("models", "show", name, "--folder", folder).exception
    assert type(found) is error
    assert expected in str(found)


def test_score_train_and_info_take_names(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("ODDSHOT_MODELS", str(folder))
    monkeypatch.chdir(tmp_path)
    mixed(9).assign(fault=labels()).to_csv("labelled.csv", index=False)
    assert "method eigen" in run("info", "pumps").stdout
    score = ["score", "--model", "pumps", "--support", "labelled.csv", "--label", "fault", "labelled.csv"]
    assert "rows scored" in run(*score, "--out", "scores.csv").stdout
    own_file = folder / "pumps" / "model.safetensors"
    for command in (score, ["train", "labelled.csv", "--label", "fault", "--from", "pumps", "--out", "x.safetensors"]):
        found = run(*command, "--out", "y.csv", "--json", own_file).exception
        assert "is read by this command" in str(found)
