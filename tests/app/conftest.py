"""The browser tests need a Chromium; where there is none, the run says so."""

import os
import shutil
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if CHROMIUM is None:
        terminalreporter.write_line("The browser tests of the app were skipped: there is no Chromium on this machine.")
