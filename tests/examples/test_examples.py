"""Every example runs, its picture shows something, and what its text claims holds for the figures that it prints."""

import json
import runpy
import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest

from examples.gallery import FOLDER, NAMES, NOTEBOOKS, PAGE, PICTURES, make_notebook, make_page, read_script

MIN_LINES, MAX_LINES = 30, 80


def six_labels_beside_others(made):
    """Ten draws have a standard error of 0.005; labels and rows together are worth more than rows alone."""
    means = made["means"]
    assert means["oddshot, labels and all rows"] > means["isolation forest, all rows"] + 0.01
    assert min(means.values()) > 0.8  # no detector is handicapped


def a_fleet_teaches(made):
    """Without the fleet, six rows do not show how current and load belong together: close to a random order."""
    trained, *others = made["aucs"].mean(axis=0)
    assert trained > 0.8
    assert max(others) < 0.65


def rates_hold_on_average(made):
    """The text says that low rates come out lower than asked. Of 202 normal rows, 1 % are two."""
    assert made["means"][0] <= 0.01 + 0.01
    assert (np.diff(made["means"]) > 0).all()
    assert made["means"][2] < 0.05
    assert 0.1 < made["means"][-1] < 0.3  # asked: 0.2


def the_spoilt_column_is_blamed(made):
    """A number that is ten times too large is far beyond all others of its column."""
    assert np.sum(made["blamed"] == made["wrong_columns"]) >= 11
    assert np.isin(made["wrong_rows"], made["highest"]).sum() >= 11


def unlabelled_rows_do_no_harm(made):
    """The standard error of the difference is about 0.02."""
    for curves in made["aucs"].values():
        alone, *_, most = np.mean(curves, axis=0)
        assert most > alone - 0.02


def suggested_rows_are_anomalies_more_often(made):
    """The text claims no lead in the ranking of other rows, which ten more labels improve with either choice."""
    found = {name: mean[-1, 0] for name, mean in made["means"].items()}
    assert found["suggested"] > 2 * found["random"]
    for mean in made["means"].values():
        assert mean[-1, 1] > mean[0, 1] + 0.02
    assert abs(made["difference"].mean(axis=0)[-1, 1]) < 0.05


def frauds_are_found_early(made):
    """In random order, a hundred of 3,000 payments would hold one of 27 frauds."""
    assert made["found"][99] >= 10
    assert made["auc"] > 0.9


def unseen_digits_are_found(made):
    """0.5 is a random order. Sixteen draws have a standard error of about 0.01, so that no lead is asked for."""
    trained, shipped, *_ = made["means"].mean(axis=0)
    assert trained > 0.9
    assert trained > shipped - 0.02


def the_bench_compares(made):
    """The paper's method learns from the training tasks; the others have six rows."""
    values = {name: cell["value"] for name, cell in made["cells"].items()}
    assert values.keys() == {"Ours", "LR", "KNN"}
    assert values["Ours"] > max(values["LR"], values["KNN"])
    assert made["cells"]["Ours"]["best"]


def the_service_answers_alike(made):
    """The rows are the same; scores may differ in their last digits. The service ends as it should."""
    assert made["difference"] < 1e-4
    assert made["flagged"][-20:].sum() >= 15
    assert made["flagged"][:-20].sum() < 0.1 * 380
    assert len(made["as_arrow"]) < len(made["as_json"])
    assert made["service"].returncode == 0


CLAIMS = {
    "one_table_with_six_labels": six_labels_beside_others,
    "sensors_of_a_fleet": a_fleet_teaches,
    "thresholds": rates_hold_on_average,
    "explanation": the_spoilt_column_is_blamed,
    "unlabelled_rows": unlabelled_rows_do_no_harm,
    "active_labelling": suggested_rows_are_anomalies_more_often,
    "transactions": frauds_are_found_early,
    "digits_of_unseen_kinds": unseen_digits_are_found,
    "comparing_methods": the_bench_compares,
    "rest_client": the_service_answers_alike,
}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_runs_and_keeps_its_word(name, tmp_path, monkeypatch, capfd):
    """In this process, as importing torch takes longer than most of them, and in an empty folder."""
    if name == "rest_client":
        pytest.importorskip("uvicorn")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "picture.png"])
    plt.switch_backend("Agg")
    try:
        with warnings.catch_warnings():
            made = runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    finally:
        plt.close("all")
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]
    pixels = plt.imread("picture.png")[..., :3]
    assert min(pixels.shape[:2]) > 200
    assert 0.01 < (pixels.min(axis=2) < 0.9).mean() < 0.9  # neither blank nor full
    assert len(capfd.readouterr().out.splitlines()) >= 2
    CLAIMS[name](made)


def test_all_scripts_are_in_the_gallery():
    helpers = {"__init__", "__main__", "gallery"}
    assert {path.stem for path in FOLDER.glob("*.py")} - helpers == set(NAMES) == set(CLAIMS)
    assert {path.stem for path in PICTURES.iterdir()} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_a_question_and_cells(name):
    script = read_script(name)
    assert script.question.endswith("?")
    assert "\n" not in script.question
    assert len(script.paragraph) > 100
    assert MIN_LINES <= len((FOLDER / f"{name}.py").read_text().splitlines()) <= MAX_LINES
    assert all(text.endswith((".", ":")) and code for text, code in script.cells)
    assert "savefig" in script.cells[-1][1]


def test_the_page_is_that_of_the_scripts():
    assert PAGE.read_text(encoding="utf-8") == make_page()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_has_the_cells_of_its_script(name):
    """Its code is that of the script, which runs above; only the last cell shows the picture instead of saving it."""
    text = (FOLDER / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
    assert text == make_notebook(name)
    notebook = json.loads(text)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    numbers = [cell["id"] for cell in notebook["cells"]]
    assert len(set(numbers)) == len(numbers)
    for cell in notebook["cells"]:
        of_code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | of_code
    code = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    compile(code, name, "exec")
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    missing = [line for line in code.splitlines() if line and line not in source.splitlines()]
    assert missing == ["plt.show()"]
    assert "sys" not in code


def test_the_page_has_all_notebooks():
    assert {path.stem for path in (FOLDER / "notebooks").iterdir()} == set(NOTEBOOKS)
