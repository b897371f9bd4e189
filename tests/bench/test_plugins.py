import numpy as np
import pytest

from oddshot.bench import plugins
from oddshot.bench.parsing import make_settings, parse_datasets, parse_methods
from oddshot.bench.plugins import make_dataset_source, register_dataset
from oddshot.bench.settings import code_version, describe_run, hash_config
from oddshot.errors import InputError
from oddshot.methods import METHODS, find_method, register_method
from tests.bench.samples import make_source


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(plugins, "DATASETS", dict(plugins.DATASETS))
    before = dict(METHODS)
    yield
    METHODS.clear()
    METHODS.update(before)


def plugin(folder, text):
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
        plugin(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(InputError, match=r"plugin .*none.py: cannot be read"):
        make_dataset_source(None, None, [tmp_path / "none.py"])


def test_names_of_the_paper_cannot_be_taken():
    from oddshot.methods.eigen import Eigen

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


def test_the_hash_pins_what_a_run_depends_on():
    settings = make_settings("published", [])
    text = describe_run(settings, "lr", "rows")
    assert '"training":null' in text
    assert hash_config(text) == hash_config(describe_run(settings, "lr", "rows"))
    assert hash_config(text) != hash_config(describe_run(settings, "lr", "other rows"))


def test_code_version_names_the_commit():
    import oddshot

    assert code_version().startswith(oddshot.__version__)
