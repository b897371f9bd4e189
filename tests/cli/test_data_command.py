import json

import numpy as np
import pytest
from typer.testing import CliRunner

from oddshot.cli.data import data_app
from oddshot.data.sources import cards
from oddshot.errors import InputError
from tests.data.sources.samples import GLASS_FILE, arff, served, serving, tar_gz

TEXT, X, Y = arff(n_normal=205, n_anomaly=9, n_attributes=7)
ARCHIVE = tar_gz({GLASS_FILE: TEXT.encode(), cards.CARDS["wbc"].file: arff()[0].encode()})


def run(*arguments):
    result = CliRunner().invoke(data_app, [str(argument) for argument in arguments])
    if isinstance(result.exception, InputError):  # what the main command prints as one line
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def server(monkeypatch):
    """The catalogue's own cards, but for where they lead."""
    with serving({"literature.tar.gz": ARCHIVE}) as server:
        for name in ("glass", "wbc"):
            monkeypatch.setitem(cards.CARDS, name, served(cards.CARDS[name], server.url, ARCHIVE))
        yield server


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "glass.npz", X=X, y=Y)
    return tmp_path / "data"


def test_list_tells_what_is_here(folder, tmp_path):
    (tmp_path / "semantic.tar.gz").write_bytes(b"")
    out = run("list", "--data-dir", folder, "--cache-dir", tmp_path, "--json", tmp_path / "list.json")
    lines = {line.split()[0]: line for line in out.splitlines() if line.split()}
    assert "data folder" in lines["glass"]
    assert "cache" in lines["pima"]
    assert lines["wbc"].split() == ["wbc", "-", "1", "444", "10", "9"]
    assert lines["camera4"].split() == ["camera4", "-", "80", "200", "50", "115"]
    assert "oddshot data fetch NAME" in out
    here = {entry["name"]: entry["here"] for entry in json.loads((tmp_path / "list.json").read_text())["datasets"]}
    assert len(here) == 33
    assert here["glass"] == str(folder / "glass.npz")
    assert here["wbc"] is None


def test_fetch_then_show(server, tmp_path):
    out = run("fetch", "Glass", "wbc", "glass", "--cache-dir", tmp_path)
    assert "Glass: 205 normal and 9 anomalous rows, 7 attributes" in out
    assert "WBC: 4 normal rows here, 444 in the paper's Table 4" in out
    assert len(server.requests) == 1
    out = run("show", "glass", "--cache-dir", tmp_path, "--rows", 3, "--json", tmp_path / "glass.json")
    assert "4.2% anomalous" in out
    assert "Campos et al. (2016)" in out
    figures = json.loads((tmp_path / "glass.json").read_text())
    assert figures["found"] == {"n_normal": 205, "n_anomaly": 9, "n_attributes": 7, "n_tasks": 1}
    np.testing.assert_array_equal(figures["first_rows"], X[:3])
    assert figures["first_labels"] == [1, 1, 1]
    assert figures["notes"] == []


def test_fetch_leaves_alone_what_the_data_folder_has(server, folder, tmp_path):
    out = run("fetch", "glass", "--data-dir", folder, "--cache-dir", tmp_path)
    assert str(folder / "glass.npz") in out
    assert server.requests == []


def test_a_mirror_serves_the_same_archives(server, tmp_path, monkeypatch):
    with serving({"archives/literature.tar.gz": ARCHIVE}) as mirror:
        run("fetch", "glass", "--cache-dir", tmp_path, "--mirror", f"{mirror.url}/archives/", "--quiet")
        assert [path for path, _ in mirror.requests] == ["/archives/literature.tar.gz"]
    assert server.requests == []


def test_a_mistyped_name_shows_before_the_first_download(server, tmp_path):
    with pytest.raises(InputError, match="did you mean wbc"):
        run("fetch", "glass", "wbcc", "--cache-dir", tmp_path)
    assert server.requests == []


def test_show_of_what_is_not_here_is_its_card(tmp_path):
    out = run("show", "doorbell2", "--cache-dir", tmp_path, "--json", tmp_path / "card.json")
    assert "60 training, 15 validation, 5 target" in out
    assert "oddshot data fetch doorbell2" in out
    figures = json.loads((tmp_path / "card.json").read_text())
    assert figures["here"] is None
    assert "found" not in figures


@pytest.mark.parametrize("command", ["list", "fetch", "show"])
def test_help_teaches_with_an_example(command):
    assert f"Example: oddshot data {command}" in run(command, "--help")
