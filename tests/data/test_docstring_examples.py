"""The examples in the docstrings of public names print what they show."""

import doctest

import pytest

from oddshot.data import task
from oddshot.data.episodes import sampling
from oddshot.data.tables import tasks


@pytest.mark.parametrize("module", [task, sampling, tasks], ids=lambda module: module.__name__)
def test_examples(module: object) -> None:
    failed, attempted = doctest.testmod(module)
    assert attempted > 0
    assert failed == 0
