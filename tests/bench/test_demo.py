import json
import os
import sys

import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors

from oddshot import TrainingConfig, load_universal
from oddshot.bench import demo
from oddshot.cli import main

METHODS = {
    "relative, as it ships",
    "relative, trained on 0 to 5",
    "eigen, trained on 0 to 5",
    "one-class SVM",
    "logistic regression",
    "nearest normal row",
}


@pytest.fixture
def small_demo(monkeypatch, tmp_path):
    """The demonstration with few episodes and one epoch, in an empty folder."""
    monkeypatch.setattr(demo, "CONFIG", TrainingConfig(epochs=1))
    monkeypatch.setattr(demo, "N_EPISODES_PER_TASK", 1)
    monkeypatch.setattr(demo, "MIN_TEST_EPISODES", 8)
    monkeypatch.chdir(tmp_path)


def test_tasks_are_one_digit_against_the_others_of_the_group():
    X, digit = load_digits(return_X_y=True)
    tasks = demo.digit_tasks([7, 9])
    assert tasks.normal_count.tolist() == [(digit == 7).sum(), (digit == 9).sum()]
    assert tasks.anomaly_count.tolist() == [(digit == 9).sum(), (digit == 7).sum()]
    rows = tasks.X[tasks.order[tasks.normal_start[1] : tasks.normal_start[1] + tasks.normal_count[1]]]
    spread = X.std(axis=0)
    np.testing.assert_allclose(rows * np.where(spread > 0, spread, 1) + X.mean(axis=0), X[digit == 9], atol=1e-4)


def test_the_command_compares_draws_and_writes_its_figures(small_demo, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["oddshot", "demo", "--json", "demo.json", "--device", "cpu"])
    with pytest.raises(SystemExit) as ended:
        main()
    output = capsys.readouterr()
    assert (ended.value.code, output.err) == (0, "")
    with open("demo.json") as file:
        figures = json.load(file)
    assert set(figures["known"]) == set(figures["new"]) == METHODS
    for name in METHODS:
        assert name in output.out
        for group in ("known", "new"):
            assert 0 <= figures[group][name] <= 1
            assert f"{figures[group][name]:.3f}" in output.out
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
    assert {len(values) for values in result.known.values()} == {12}  # two episodes of each of six digits
    assert {len(values) for values in result.new.values()} == {8}
    spaces = result.spaces
    assert spaces.original.shape == (36, 64)
    assert spaces.embedded.shape == (36, 64)
    counts = [((spaces.y == y) & (spaces.is_support == support)).sum() for support in (True, False) for y in (0, 1)]
    assert counts == [5, 1, 25, 5]
    again = demo.run_demo(seed=3, device="cpu")
    for name, values in result.new.items():
        np.testing.assert_array_equal(again.new[name], values)


def test_the_distance_to_the_nearest_normal_row_by_scikit_learn(small_demo):
    result = demo.run_demo(seed=1, device="cpu")
    support, query = demo._test_episodes(demo.digit_tasks(demo.NEW_DIGITS), 1)
    expected = []
    for known, normal, anomaly in zip(support.normal, *query, strict=True):
        neighbours = NearestNeighbors(n_neighbors=1).fit(known)
        rows = np.concatenate([normal, anomaly])
        expected.append(roc_auc_score(np.repeat([0, 1], [25, 5]), neighbours.kneighbors(rows)[0].ravel()))
    np.testing.assert_allclose(result.new["nearest normal row"], expected)


def test_the_shipped_model_is_as_it_was_after_training_has_started_from_it(small_demo):
    """load_universal() gives everybody the same object."""
    shipped = load_universal().method
    before = {name: value.copy() for name, value in shipped.weights.items()}
    demo.run_demo(device="cpu")
    assert load_universal().method is shipped
    for name, value in shipped.weights.items():
        assert isinstance(value, np.ndarray)
        np.testing.assert_array_equal(value, before[name])
