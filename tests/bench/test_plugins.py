import doctest
import subprocess
from pathlib import Path

import numpy as np
import pytest

import oddshot
from oddshot.bench import plugins
from oddshot.bench.export import read_runs
from oddshot.bench.parsing import make_settings, parse_datasets, parse_methods
from oddshot.bench.plugins import make_dataset_source, register_dataset
from oddshot.bench.settings import code_version, describe_run, hash_config
from oddshot.errors import FileError, InputError, OddshotError
from oddshot.methods import find_method, register_method, registry
from oddshot.methods.eigen import Eigen
from tests.bench.samples import make_source

PUBLISHED_RUNS = Path(__file__).parents[2] / "results" / "published" / "runs.csv"


def load_text(folder, text):
    """Load a plugin file with this text."""
    path = folder / "wrong.py"
    path.write_text(text)
    return make_dataset_source(None, None, [path])


def test_a_users_file_takes_part(tmp_path):
    source = make_source(tmp_path)
    assert find_method("quick").name == "quick"
    assert source.load("toy").X.shape == (120, 3)
    fleet = source.load("fleet")
    assert fleet.task_names == tuple(f"machine {i}" for i in range(6))
    assert np.bincount(fleet.task).tolist() == [120] * 6
    assert "quick" in parse_methods("all")
    assert parse_datasets("toy,GLASS,-glass,fleet") == ("toy", "fleet")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def (", "SyntaxError"),
        ("import nothing_of_that_name", "No module named"),
        ("from oddshot.bench import register_method\nregister_method(3)", "wrong.py: register_method was given 3"),
        ("from oddshot.bench import register_dataset\nregister_dataset('glass', None)", "is taken by a dataset"),
        ("from oddshot.bench import register_dataset\nregister_dataset('Big Name', None)", "expected lower-case"),
        ("from oddshot.bench import register_dataset\nregister_dataset('a', None, splits=(1, 0, 1))", "three counts"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, text, match):
    with pytest.raises(InputError, match=match) as caught:
        load_text(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(FileError, match=r"plugin .*none.py: cannot be read \(.*No such file or directory"):
        make_dataset_source(None, None, [tmp_path / "none.py"])
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"plugin .*bytes.py: cannot be read"):
        make_dataset_source(None, None, [tmp_path / "bytes.py"])


@pytest.mark.parametrize("function", [register_method, register_dataset])
def test_examples_in_docstrings(function):
    (test,) = (found for found in doctest.DocTestFinder().find(function, globs={}) if found.examples)
    results = doctest.DocTestRunner().run(test)
    assert results.failed == 0
    assert results.attempted > 3


def test_a_model_of_a_plugins_method_is_trained_saved_loaded_and_scores(tmp_path):
    make_source(tmp_path)
    rng = np.random.default_rng(0)

    def task(number, n=40):
        y = (np.arange(n) % 5 == 4).astype(int)
        X = rng.normal(size=(n, 3))
        X[y == 1, 0] += 4
        return oddshot.Task(f"task {number}", X, y)

    sizes, config = oddshot.EpisodeSizes(3, 1, 5, 2), oddshot.TrainingConfig(epochs=3, batch_size=4)
    model = oddshot.meta_train(
        [task(i) for i in range(12)], method="learner", sizes=sizes, training=config, device="cpu", progress=False
    )
    model.save(tmp_path / "learner.safetensors")
    loaded = oddshot.load_model(tmp_path / "learner.safetensors")
    assert loaded.method.name == "learner"
    weights = loaded.method.weights["w"].ravel()
    assert not np.allclose(weights, 1)  # the initial weights
    new = task(12)
    scores = oddshot.FewShotDetector(loaded).fit(new.X[:5], new.y[:5]).score_samples(new.X)
    rows = loaded.encoding.transform(new.X)
    center = rows[:5][new.y[:5] == 0].mean(axis=0)
    expected = (((rows - center) * weights) ** 2).sum(axis=1)
    np.testing.assert_allclose(scores[5:], expected[5:], rtol=1e-4)  # the first five are labelled
    del registry._REGISTERED["learner"]  # as in a process that has not loaded the plugin
    with pytest.raises(OddshotError, match="no method 'learner'"):
        oddshot.load_model(tmp_path / "learner.safetensors")


def test_names_of_the_paper_cannot_be_taken():
    with pytest.raises(InputError, match="the name 'eigen' of Eigen is taken"):
        register_method(Eigen)


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ((np.ones((3, 2)),), "gave 1 values"),
        ((np.ones((3, 2)), [0, 1]), "expected finite numbers"),
        ((np.full((3, 2), np.nan), [0, 1, 0]), "expected finite numbers"),
        ((np.ones((3, 2)), [0, 1, 2]), "labels y"),
        ((np.ones((3, 2)), [0, 1, 0], [1, 2]), "task has shape"),
    ],
)
def test_wrong_rows_are_one_line(arrays, match):
    register_dataset("wrong", lambda: arrays)
    with pytest.raises(InputError, match=match):
        plugins.DATASETS["wrong"].load()


