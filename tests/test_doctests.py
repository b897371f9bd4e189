"""The examples in the docstrings of public names print what they show.

Those of `register_method` and `register_dataset` change the registries; tests/bench/test_plugins.py runs them.
"""

import doctest
import inspect
import re

import pytest

import oddshot

ERRORS = {"CapacityError", "FileError", "InputError", "ModelFileError", "OddshotError"}


def find_examples(name):
    """All examples in the docstring of a public name and in those of its methods."""
    public = getattr(oddshot, name)
    tests = doctest.DocTestFinder(recurse=inspect.isclass(public)).find(public, name, globs={})
    return [test for test in tests if test.examples]


@pytest.mark.parametrize("name", sorted(oddshot.__all__))
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = find_examples(name)
    assert examples, f"the docstring of {name} has no example"
    for test in examples:
        result = doctest.DocTestRunner().run(test)
        assert result.failed == 0, test.name


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_errors_are_described_by_a_sentence(name):
    error = getattr(oddshot, name)
    assert issubclass(error, oddshot.OddshotError)
    assert inspect.getdoc(error).splitlines()[0].endswith(".")


def test_every_public_method_of_the_detector_has_an_example():
    """Except for set_score_request, which scikit-learn adds."""
    methods = {name for name in vars(oddshot.FewShotDetector) if not re.search("^_|_$|_request$", name)}
    found = {test.name.split(".")[1] for test in find_examples("FewShotDetector") if "." in test.name}
    assert methods - found == set()


def test_all_public_names_are_listed_by_dir():
    assert set(oddshot.__all__) <= set(dir(oddshot))
    for name in oddshot.__all__:
        assert getattr(oddshot, name).__name__ == name
