"""Takes the screenshots in docs/app.md: `python -m tests.app.screenshots [FOLDER]`; needs Chromium."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from oddshot.app.example import example_sheet
from oddshot.universal.shipped import load_universal
from tests.app.conftest import CHROMIUM
from tests.app.test_browser import ARGUMENTS

DOCS = Path(__file__).parents[2] / "docs"
LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1440, "height": 960}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1440, "height": 960}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}
N_LABELS = 8


def label_suggested(page: Page) -> None:
    """Open the example and label the first suggested rows with their true labels."""
    truth = example_sheet(load_universal()).truth
    page.click("#example")
    page.wait_for_selector("#grid tbody tr[data-row]")
    for _ in range(N_LABELS):
        page.wait_for_selector("#row-badge:visible")
        row = int(re.sub(r"\D", "", page.inner_text("#row-title"))) - 1
        page.keyboard.press("a" if truth[row] else "n")
        page.wait_for_function("row => document.getElementById('row-title').textContent !== row", arg=f"Row {row + 1}")


def main(folder: Path) -> None:
    """Start the app, label the example, and take a screenshot for each of LOOKS."""
    command = [sys.executable, "-m", "oddshot", "app", "--no-browser", "--port", "0"]
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        variables = {**os.environ, "XDG_STATE_HOME": home, "HOME": home}
        process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)
        url = re.search(r"http://\S+", process.stdout.readline())[0]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for name, look in LOOKS.items():
            page = browser.new_context(**look).new_page()
            page.goto(url)
            page.wait_for_selector("#start:visible, #work:visible")
            if page.is_visible("#start"):
                label_suggested(page)
            page.mouse.move(2, 2)
            page.wait_for_timeout(2000)
            page.screenshot(path=folder / f"app-{name}.png")
        browser.close()
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)
