"""Models by name: the folder format, the cards, and names that lead nowhere good."""

import os
import re
from pathlib import Path

import pytest
import yaml

from oddshot import FewShotDetector, FileError, InputError, ModelFileError, load_universal
from oddshot.universal.names import (
    FOLDER_VARIABLE,
    MAX_CARD_BYTES,
    SHIPPED,
    UNIVERSAL_MODEL_FILE,
    find_named,
    model_file,
    named_models,
    summarise,
)
from oddshot.universal.shipped import find_model
from tests.fleets import labels, numbers, small_model

ROOT = Path(__file__).parents[2]
CARD = "---\nlicense: mit\n---\n\n# Pumps\n\nFor pumps of one\nmaker. And more.\n"
OUTSIDE = ["../fleet", "..", ".", "", "/etc", "a/b", "a\\b", ".hidden", "a\0b", "pumps\n", "x" * 101]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of models with one in it, which the environment names."""
    place = tmp_path / "models"
    add_model(place, "pumps", CARD)
    monkeypatch.setenv(FOLDER_VARIABLE, str(place))
    monkeypatch.chdir(tmp_path)
    return place


def add_model(place, name, card=None):
    (place / name).mkdir(parents=True)
    small_model().save(place / name / "model.safetensors")
    if card is not None:
        (place / name / "README.md").write_text(card)


def test_a_folder_with_a_model_and_a_card_is_a_model(folder):
    add_model(folder, "valves")
    (folder / "nothing").mkdir()
    (folder / "file").touch()
    assert [(one.name, summarise(one.read_card())) for one in named_models()[1:]] == [
        ("pumps", "For pumps of one maker."),
        ("valves", "no card"),
    ]
    assert named_models()[0] is SHIPPED
    assert find_named("pumps").file == folder / "pumps" / "model.safetensors"


def test_every_face_finds_the_model_by_its_name(folder):
    X = numbers(9)
    by_path = FewShotDetector(folder / "pumps" / "model.safetensors").fit(X, labels())
    by_name = FewShotDetector("pumps").fit(X, labels())
    assert (by_name.score_samples(X) == by_path.score_samples(X)).all()
    assert find_model("universal") is load_universal()


def test_a_file_goes_before_a_name_and_a_folder_does_not(folder, tmp_path):
    (tmp_path / "pumps").mkdir()
    assert model_file("pumps") == folder / "pumps" / "model.safetensors"
    (tmp_path / "pumps").rmdir()
    (tmp_path / "pumps").touch()
    assert model_file("pumps") == Path("pumps")
    (tmp_path / "universal").touch()
    assert model_file("universal") == UNIVERSAL_MODEL_FILE


def test_the_name_of_the_model_that_ships_is_taken(folder):
    add_model(folder, "Universal")
    assert [one.name for one in named_models()] == ["universal", "pumps"]
    with pytest.raises(FileError, match="did you mean 'universal'"):
        find_model("Universal")


def test_a_given_folder_goes_before_that_of_the_environment(folder, tmp_path):
    add_model(tmp_path / "others", "fans")
    assert [one.name for one in named_models(tmp_path / "others")] == ["universal", "fans"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_that_are_paths_are_refused(folder, name):
    with pytest.raises(InputError, match="is not the name of a model") as caught:
        find_named(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("linked", ["model.safetensors", "README.md"])
def test_links_that_lead_out_of_the_folder_are_refused(folder, tmp_path, linked):
    (tmp_path / "secret").write_text("secret")
    (folder / "pumps" / linked).unlink()
    (folder / "pumps" / linked).symlink_to(tmp_path / "secret")
    for action in (lambda: find_named("pumps"), named_models, lambda: find_model("pumps")):
        with pytest.raises(InputError, match="is a link that leads out of"):
            action()


def test_a_card_that_is_no_file_is_no_card(folder):
    card = folder / "pumps" / "README.md"
    card.unlink()
    card.symlink_to(card)
    assert find_named("pumps").read_card() == ""
    card.unlink()
    os.mkfifo(card)
    assert find_named("pumps").read_card() == ""


def test_links_within_the_folder_are_followed(folder):
    os.symlink(folder / "pumps", folder / "newest")
    assert [one.name for one in named_models()] == ["universal", "newest", "pumps"]


def test_a_damaged_model_is_refused_by_its_digest(folder):
    path = folder / "pumps" / "model.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelFileError, match="SHA-256 does not match"):
        find_model("pumps")


def test_unknown_names_say_what_there_is(folder, monkeypatch):
    expected = f"pomps: no such file, and no model 'pomps' in {folder}; there are: universal, pumps"
    with pytest.raises(FileError, match=re.escape(expected)):
        find_model("pomps")
    monkeypatch.setenv(FOLDER_VARIABLE, "nowhere")
    with pytest.raises(FileError, match="pumps: no such file, and nowhere: cannot be read"):
        find_model("pumps")
    monkeypatch.delenv(FOLDER_VARIABLE)
    with pytest.raises(FileError, match="pumps: cannot be read"):
        find_model("pumps")
    with pytest.raises(InputError, match="'universal' ships, and ODDSHOT_MODELS can name a folder of others"):
        find_named("pumps")


def test_a_card_without_end_is_refused(folder):
    (folder / "pumps" / "README.md").write_bytes(b"x" * (MAX_CARD_BYTES + 1))
    with pytest.raises(InputError, match="a card has at most"):
        find_named("pumps").read_card()


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        ("", "no card"),
        ("# Title\n", "no card"),
        ("---\na: 1\n---\n# Title\nOne. Two.", "One."),
        ("---\r\na: 1\r\n---\r\n\r\n# Title\r\n\r\nOne\r\nline.\r\n", "One line."),
        ("Version 1.5 of it", "Version 1.5 of it"),
    ],
)
def test_the_summary_is_the_first_sentence(card, expected):
    assert summarise(card) == expected


def test_the_card_that_ships_is_complete():
    front, body = re.fullmatch(r"---\n(.*?)\n---\n(.*)", SHIPPED.read_card(), re.DOTALL).groups()
    facts = yaml.safe_load(front)
    assert (facts["license"], facts["library_name"]) == ("apache-2.0", "oddshot")
    assert re.findall(r"^## (.*)$", body, re.MULTILINE) == [
        "Model",
        "Use",
        "Training data",
        "Figures",
        "Limits",
        "Licence",
    ]
    assert f"{load_universal().n_weights:,} weights" in body


def test_the_figures_of_the_card_are_those_of_the_committed_results():
    table = (ROOT / "results" / "field" / "table.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if "/" in line and line.startswith("|")]
    flagged = {cells[0]: [cells[0], *cells[3].split(" / ")] for cells in rows if cells[0].startswith("decisions")}
    aucs = {cells[0]: [cells[0], cells[1], cells[3], cells[4]] for cells in rows if cells[0] not in flagged}
    card = [line.strip("| ").split(" | ") for line in SHIPPED.read_card().splitlines() if re.match(r"\| \w+/", line)]
    assert len(card) == 15
    assert card == [(aucs | flagged)[cells[0]] for cells in card]
