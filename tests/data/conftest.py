"""Fixtures of all tests of data."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file to a temporary folder."""

    def write(name: str, content: str | bytes, encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    """Make every warning that a test does not expect an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ResourceWarning)  # garbage of other tests may be collected now
        yield
