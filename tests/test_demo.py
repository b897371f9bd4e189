import json
import os
import sys

import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.datasets import load_breast_cancer

from oddshot import TrainingConfig, demo
from oddshot.cli import main


@pytest.fixture
def small_demo(monkeypatch, tmp_path):
    """The demonstration with few tasks and one epoch, in an empty folder."""
    monkeypatch.setattr(demo, "CONFIG", TrainingConfig(epochs=1))
    for name, n_tasks in (("TRAINING", 6), ("VALIDATION", 2), ("TARGET", 3)):
        monkeypatch.setattr(demo, name, n_tasks)
    monkeypatch.chdir(tmp_path)


def test_the_data_are_all_benign_rows_and_ten_malignant_ones():
    X, y = demo.thinned_wdbc()
    table = load_breast_cancer()
    low, high = table.data.min(axis=0), table.data.max(axis=0)
    assert ((y == 0).sum(), (y == 1).sum()) == (357, 10)
    np.testing.assert_allclose(X[y == 0] * (high - low) + low, table.data[table.target == 1])
    malignant = {tuple(row) for row in table.data[table.target == 0].round(6)}
    assert {tuple(row) for row in (X[y == 1] * (high - low) + low).round(6)} < malignant
    np.testing.assert_array_equal(X, demo.thinned_wdbc()[0])


def test_the_command_compares_draws_and_writes_its_figures(small_demo, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["oddshot", "demo", "--json", "demo.json", "--device", "cpu"])
    with pytest.raises(SystemExit) as ended:
        main()
    output = capsys.readouterr()
    assert (ended.value.code, output.err) == (0, "")
    with open("demo.json") as file:
        figures = json.load(file)
    assert set(figures["auc"]) == {"eigen", "LR", "OSVM", "KNN", "nearest normal row"}
    for name, auc in figures["auc"].items():
        assert 0 <= auc <= 1
        assert name in output.out
        assert f"{auc:.3f}" in output.out
    assert sorted(os.listdir()) == ["demo.json", "demo.png"]
    assert imread("demo.png").std() > 0.05


def test_a_picture_that_cannot_be_written_is_told_before_training(small_demo, monkeypatch, capsys):
    monkeypatch.setattr(demo, "run_demo", lambda *_: pytest.fail("trained"))
    monkeypatch.setattr(sys, "argv", ["oddshot", "demo", "--out", "nowhere/demo.png"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "oddshot: cannot write nowhere/demo.png: No such file or directory\n"


def test_all_methods_meet_the_same_tasks_and_the_picture_shows_the_first(small_demo):
    result = demo.run_demo(seed=3, device="cpu")
    assert {len(values) for values in result.aucs.values()} == {12}  # four episodes of each target task
    spaces = result.spaces
    assert spaces.original.shape == (36, 30)
    assert spaces.embedded.shape == (36, 256)
    counts = [((spaces.y == y) & (spaces.is_support == support)).sum() for support in (True, False) for y in (0, 1)]
    assert counts == [5, 1, 25, 5]
    again = demo.run_demo(seed=3, device="cpu")
    for name, values in result.aucs.items():
        np.testing.assert_array_equal(again.aucs[name], values)
