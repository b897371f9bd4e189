"""The tests of the site need mkdocs and a Chromium; where one of them is missing, the run says so."""

from importlib.util import find_spec
from typing import Any

from tests.app.conftest import CHROMIUM

MISSING = [name for name, found in (("mkdocs", find_spec("mkdocs")), ("Chromium", CHROMIUM)) if not found]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if MISSING:
        reason = " and ".join(f"no {name}" for name in MISSING)
        terminalreporter.write_line(f"The tests of the documentation site were skipped: there is {reason} here.")