def test_a_reader_that_fails_is_one_line():
    register_dataset("wrong", lambda: 1 / 0)
    with pytest.raises(InputError, match="dataset 'wrong': its read failed: ZeroDivisionError: division by zero"):
        plugins.DATASETS["wrong"].load()


def test_settings_from_words():
    settings = make_settings("resampled", ["eigen.units=8", "training.batch_size=9", "sizes.query_normal=3"], epochs=4)
    assert settings.training.epochs == 4
    assert settings.training.batch_size == 9
    assert settings.sizes.query_normal == 3
    assert settings.method_config("eigen").units == 8
    assert settings.method_config("woanomaly").units == 256
    for wrong, match in (
        ("units=8", "expected METHOD.SETTING=VALUE"),
        ("nobody.units=8", "no method 'nobody'"),
        ("training.colour=1", "no such setting"),
        ("training.epochs=0", "epochs is 0"),
        ("sizes.query_normal=0", "query_normal is 0"),
        ("sizes.query_normal=many", "--set sizes"),
    ):
        with pytest.raises(InputError, match=match):
            make_settings("resampled", [wrong])
    with pytest.raises(InputError, match="protocol 'other'"):
        make_settings("other", [])


def test_names_from_words():
    assert parse_datasets("outlier")[0] == "aloi"
    assert len(parse_datasets("outlier,-internetads")) == 21
    assert parse_methods("LR, eigen,lr") == ("lr", "eigen")
    assert parse_methods("all")[:2] == ("eigen", "svdd")
    for call, text, match in (
        (parse_datasets, "glas", "did you mean glass"),
        (parse_methods, "eigne", "no method 'eigne'"),
        (parse_methods, " , ", "at least one name"),
    ):
        with pytest.raises(InputError, match=match):
            call(text)


def test_runs_that_were_stored_keep_their_hashes():
    """The same settings give the configuration and the hash that the stored runs of the paper's methods have."""
    settings = make_settings("published", patience=100)
    stored = {(run.method, run.config, run.config_hash) for run in read_runs(PUBLISHED_RUNS) if run.dataset == "glass"}
    assert {method for method, _, _ in stored} >= {"eigen", "svdd", "maml", "lr", "knn", "wonn"}
    for method, config, config_hash in stored:
        fingerprint = config.split('"data":"')[1][:16]
        assert describe_run(settings, method, fingerprint) == config
        assert hash_config(config) == config_hash


def test_settings_of_a_run_change_its_hash():
    hashes = {
        hash_config(describe_run(make_settings("published", [change] if change else []), method, rows))
        for method in ("eigen", "lr")
        for change in ("", "sizes.query_normal=9", "training.epochs=9")
        for rows in ("rows", "other rows")
    }
    assert len(hashes) == 2 * 3 + 2 * 2  # without parameters to train, lr does not depend on the epochs


def test_code_version_names_the_commit(monkeypatch, tmp_path):
    package = Path(oddshot.__file__).parent
    git = subprocess.run(["git", "-C", package, "rev-parse", "HEAD"], capture_output=True, text=True)
    if git.returncode == 0:
        version, _, commit = code_version.__wrapped__().partition("+")
        assert version == oddshot.__version__
        assert len(commit) >= 7
        assert git.stdout.startswith(commit.removesuffix("-dirty"))
    monkeypatch.setattr(oddshot, "__file__", str(tmp_path / "__init__.py"))  # outside of any checkout
    assert code_version.__wrapped__() == oddshot.__version__
